// Creates and edits a ClusterRole: the verbs that it allows on resources and non-resource URLs.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { useSearch } from "@tanstack/react-router";
import { CLUSTER_ROLES, type ClusterRole, nameOf, type PolicyRule } from "../../api/resources.ts";
import { withoutEmpty } from "../../api/spec-changes.ts";
import { RowsField } from "../../components/forms/fields.tsx";
import { type FieldsProps, formPages } from "../../components/forms/object-form.tsx";
import { TextField } from "../../components/forms/text-field.tsx";
import { ObjectPage } from "../../components/object-page.tsx";
import { namesIn } from "../../format/text-lists.ts";
import { t } from "../../texts/text.tsx";

/** Names separated by commas. `core` is the core group, whose name is empty. */
type RuleRow = {
  readonly verbs: string;
  readonly resources: string;
  readonly groups: string;
  readonly names: string;
};
type PathRow = { readonly verbs: string; readonly paths: string };

type Draft = { readonly name: string; readonly rules: readonly RuleRow[]; readonly paths: readonly PathRow[] };

const NO_RULE: RuleRow = { verbs: "", resources: "", groups: "", names: "" };
const CORE = "core";

const draftOf = (role: ClusterRole): Draft => {
  const rules = role.rules ?? [];
  const isOfPaths = ({ nonResourceURLs = [] }: PolicyRule): boolean => nonResourceURLs.length > 0;
  return {
    name: nameOf(role),
    rules: rules
      .filter((rule) => !isOfPaths(rule))
      .map(({ verbs = [], resources = [], apiGroups = [], resourceNames = [] }) => ({
        verbs: verbs.join(", "),
        resources: resources.join(", "),
        groups: apiGroups.map((group) => group || CORE).join(", "),
        names: resourceNames.join(", "),
      })),
    paths: rules
      .filter(isOfPaths)
      .map(({ verbs = [], nonResourceURLs = [] }) => ({ verbs: verbs.join(", "), paths: nonResourceURLs.join(", ") })),
  };
};

const isFilled = (row: { readonly [column: string]: string }): boolean =>
  Object.values(row).some((text) => text.trim() !== "");

function ruleOf({ verbs, resources, groups, names }: RuleRow): JsonObject {
  const apiGroups = namesIn(groups).map((group) => (group === CORE ? "" : group));
  return {
    // A resource rule needs a group: by default the core group.
    apiGroups: apiGroups.length === 0 ? [""] : apiGroups,
    ...withoutEmpty({ resources: namesIn(resources), resourceNames: namesIn(names) }),
    verbs: namesIn(verbs),
  };
}

const rulesOf = ({ rules, paths }: Draft): readonly JsonObject[] => [
  ...rules.filter(isFilled).map(ruleOf),
  ...paths
    .filter(isFilled)
    .map(({ verbs, paths: urls }): JsonObject => ({ nonResourceURLs: namesIn(urls), verbs: namesIn(verbs) })),
];

const pages = formPages<Draft, ClusterRole>({
  page: "role",
  kind: "ClusterRole",
  address: CLUSTER_ROLES,
  title: "role.new",
  lead: "role.new.lead",
  empty: { name: "", rules: [NO_RULE], paths: [] },
  draftOf,
  contentOf: (draft) => ({ rules: [...rulesOf(draft)] }),
  paths: ["rules"],
  fieldsOf: (props) => <Fields {...props} />,
});

export const { Edit: EditRolePage } = pages;

/** With `from` in its address, it begins with the rules of that role. */
export function NewRolePage() {
  const { from = "" }: { readonly from?: string } = useSearch({ strict: false });
  if (from === "") return <pages.New />;
  return (
    <ObjectPage<ClusterRole> kind="role" address={CLUSTER_ROLES} name={from}>
      {(role) => <pages.New copied={role} />}
    </ObjectPage>
  );
}

function Fields({ draft, isNew, errorAt, field, onChange }: FieldsProps<Draft>) {
  return (
    <>
      {isNew && (
        <TextField
          label={t("field.name")}
          description={t("role.name.hint")}
          {...field("name", "metadata.name")}
          autoFocus
          isMonospace
          isRequired
        />
      )}
      <RowsField<RuleRow>
        label={t("role.form.rules")}
        description={t("role.form.rules.hint")}
        columns={[
          { id: "verbs", label: t("field.verbs"), placeholder: "get, list, watch", isMonospace: true },
          { id: "resources", label: t("role.form.resources"), placeholder: "projects", isMonospace: true },
          { id: "groups", label: t("role.form.groups"), placeholder: CORE, isMonospace: true },
          { id: "names", label: t("role.form.names"), isMonospace: true },
        ]}
        rows={draft.rules}
        empty={NO_RULE}
        addLabel={t("role.form.add")}
        removeLabel={({ verbs, resources }) => t("project.members.remove.of", { name: `${verbs} ${resources}` })}
        onChange={(rules) => onChange({ rules })}
        error={errorAt("rules")}
      />
      <RowsField<PathRow>
        label={t("role.form.paths")}
        description={t("role.form.paths.hint")}
        columns={[
          { id: "verbs", label: t("field.verbs"), placeholder: "get", isMonospace: true },
          { id: "paths", label: t("role.form.path"), placeholder: "/metrics", isMonospace: true },
        ]}
        rows={draft.paths}
        empty={{ verbs: "", paths: "" }}
        addLabel={t("role.form.paths.add")}
        removeLabel={({ verbs, paths }) => t("project.members.remove.of", { name: `${verbs} ${paths}` })}
        onChange={(paths) => onChange({ paths })}
      />
    </>
  );
}
