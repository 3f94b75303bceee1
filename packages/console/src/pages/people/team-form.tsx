// Creates and edits a team. Members are added on the team's page.

import type { Team } from "@postern/api/team";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { TEAMS } from "../../api/resources.ts";
import { withoutEmpty } from "../../api/spec-changes.ts";
import { type FieldsProps, formPages } from "../../components/forms/object-form.tsx";
import {
  NO_OWNED,
  type OwnedDraft,
  OwnedFields,
  ownedDraftOf,
  ownedSpecOf,
} from "../../components/forms/owned-fields.tsx";
import { TextField } from "../../components/forms/text-field.tsx";
import { asLines, linesIn } from "../../format/text-lists.ts";
import { t } from "../../texts/text.tsx";

type Draft = OwnedDraft & { readonly groups: string };

const EMPTY: Draft = { ...NO_OWNED, groups: "" };

const draftOf = (team: Team): Draft => ({
  ...ownedDraftOf(team),
  groups: asLines(team.spec?.groups),
});

const specOf = (draft: Draft): JsonObject => withoutEmpty({ ...ownedSpecOf(draft), groups: linesIn(draft.groups) });

export const { New: NewTeamPage, Edit: EditTeamPage } = formPages<Draft, Team>({
  page: "team",
  kind: "Team",
  address: TEAMS,
  title: "team.new",
  lead: "teams.lead",
  empty: EMPTY,
  draftOf,
  contentOf: (draft) => ({ spec: specOf(draft) }),
  paths: ["spec.owner", "spec.groups"],
  fieldsOf: (props) => <Fields {...props} />,
});

function Fields(props: FieldsProps<Draft>) {
  return (
    <>
      <OwnedFields {...props} />
      <TextField
        label={t("teams.column.groups")}
        {...props.field("groups", "spec.groups")}
        description={t("team.groups.hint")}
        isMultiline
        isMonospace
      />
    </>
  );
}
