// Creates and changes a team. Its members are added on its page.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { useParams } from "@tanstack/react-router";
import { TEAMS, type Team } from "../../api/resources.ts";
import { withoutEmpty } from "../../api/spec-changes.ts";
import { NameFields, type Names, NO_NAMES, namesOf } from "../../components/name-fields.tsx";
import { EditObject, type FormDefinition, NewObject } from "../../components/object-form.tsx";
import {
  EMPTY_OWNER,
  type OwnerDraft,
  OwnerFields,
  ownerDraftOf,
  ownerOfDraft,
} from "../../components/owner-fields.tsx";
import { TextField } from "../../components/text-field.tsx";
import { asLines, linesIn } from "../../format/lines.ts";
import { t } from "../../texts/text.tsx";

type Draft = Names & { readonly owner: OwnerDraft; readonly groups: string };

const EMPTY: Draft = { ...NO_NAMES, owner: EMPTY_OWNER, groups: "" };

const draftOf = (team: Team): Draft => ({
  ...namesOf(team),
  owner: ownerDraftOf(team.spec?.owner),
  groups: asLines(team.spec?.groups),
});

const specOf = ({ displayName, description, owner, groups }: Draft): JsonObject =>
  withoutEmpty({ displayName, description, owner: ownerOfDraft(owner), groups: linesIn(groups) });

const FORM: FormDefinition<Draft, Team> = {
  page: "team",
  kindOf: () => "Team",
  empty: EMPTY,
  draftOf,
  specOf,
  addressOf: () => TEAMS,
  viewOf: ({ name }) => `/teams/${name}`,
  paths: ["spec.owner", "spec.groups"],
  fieldsOf: ({ draft, isNew, faultAt, onChange }) => (
    <>
      <NameFields names={draft} isNew={isNew} faultAt={faultAt} onChange={onChange} />
      <OwnerFields owner={draft.owner} isNew={isNew} faultAt={faultAt} onChange={(owner) => onChange({ owner })} />
      <TextField
        label={t("teams.column.groups")}
        value={draft.groups}
        onChange={(groups) => onChange({ groups })}
        description={t("team.groups.hint")}
        error={faultAt("spec.groups")}
        isMultiline
        isMonospace
      />
    </>
  ),
};

export const NewTeamPage = () => <NewObject form={FORM} title={t("team.new")} lead={t("teams.lead")} />;

export function EditTeamPage() {
  const { name = "" } = useParams({ strict: false });
  return <EditObject form={FORM} address={TEAMS} name={name} />;
}
