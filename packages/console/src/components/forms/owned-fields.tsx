// The first fields of objects with an owner: names, description and owner.

import type { Owner } from "@postern/api/owner";
import type { ReactNode } from "react";
import { TEAMS, USERS } from "../../api/resources.ts";
import { t } from "../../texts/text.tsx";
import { SelectField } from "./fields.tsx";
import { NameField } from "./name-field.tsx";
import { NameFields, type Names, NO_NAMES, namesOf } from "./name-fields.tsx";
import type { FieldsProps } from "./object-form.tsx";
import type { ErrorAt } from "./place-errors.ts";

/** `kind`: empty for no owner; the server then takes the user who creates the object. */
type OwnerDraft = { readonly kind: "" | "user" | "team"; readonly name: string };

const EMPTY_OWNER: OwnerDraft = { kind: "", name: "" };

const ownerDraftOf = (owner: Owner | undefined): OwnerDraft =>
  owner?.team ? { kind: "team", name: owner.team } : owner?.user ? { kind: "user", name: owner.user } : EMPTY_OWNER;

export type OwnedDraft = Names & { readonly owner: OwnerDraft };

export const NO_OWNED: OwnedDraft = { ...NO_NAMES, owner: EMPTY_OWNER };

type Owned = Parameters<typeof namesOf>[0] & { readonly spec?: { readonly owner?: Owner } };

export const ownedDraftOf = (object: Owned): OwnedDraft => ({
  ...namesOf(object),
  owner: ownerDraftOf(object.spec?.owner),
});

/** Members for the spec, including empty ones. */
export const ownedSpecOf = ({ displayName, description, owner: { kind, name } }: OwnedDraft) => ({
  displayName,
  description,
  owner: kind === "" ? {} : { [kind]: name.trim() },
});

/** `children`: shown between names and owner. */
export function OwnedFields<Draft extends OwnedDraft>(props: FieldsProps<Draft> & { readonly children?: ReactNode }) {
  const { draft, isNew, errorAt, onChange, children } = props;
  // Every draft has these members.
  const change = onChange as (changes: Partial<OwnedDraft>) => void;
  return (
    <>
      <NameFields names={draft} isNew={isNew} errorAt={errorAt} onChange={change} />
      {children}
      <OwnerFields owner={draft.owner} isNew={isNew} errorAt={errorAt} onChange={(owner) => change({ owner })} />
    </>
  );
}

function OwnerFields(props: {
  readonly owner: OwnerDraft;
  readonly isNew: boolean;
  readonly errorAt: ErrorAt;
  readonly onChange: (owner: OwnerDraft) => void;
}) {
  const { owner, isNew, errorAt, onChange } = props;
  const error = errorAt("spec.owner");
  return (
    <div className="columns">
      <SelectField
        label={t("field.owner")}
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
        <NameField
          of={owner.kind === "user" ? USERS : TEAMS}
          label={t("form.owner.name")}
          value={owner.name}
          onChange={(name) => onChange({ ...owner, name })}
          error={error}
          isRequired
        />
      )}
    </div>
  );
}
