// What an object is called: for people, for the API, and in a sentence.

import { useState } from "react";
import { nameFrom } from "../format/name-from.ts";
import { t } from "../texts/text.tsx";
import type { FaultAt } from "./object-form.tsx";
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

/** The name follows the display name until it is typed; that of an object that is there stays. */
export function NameFields(props: {
  readonly names: Names;
  readonly isNew: boolean;
  readonly faultAt: FaultAt;
  readonly onChange: (changes: Partial<Names>) => void;
}) {
  const { names, isNew, faultAt, onChange } = props;
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
        error={faultAt("spec.displayName")}
        autoComplete="off"
        autoFocus
      />
      {isNew && (
        <TextField
          label={t("form.name")}
          description={t("form.name.hint")}
          value={names.name}
          onChange={(name) => {
            setNameOwn(name !== "");
            onChange({ name });
          }}
          error={faultAt("metadata.name")}
          autoComplete="off"
          isMonospace
          isRequired
        />
      )}
      <TextField
        label={t("form.description")}
        value={names.description}
        onChange={(description) => onChange({ description })}
        error={faultAt("spec.description")}
        isMultiline
      />
    </>
  );
}
