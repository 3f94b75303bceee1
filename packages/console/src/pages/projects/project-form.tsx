// Creates and edits a project: names, owner, allowed clusters and quotas.

import type { Cluster } from "@postern/api/cluster";
import type { Project } from "@postern/api/project";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { CLUSTERS, nameOf, PROJECTS, titleOf } from "../../api/resources.ts";
import { withoutEmpty } from "../../api/spec-changes.ts";
import { useLive } from "../../api/use-live.ts";
import { useMay } from "../../api/use-may.ts";
import { Checkbox, GroupError } from "../../components/forms/fields.tsx";
import { type FieldsProps, formPages } from "../../components/forms/object-form.tsx";
import {
  NO_OWNED,
  type OwnedDraft,
  OwnedFields,
  ownedDraftOf,
  ownedSpecOf,
} from "../../components/forms/owned-fields.tsx";
import { TextField } from "../../components/forms/text-field.tsx";
import { useFirst } from "../../components/tables/long-list.tsx";
import { inNaturalOrder } from "../../format/natural-order.ts";
import { named, t } from "../../texts/text.tsx";

/** The quotas that the server enforces. */
const QUOTAS = [
  "virtualclusterinstances",
  "spaceinstances",
  "ownedaccesskeys",
  "virtualcluster.objects",
  "virtualcluster.bytes",
] as const;

/** The defaults of the server, where it has some. */
const DEFAULTS: { readonly [quota in (typeof QUOTAS)[number]]: string } = {
  virtualclusterinstances: "",
  spaceinstances: "",
  ownedaccesskeys: "",
  "virtualcluster.objects": "200000",
  "virtualcluster.bytes": "512Mi",
};

type Draft = OwnedDraft & {
  readonly clusters: readonly string[];
  /** The quotas of all resources, including those that the form does not show. */
  readonly quotas: { readonly [resource: string]: string };
};

const EMPTY: Draft = { ...NO_OWNED, clusters: [], quotas: {} };

const draftOf = (project: Project): Draft => ({
  ...ownedDraftOf(project),
  clusters: (project.spec?.allowedClusters ?? []).map(({ name }) => name),
  quotas: project.spec?.quotas?.project ?? {},
});

const specOf = (draft: Draft): JsonObject =>
  withoutEmpty({
    ...ownedSpecOf(draft),
    allowedClusters: draft.clusters.map((name) => ({ name })),
    quotas: { project: { ...draft.quotas } },
  });

export const { New: NewProjectPage, Edit: EditProjectPage } = formPages<Draft, Project>({
  page: "project",
  kind: "Project",
  address: PROJECTS,
  title: "project.new",
  lead: "project.new.lead",
  empty: EMPTY,
  draftOf,
  contentOf: (draft) => ({ spec: specOf(draft) }),
  paths: ["spec.owner", "spec.allowedClusters", "spec.quotas"],
  fieldsOf: (props) => <Fields {...props} />,
});

function Fields(props: FieldsProps<Draft>) {
  const { draft, errorAt, onChange } = props;
  return (
    <>
      <OwnedFields {...props} />
      <AllowedClusters
        chosen={draft.clusters}
        error={errorAt("spec.allowedClusters")}
        onChange={(clusters) => onChange({ clusters })}
      />
      <fieldset className="rows">
        <legend>{t("project.quotas")}</legend>
        <p className="hint">{t("project.quotas.hint")}</p>
        <div className="columns">
          {QUOTAS.map((resource) => (
            <TextField
              key={resource}
              label={named("project.quota", resource)}
              value={draft.quotas[resource] ?? ""}
              description={named("project.quota.unit", resource)}
              placeholder={DEFAULTS[resource]}
              onChange={(amount) => onChange({ quotas: { ...draft.quotas, [resource]: amount } })}
            />
          ))}
        </div>
        <GroupError text={errorAt("spec.quotas")} />
      </fieldset>
    </>
  );
}

function AllowedClusters(props: {
  readonly chosen: readonly string[];
  readonly error: string | undefined;
  readonly onChange: (names: readonly string[]) => void;
}) {
  const { chosen, error, onChange } = props;
  const right = useMay({ verb: "list", resource: "clusters" });
  const { items } = useLive<Cluster>(CLUSTERS, { isWanted: right.isAllowed });
  // Clusters that are gone, or that the user cannot see, stay until they are removed.
  const titles = new Map(items.map((cluster) => [nameOf(cluster), titleOf(cluster)]));
  const names = [...new Set([...items.map(nameOf), ...chosen.filter((name) => name !== "*")])].sort(inNaturalOrder);
  const { first, more } = useFirst(names);
  const isAll = chosen.includes("*");
  return (
    <fieldset className="rows">
      <legend>{t("project.fact.clusters")}</legend>
      <p className="hint">{t("project.clusters.hint")}</p>
      <Checkbox isSelected={isAll} onChange={(isOn) => onChange(isOn ? ["*"] : [])}>
        {t("project.clusters.all")}
      </Checkbox>
      {first.map((name) => (
        <Checkbox
          key={name}
          isSelected={isAll || chosen.includes(name)}
          isDisabled={isAll}
          onChange={(isOn) => onChange(isOn ? [...chosen, name] : chosen.filter((each) => each !== name))}
        >
          {titles.get(name) ?? name} {(titles.get(name) ?? name) !== name && <span className="muted">{name}</span>}
        </Checkbox>
      ))}
      {more}
      <GroupError text={error} />
    </fieldset>
  );
}
