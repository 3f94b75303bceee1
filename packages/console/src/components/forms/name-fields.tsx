// Fields for display name, name and description.

import { useState } from "react";
import { nameFrom } from "../../format/name-from.ts";
import { t } from "../../texts/text.tsx";
import type { ErrorAt } from "./place-errors.ts";
import { TextField } from "./text-field.tsx";

export type Names = { readonly name: string; readonly displayName: string; readonly description: string };

export const NO_NAMES: Names = { name: "", displayName: "", description: "" };

type Named = {
  readonly metadata: { readonly name?: string };
  readonly spec?: { readonly displayName?: string; readonly description?: string };
};

export const namesOf = ({ metadata, spec }: Named): Names => ({
  name: metadata.name ?? "",
  displayName: spec?.displayName ?? "",
  description: spec?.description ?? "",
});

/** For a new object, the name follows the display name until it is edited. An existing object keeps its name. */
export function NameFields(props: {
  readonly names: Names;
  readonly isNew: boolean;
  readonly errorAt: ErrorAt;
  readonly onChange: (changes: Partial<Names>) => void;
}) {
  const { names, isNew, errorAt, onChange } = props;
  const [isNameOwn, setNameOwn] = useState(false);
  return (
    <>
      <TextField
        label={t("form.displayName")}
        description={t("form.displayName.hint")}
        value={names.displayName}
        onChange={(displayName) =>
          onChange({ displayName, ...(isNew && !isNameOwn ? { name: nameFrom(displayName) } : {}) })
        }
        error={errorAt("spec.displayName")}
        autoFocus
      />
      {isNew && (
        <TextField
          label={t("field.name")}
          description={t("form.name.hint")}
          value={names.name}
          onChange={(name) => {
            setNameOwn(name !== "");
            onChange({ name });
          }}
          error={errorAt("metadata.name")}
          isMonospace
          isRequired
        />
      )}
      <TextField
        label={t("form.description")}
        value={names.description}
        onChange={(description) => onChange({ description })}
        error={errorAt("spec.description")}
        isMultiline
      />
    </>
  );
}
