// Fields for a reference to a key in a Secret: namespace, name and key.

import { t } from "../../texts/text.tsx";
import { GroupError } from "./fields.tsx";
import { TextField } from "./text-field.tsx";

type SecretRef = { readonly secretNamespace?: string; readonly secretName?: string; readonly key?: string };

export type SecretDraft = { readonly namespace: string; readonly name: string; readonly key: string };

export const NO_SECRET: SecretDraft = { namespace: "", name: "", key: "" };

export const secretDraftOf = ({ secretNamespace = "", secretName = "", key = "" }: SecretRef = {}): SecretDraft => ({
  namespace: secretNamespace,
  name: secretName,
  key,
});

/** Including empty members. */
export const secretRefOf = ({ namespace, name, key }: SecretDraft) => ({
  secretNamespace: namespace.trim(),
  secretName: name.trim(),
  key: key.trim(),
});

export function SecretFields(props: {
  readonly label: string;
  readonly hint: string;
  readonly secret: SecretDraft;
  /** Used for empty fields. */
  readonly defaults: Partial<SecretDraft>;
  readonly error: string | undefined;
  readonly onChange: (secret: SecretDraft) => void;
}) {
  const { label, hint, secret, defaults, error, onChange } = props;
  return (
    <fieldset className="rows">
      <legend>{label}</legend>
      <p className="hint">{hint}</p>
      <div className="columns">
        {(["namespace", "name", "key"] as const).map((part) => (
          <TextField
            key={part}
            label={t(`secret.${part}`)}
            value={secret[part]}
            onChange={(text) => onChange({ ...secret, [part]: text })}
            {...(defaults[part] === undefined ? {} : { placeholder: defaults[part] })}
          />
        ))}
      </div>
      <GroupError text={error} />
    </fieldset>
  );
}
