// Creates and edits a virtual cluster: names, owner, place, and roles inside.

import type { Cluster } from "@postern/api/cluster";
import type { Project } from "@postern/api/project";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { useParams } from "@tanstack/react-router";
import { useMemo } from "react";
import {
  CLUSTERS,
  inNamespace,
  nameOf,
  PROJECTS,
  TEAMS,
  titleOf,
  USERS,
  VIRTUAL_CLUSTERS,
} from "../../api/resources.ts";
import { withoutEmpty } from "../../api/spec-changes.ts";
import { useLive } from "../../api/use-live.ts";
import { RowsField, SelectField } from "../../components/forms/fields.tsx";
import { missingProject, NewInProject, useProjectChoices } from "../../components/forms/new-in-project.tsx";
import { EditObject, type FieldsProps, type FormDefinition } from "../../components/forms/object-form.tsx";
import {
  NO_OWNED,
  type OwnedDraft,
  OwnedFields,
  ownedDraftOf,
  ownedSpecOf,
} from "../../components/forms/owned-fields.tsx";
import { namesIn } from "../../format/text-lists.ts";
import { namespaceOf, projectOf } from "../../settings.ts";
import { t } from "../../texts/text.tsx";

/** Names separated by commas. */
type AccessRow = { readonly users: string; readonly teams: string; readonly clusterRole: string };

/** The server chooses the place, or the cluster is external. All other values are names of clusters. */
const ANYWHERE = "anywhere";
const EXTERNAL = "external";

type Draft = OwnedDraft & {
  readonly project: string;
  /** For new virtual clusters; it cannot be changed later. */
  readonly where: string;
  readonly access: readonly AccessRow[];
};

const NO_ACCESS: AccessRow = { users: "", teams: "", clusterRole: "" };

const draftOf = (cluster: VirtualClusterInstance): Draft => ({
  ...ownedDraftOf(cluster),
  project: projectOf(cluster.metadata.namespace ?? ""),
  where: ANYWHERE,
  access: (cluster.spec?.extraAccessRules ?? []).map(({ users = [], teams = [], clusterRole = "" }) => ({
    users: users.join(", "),
    teams: teams.join(", "),
    clusterRole,
  })),
});

const specOf = (draft: Draft): JsonObject =>
  withoutEmpty({
    ...ownedSpecOf(draft),
    external: draft.where === EXTERNAL,
    // Kubeconfigs contain the cluster's own address.
    template: draft.where === EXTERNAL ? { accessPoint: { ingress: { enabled: true } } } : {},
    clusterRef: [ANYWHERE, EXTERNAL].includes(draft.where) ? {} : { cluster: draft.where },
    extraAccessRules: draft.access
      .map(({ users, teams, clusterRole }) =>
        withoutEmpty({ users: namesIn(users), teams: namesIn(teams), clusterRole: clusterRole.trim() }),
      )
      .filter((rule) => Object.keys(rule).length > 0),
  });

const addressIn = (project: string) => inNamespace(VIRTUAL_CLUSTERS, namespaceOf(project));

/** `project`: the preselected project of a new virtual cluster. */
const formFor = (project: string): FormDefinition<Draft, VirtualClusterInstance> => ({
  page: "cluster",
  kindOf: () => "VirtualClusterInstance",
  empty: { ...NO_OWNED, project, where: ANYWHERE, access: [] },
  draftOf,
  contentOf: (draft) => ({ spec: specOf(draft) }),
  addressOf: (draft) => addressIn(draft.project),
  viewOf: (draft) => `/clusters/${draft.project}/${draft.name}`,
  missingOf: missingProject,
  paths: ["metadata.namespace", "spec.owner", "spec.clusterRef", "spec.extraAccessRules"],
  fieldsOf: (props) => <Fields {...props} />,
});

export const NewVirtualClusterPage = () => (
  <NewInProject kind="cluster" title={t("cluster.new")} lead={t("cluster.new.lead")} formFor={formFor} />
);

export function EditVirtualClusterPage() {
  const { project = "", name = "" } = useParams({ strict: false });
  const form = useMemo(() => formFor(project), [project]);
  return <EditObject form={form} address={addressIn(project)} name={name} />;
}

function Fields(props: FieldsProps<Draft>) {
  const { draft, isNew, errorAt, onChange } = props;
  const projects = useLive<Project>(PROJECTS);
  const choices = useProjectChoices(projects.items);
  const project = projects.items.find((each) => nameOf(each) === draft.project);
  return (
    <>
      <OwnedFields {...props}>
        {isNew && (
          <>
            <SelectField
              label={t("field.project")}
              value={draft.project}
              choices={choices}
              onChange={(name) => onChange({ project: name, where: ANYWHERE })}
              description={t("cluster.project.hint")}
              error={errorAt("metadata.namespace")}
              placeholder={t("form.project.choose")}
            />
            <Where project={project} where={draft.where} error={errorAt("spec.clusterRef")} onChange={onChange} />
          </>
        )}
      </OwnedFields>
      <RowsField<AccessRow>
        label={t("cluster.inside")}
        description={t("cluster.inside.hint")}
        columns={[
          { id: "users", label: t("users.title"), placeholder: "jane, john", of: USERS, isList: true },
          { id: "teams", label: t("teams.title"), of: TEAMS, isList: true },
          { id: "clusterRole", label: t("cluster.inside.role"), placeholder: "edit", isMonospace: true },
        ]}
        rows={draft.access}
        empty={NO_ACCESS}
        addLabel={t("cluster.inside.add")}
        removeLabel={({ users, teams, clusterRole }) =>
          t("project.members.remove.of", { name: [users, teams, clusterRole].filter(Boolean).join(" ") })
        }
        onChange={(access) => onChange({ access })}
        error={errorAt("spec.extraAccessRules")}
      />
    </>
  );
}

function Where(props: {
  readonly project: Project | undefined;
  readonly where: string;
  readonly error: string | undefined;
  readonly onChange: (changes: Pick<Draft, "where">) => void;
}) {
  const { project, where, error, onChange } = props;
  const { items } = useLive<Cluster>(CLUSTERS);
  const allowed = (project?.spec?.allowedClusters ?? []).map(({ name }) => name);
  const clusters = items.filter((cluster) => allowed.includes("*") || allowed.includes(nameOf(cluster)));
  return (
    <SelectField
      label={t("cluster.fact.where")}
      value={where}
      choices={[
        { id: ANYWHERE, label: t("cluster.where.anywhere") },
        ...clusters.map((cluster) => ({ id: nameOf(cluster), label: titleOf(cluster) })),
        { id: EXTERNAL, label: t("cluster.where.external") },
      ]}
      onChange={(id) => onChange({ where: id })}
      description={t(where === EXTERNAL ? "cluster.where.external.hint" : "cluster.where.hint")}
      error={error}
    />
  );
}
