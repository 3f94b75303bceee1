// Form fields and choices with label, hint and error.

import type { ResourceAddress } from "@postern/client/resource-client";
import { Check, ChevronDown, Plus, X } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Autocomplete } from "react-aria-components/Autocomplete";
import { Button } from "react-aria-components/Button";
import { Checkbox as AriaCheckbox } from "react-aria-components/Checkbox";
import { FieldError } from "react-aria-components/FieldError";
import { Label } from "react-aria-components/Label";
import { ListBox, ListBoxItem } from "react-aria-components/ListBox";
import { Popover } from "react-aria-components/Popover";
import { Radio, RadioGroup } from "react-aria-components/RadioGroup";
import { SearchField as AriaSearchField } from "react-aria-components/SearchField";
import { Select, SelectValue } from "react-aria-components/Select";
import { Text } from "react-aria-components/Text";
import { Input } from "react-aria-components/TextField";
import { t } from "../../texts/text.tsx";
import { NameField } from "./name-field.tsx";
import { TextField } from "./text-field.tsx";

export function SearchField(props: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  const { label, ...field } = props;
  return (
    <AriaSearchField {...field} aria-label={label} className="search">
      <Input className="input" placeholder={label} />
    </AriaSearchField>
  );
}

export type Choice<Id extends string> = { readonly id: Id; readonly label: string; readonly description?: string };

/** With more choices, there is a search above them. */
const SEARCHED_FROM = 20;
/** Choices that are shown at once: the user finds further ones by typing. */
const SHOWN = 100;

export function SelectField<Id extends string>(props: {
  readonly label: string;
  readonly value: Id;
  readonly choices: readonly Choice<Id>[];
  readonly onChange: (value: Id) => void;
  readonly description?: ReactNode;
  readonly error?: string | undefined;
  /** Shown while `value` is none of the choices. */
  readonly placeholder?: string;
  /** The label is only for screen readers. */
  readonly isCompact?: boolean;
}) {
  const { label, value, choices, onChange, description, error, placeholder = "", isCompact = false } = props;
  const isSearched = choices.length > SEARCHED_FROM;
  const [text, setText] = useState("");
  const wanted = text.trim().toLowerCase();
  const matching = isSearched ? choices.filter((choice) => choice.label.toLowerCase().includes(wanted)) : choices;
  return (
    <Select
      className={isCompact ? "field compact" : "field"}
      value={value}
      isInvalid={error !== undefined}
      validationBehavior="aria"
      // The keys of the items are the values of the choices.
      onChange={(key) => onChange(key as Id)}
      onOpenChange={() => setText("")}
      {...(isCompact ? { "aria-label": label } : {})}
    >
      {!isCompact && <Label>{label}</Label>}
      <Button className="button plain select">
        {/* The chosen one may not be among those that are shown. */}
        <SelectValue>{() => choices.find(({ id }) => id === value)?.label ?? placeholder}</SelectValue>
        <ChevronDown aria-hidden="true" />
      </Button>
      {description !== undefined && (
        <Text slot="description" className="hint">
          {description}
        </Text>
      )}
      {error !== undefined && <FieldError className="field-error">{error}</FieldError>}
      <Popover className="popover">
        {isSearched ? (
          <Autocomplete inputValue={text} onInputChange={setText}>
            <AriaSearchField aria-label={t("list.search")} className="select-search" autoFocus>
              <Input className="input" placeholder={t("list.search")} />
            </AriaSearchField>
            <Choices choices={matching.slice(0, SHOWN)} />
            {matching.length > SHOWN && (
              <p className="hint">{t("select.more", { count: SHOWN, all: matching.length })}</p>
            )}
          </Autocomplete>
        ) : (
          <Choices choices={choices} />
        )}
      </Popover>
    </Select>
  );
}

function Choices<Id extends string>({ choices }: { readonly choices: readonly Choice<Id>[] }) {
  return (
    <ListBox className="listbox" items={choices}>
      {(choice) => (
        <ListBoxItem id={choice.id} textValue={choice.label} className="option">
          <span className="option-text">
            <Text slot="label">{choice.label}</Text>
            {choice.description !== undefined && (
              <Text slot="description" className="hint">
                {choice.description}
              </Text>
            )}
          </span>
          <Check aria-hidden="true" className="option-check" />
        </ListBoxItem>
      )}
    </ListBox>
  );
}

export function Checkbox(props: {
  readonly isSelected: boolean;
  readonly onChange: (isSelected: boolean) => void;
  readonly children: ReactNode;
  readonly description?: ReactNode;
  readonly isDisabled?: boolean;
}) {
  const { children, description, ...box } = props;
  return (
    <AriaCheckbox {...box} className="checkbox">
      <span className="box" aria-hidden="true">
        <Check />
      </span>
      <span>
        {children}
        {description !== undefined && <span className="hint block">{description}</span>}
      </span>
    </AriaCheckbox>
  );
}

export function RadioField<Id extends string>(props: {
  readonly label: string;
  readonly value: Id;
  readonly choices: readonly Choice<Id>[];
  readonly onChange: (value: Id) => void;
}) {
  const { label, value, choices, onChange } = props;
  return (
    // The values of the radio buttons are the values of the choices.
    <RadioGroup className="field" value={value} onChange={(key) => onChange(key as Id)}>
      <Label>{label}</Label>
      <div className="radios">
        {choices.map((choice) => (
          <Radio key={choice.id} value={choice.id} className="radio">
            <span className="dot" aria-hidden="true" />
            <span>
              {choice.label}
              {choice.description !== undefined && <span className="hint block">{choice.description}</span>}
            </span>
          </Radio>
        ))}
      </div>
    </RadioGroup>
  );
}

/** The error of a group of fields. It can take the focus, so that screen readers announce it. */
export function GroupError({ text }: { readonly text: string | undefined }) {
  if (text === undefined) return null;
  return (
    <p className="field-error" tabIndex={-1} data-error>
      {text}
    </p>
  );
}

export type RowColumn<Row> = {
  readonly id: keyof Row & string;
  readonly label: string;
  readonly placeholder?: string;
  readonly isMonospace?: boolean;
  /** The names of these are suggested. With `isList`, a text has several, separated by commas. */
  readonly of?: ResourceAddress;
  readonly isList?: boolean;
};

/** Rows of texts, such as claims and their values. */
export function RowsField<Row extends { readonly [member in keyof Row]: string }>(props: {
  readonly label: string;
  readonly description?: ReactNode;
  readonly error?: string | undefined;
  readonly columns: readonly RowColumn<Row>[];
  readonly rows: readonly Row[];
  readonly empty: Row;
  readonly addLabel: string;
  /** Labels of one row, for screen readers. */
  readonly removeLabel: (row: Row) => string;
  readonly onChange: (rows: readonly Row[]) => void;
}) {
  const { label, description, error, columns, rows, empty, addLabel, removeLabel, onChange } = props;
  const change = (at: number, row: Row): void => onChange(rows.map((each, index) => (index === at ? row : each)));
  return (
    <fieldset className="rows">
      <legend>{label}</legend>
      {description !== undefined && <p className="hint">{description}</p>}
      {rows.map((row, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows have no names of their own
        <div key={at} className="row">
          <div className="row-fields">
            {columns.map(({ id, label: columnLabel, placeholder, isMonospace = false, of, isList = false }) => {
              const field = {
                label: columnLabel,
                value: row[id],
                onChange: (value: string) => change(at, { ...row, [id]: value }),
                isMonospace,
                ...(placeholder === undefined ? {} : { placeholder }),
              };
              return of === undefined ? (
                <TextField key={id} {...field} />
              ) : (
                <NameField key={id} {...field} of={of} isList={isList} />
              );
            })}
          </div>
          <Button
            className="button quiet"
            aria-label={removeLabel(row)}
            onPress={() => onChange(rows.filter((_, index) => index !== at))}
          >
            <X aria-hidden="true" />
          </Button>
        </div>
      ))}
      <GroupError text={error} />
      <div>
        <Button className="button plain" onPress={() => onChange([...rows, empty])}>
          <Plus aria-hidden="true" />
          {addLabel}
        </Button>
      </div>
    </fieldset>
  );
}
