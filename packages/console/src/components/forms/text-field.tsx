// A text field with label, hint and error. In its own file because the sign-in page needs no other field.

import type { ReactNode } from "react";
import { FieldError } from "react-aria-components/FieldError";
import { Label } from "react-aria-components/Label";
import { Text } from "react-aria-components/Text";
import { TextField as AriaTextField, Input, TextArea } from "react-aria-components/TextField";
import { t } from "../../texts/text.tsx";

export type TextFieldProps = {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly description?: ReactNode;
  readonly error?: string | undefined;
  readonly type?: "text" | "password" | "number" | "url" | "date";
  readonly isRequired?: boolean;
  readonly isMultiline?: boolean;
  readonly isMonospace?: boolean;
  readonly autoFocus?: boolean;
  readonly onFocus?: () => void;
  readonly placeholder?: string;
  readonly name?: string;
  /** The ID of a `<datalist>` with suggestions. */
  readonly list?: string;
};

export function TextField(props: TextFieldProps) {
  const { label, description, error, isMultiline = false, isMonospace = false, placeholder, list, ...field } = props;
  const className = isMonospace ? "input mono" : "input";
  const hint = placeholder === undefined ? {} : { placeholder };
  const suggested = list === undefined ? {} : { list };
  return (
    <AriaTextField
      {...field}
      autoComplete="off"
      isInvalid={error !== undefined}
      validationBehavior="aria"
      className="field"
    >
      <span className="label-row">
        <Label>{label}</Label>
        {/* The field itself says so to screen readers. */}
        {field.isRequired === true && (
          <span className="hint" aria-hidden="true">
            {t("form.required")}
          </span>
        )}
      </span>
      {isMultiline ? (
        <TextArea className={className} rows={3} {...hint} />
      ) : (
        <Input className={className} {...hint} {...suggested} />
      )}
      {description !== undefined && (
        <Text slot="description" className="hint">
          {description}
        </Text>
      )}
      {error !== undefined && <FieldError className="field-error">{error}</FieldError>}
    </AriaTextField>
  );
}
