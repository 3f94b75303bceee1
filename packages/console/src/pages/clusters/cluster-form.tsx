// Creates and changes a virtual cluster: what it is called, whose it is, and who has which role inside.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { useParams, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import {
  inNamespace,
  nameOf,
  PROJECTS,
  type Project,
  VIRTUAL_CLUSTERS,
  type VirtualCluster,
} from "../../api/resources.ts";
import { withoutEmpty } from "../../api/spec-changes.ts";
import { useLive } from "../../api/use-live.ts";
import { RowsField, SelectField } from "../../components/fields.tsx";
import { NameFields, type Names, NO_NAMES, namesOf } from "../../components/name-fields.tsx";
import { EditObject, type FieldsProps, type FormDefinition, NewObject } from "../../components/object-form.tsx";
import { ListLink } from "../../components/object-page.tsx";
import {
  EMPTY_OWNER,
  type OwnerDraft,
  OwnerFields,
  ownerDraftOf,
  ownerOfDraft,
} from "../../components/owner-fields.tsx";
import { EmptyState, ErrorNotice, Loading, PageHead } from "../../components/ui.tsx";
import { namespaceOf, projectOf } from "../../settings.ts";
import { t } from "../../texts/text.tsx";

/** Names between commas. */
type AccessRow = { readonly users: string; readonly teams: string; readonly clusterRole: string };

type Draft = Names & {
  readonly project: string;
  readonly owner: OwnerDraft;
  readonly access: readonly AccessRow[];
};

const NO_ACCESS: AccessRow = { users: "", teams: "", clusterRole: "" };

const draftOf = (cluster: VirtualCluster): Draft => ({
  ...namesOf(cluster),
  project: projectOf(cluster.metadata.namespace ?? ""),
  owner: ownerDraftOf(cluster.spec?.owner),
  access: (cluster.spec?.extraAccessRules ?? []).map(({ users = [], teams = [], clusterRole = "" }) => ({
    users: users.join(", "),
    teams: teams.join(", "),
    clusterRole,
  })),
});

const namesIn = (text: string): readonly string[] => text.split(/[\s,]+/).filter((name) => name !== "");

const specOf = ({ displayName, description, owner, access }: Draft): JsonObject =>
  withoutEmpty({
    displayName,
    description,
    owner: ownerOfDraft(owner),
    extraAccessRules: access
      .map(({ users, teams, clusterRole }) =>
        withoutEmpty({ users: namesIn(users), teams: namesIn(teams), clusterRole: clusterRole.trim() }),
      )
      .filter((rule) => Object.keys(rule).length > 0),
  });

const addressIn = (project: string) => inNamespace(VIRTUAL_CLUSTERS, namespaceOf(project));

/** `project`: where a new one is created unless another is chosen. */
const formFor = (project: string): FormDefinition<Draft, VirtualCluster> => ({
  page: "cluster",
  kindOf: () => "VirtualClusterInstance",
  empty: { ...NO_NAMES, project, owner: EMPTY_OWNER, access: [] },
  draftOf,
  specOf,
  addressOf: (draft) => addressIn(draft.project),
  viewOf: (draft) => `/clusters/${draft.project}/${draft.name}`,
  paths: ["metadata.namespace", "spec.owner", "spec.extraAccessRules"],
  fieldsOf: (props) => <Fields {...props} />,
});

export function NewVirtualClusterPage() {
  const { project = "" }: { readonly project?: string } = useSearch({ strict: false });
  const { items, isLoading, error, retry } = useLive<Project>(PROJECTS);
  const [first = ""] = items.map(nameOf).sort();
  const chosen = items.some((each) => nameOf(each) === project) ? project : first;
  const form = useMemo(() => formFor(chosen), [chosen]);
  if (isLoading) return <Loading />;
  if (error !== null || items.length === 0)
    return (
      <>
        <PageHead above={<ListLink kind="cluster" />} title={t("cluster.new")} />
        {error === null ? (
          <EmptyState title={t("projects.empty.title")}>{t("projects.empty.text")}</EmptyState>
        ) : (
          <ErrorNotice error={error} onRetry={retry} />
        )}
      </>
    );
  return <NewObject form={form} title={t("cluster.new")} lead={t("cluster.new.lead")} />;
}

export function EditVirtualClusterPage() {
  const { project = "", name = "" } = useParams({ strict: false });
  const form = useMemo(() => formFor(project), [project]);
  return <EditObject form={form} address={addressIn(project)} name={name} />;
}

function Fields({ draft, isNew, faultAt, onChange }: FieldsProps<Draft>) {
  const projects = useLive<Project>(PROJECTS);
  return (
    <>
      <NameFields names={draft} isNew={isNew} faultAt={faultAt} onChange={onChange} />
      {isNew && (
        <SelectField
          label={t("cluster.fact.project")}
          value={draft.project}
          choices={projects.items
            .map((project) => ({ id: nameOf(project), label: project.spec?.displayName || nameOf(project) }))
            .sort((one, other) => (one.label < other.label ? -1 : 1))}
          onChange={(project) => onChange({ project })}
          description={t("cluster.project.hint")}
          error={faultAt("metadata.namespace")}
        />
      )}
      <OwnerFields owner={draft.owner} isNew={isNew} faultAt={faultAt} onChange={(owner) => onChange({ owner })} />
      <RowsField<AccessRow>
        label={t("cluster.inside")}
        description={t("cluster.inside.hint")}
        columns={[
          { id: "users", label: t("nav.users"), placeholder: "jane, john" },
          { id: "teams", label: t("nav.teams") },
          { id: "clusterRole", label: t("cluster.inside.role"), placeholder: "edit", isMonospace: true },
        ]}
        rows={draft.access}
        empty={NO_ACCESS}
        addLabel={t("cluster.inside.add")}
        removeLabel={({ users, teams, clusterRole }) =>
          t("project.members.remove.of", { name: [users, teams, clusterRole].filter(Boolean).join(" ") })
        }
        onChange={(access) => onChange({ access })}
        error={faultAt("spec.extraAccessRules")}
      />
    </>
  );
}
