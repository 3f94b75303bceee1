// Whom an object belongs to: a user, a team, or the one who creates it.

import { t } from "../texts/text.tsx";
import { SelectField } from "./fields.tsx";
import type { FaultAt } from "./object-form.tsx";
import { TextField } from "./text-field.tsx";

export type OwnerDraft = { readonly kind: "" | "user" | "team"; readonly name: string };

export const EMPTY_OWNER: OwnerDraft = { kind: "", name: "" };

export const ownerDraftOf = (owner: { readonly user?: string; readonly team?: string } | undefined): OwnerDraft =>
  owner?.team ? { kind: "team", name: owner.team } : owner?.user ? { kind: "user", name: owner.user } : EMPTY_OWNER;

export const ownerOfDraft = ({ kind, name }: OwnerDraft): { readonly [kind: string]: string } =>
  kind === "" ? {} : { [kind]: name.trim() };

export function OwnerFields(props: {
  readonly owner: OwnerDraft;
  readonly isNew: boolean;
  readonly faultAt: FaultAt;
  readonly onChange: (owner: OwnerDraft) => void;
}) {
  const { owner, isNew, faultAt, onChange } = props;
  const error = faultAt("spec.owner");
  return (
    <div className="columns">
      <SelectField
        label={t("form.owner")}
        value={owner.kind === "" ? "none" : owner.kind}
        choices={[
          { id: "none", label: t(isNew ? "form.owner.me" : "form.owner.none") },
          { id: "user", label: t("member.kind.User") },
          { id: "team", label: t("member.kind.Team") },
        ]}
        onChange={(kind) => onChange({ kind: kind === "none" ? "" : kind, name: kind === "none" ? "" : owner.name })}
        error={owner.kind === "" ? error : undefined}
      />
      {owner.kind !== "" && (
        <TextField
          label={t("form.owner.name")}
          value={owner.name}
          onChange={(name) => onChange({ ...owner, name })}
          error={error}
          autoComplete="off"
          isRequired
        />
      )}
    </div>
  );
}
