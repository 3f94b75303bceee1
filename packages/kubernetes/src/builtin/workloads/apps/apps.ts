// The kinds of the group apps as objects: nothing makes pods of them.
// Source: k8s.io/kubernetes/pkg/registry/apps/*/strategy.go, pkg/apis/apps/v1/defaults.go, pkg/printers/internalversion/printers.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { type Field, s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, forbiddenError } from "@postern/apimachinery/validation/field-error";
import { nameIsDNSLabel } from "@postern/apimachinery/validation/object-name";
import type { PrinterColumn, ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ageColumn, defineBuiltin } from "../../builtin-resource.ts";
import { negativeFaults } from "../../field-checks.ts";
import { withTemplateDefaults } from "../pods/pod-defaults.ts";
import { templateWarnings } from "../pods/pod-warnings.ts";
import { containerColumns, podColumns } from "../pods/pods.ts";
import { validateSameSelector, validateSelectedTemplate } from "../pods/validate-pod.ts";
import { labelSelectorText, scaleSelectorText } from "../selector-text.ts";
import { statusStrategy } from "../status-strategy.ts";
import { validateStatefulSetNames, validateStatefulSetTemplate } from "../volumes/validate-claims.ts";
import { ALL_SPEC, type Spec, statusOf, withClaimDefaults } from "./apps-fields.ts";
import { countingTemplates, uncounted } from "./template-count.ts";
import {
  type Rollout,
  validateDaemonSetRollout,
  validateDeploymentRollout,
  validateStatefulSetRollout,
} from "./validate-rollout.ts";
import {
  daemonSetStatusFaults,
  deploymentStatusFaults,
  replicaSetStatusFaults,
  statefulSetStatusFaults,
} from "./validate-status.ts";

type Status = JsonObject;
type Workload = KubeObject & { readonly spec?: Spec; readonly status?: Status };

const statusNumber = (name: string) => (object: KubeObject) => Number((object as Workload).status?.[name] ?? 0);
const selectorOf = (object: KubeObject): string => labelSelectorText((object as Workload).spec?.selector);
const podsOf = (object: KubeObject) => (object as Workload).spec?.template?.spec;
const column = (name: string, value: PrinterColumn["value"]): PrinterColumn => ({
  name,
  type: "integer",
  value,
});
const replicasOf = (object: KubeObject): number => (object as Workload).spec?.replicas ?? 0;

type Kind = {
  readonly kind: string;
  readonly plural: string;
  readonly shortNames: readonly string[];
  readonly fields: readonly (keyof typeof ALL_SPEC)[];
  readonly status: Field<unknown>;
  readonly columns: readonly PrinterColumn[];
  readonly defaults: (spec: Spec) => Spec;
  readonly isScaled: boolean;
  /** Faults that only this kind has, beside those of its selector and number of pods. Default: its pods are valid. */
  readonly validateSelected?: (workload: Workload, old?: Workload) => readonly FieldError[];
  /** How it replaces its pods. */
  readonly validateRollout: (spec: Rollout) => readonly FieldError[];
  /** Default: the selector stays as it is. */
  readonly validateChange?: (next: Workload, old: Workload) => readonly FieldError[];
  readonly validateStatus: (next: KubeObject, old: KubeObject) => readonly FieldError[];
  /** Its name becomes a part of theirs, in a way that surprises. */
  readonly namesPods: boolean;
  /** An annotation counts its templates. */
  readonly countsTemplates?: true;
  /** Labels are not written through the status. */
  readonly keepsLabels?: boolean;
  /** Wide Tables do not show it. */
  readonly hidesSelector?: boolean;
  readonly tracksGeneration?: true | "withAnnotations";
  /** Default: a subdomain. */
  readonly validateName?: NonNullable<Strategy<Workload>["validateName"]>;
  /** Beside those about its pods. */
  readonly warnings?: (workload: Workload) => readonly string[];
};

function defineWorkload({
  kind,
  plural,
  shortNames,
  fields,
  status,
  columns,
  defaults,
  isScaled,
  validateSelected = (workload) => validateSelectedTemplate(workload),
  validateRollout,
  validateChange = validateSameSelector,
  validateStatus,
  namesPods,
  countsTemplates,
  keepsLabels = false,
  hidesSelector = false,
  tracksGeneration = true,
  validateName,
  warnings: others = () => [],
}: Kind): ResourceDefinition {
  const members = Object.fromEntries(fields.map((name) => [name, ALL_SPEC[name]]));
  const schema = s.object({
    spec: s.object(members),
    status,
  });
  const validate = (workload: Workload, old?: Workload): readonly FieldError[] => [
    ...negativeFaults("spec.replicas", workload.spec?.replicas),
    ...validateSelected(workload, old),
    // The types of the schema hold by now.
    ...validateRollout((workload.spec ?? {}) as Rollout),
  ];
  const common = statusStrategy<Workload>(validate, validateChange, undefined, validateStatus);
  const strategy = keepsLabels ? keepingLabels(common) : common;
  return defineBuiltin({
    group: "apps",
    version: "v1",
    kind,
    plural,
    shortNames,
    categories: ["all"],
    namespaced: true,
    hasStatus: true,
    tracksGeneration,
    schema: kindSchema(schema.schema),
    ...(isScaled
      ? {
          scale: {
            specReplicasPath: ".spec.replicas",
            statusReplicasPath: ".status.replicas",
            checksSpec: true,
            // Stored objects have passed the schema of their kind.
            selectorText: (object) => scaleSelectorText((object as Workload).spec?.selector),
          },
        }
      : {}),
    columns: [...columns, ageColumn, ...(hidesSelector ? containerColumns(podsOf) : podColumns(selectorOf, podsOf))],
    // Bodies of built-in kinds have passed their types by now.
    setDefaults: (object) => {
      const { spec = {} } = object as Workload;
      const template = spec.template === undefined ? {} : { template: withTemplateDefaults(spec.template) };
      const complete = { ...object, spec: { ...defaults(spec), ...template } } as Workload;
      return countsTemplates === true ? uncounted(complete) : complete;
    },
    strategy: {
      ...(countsTemplates === true ? countingTemplates(strategy) : strategy),
      ...(validateName === undefined ? {} : { validateName }),
      ...templateWarnings<Workload>(({ spec }) => spec?.template, "spec.template", { namesPods, others }),
    },
  });
}

const keepingLabels = (strategy: Strategy<Workload>): Strategy<Workload> => ({
  ...strategy,
  async prepareForUpdate(next, old, context) {
    const prepared = (await strategy.prepareForUpdate?.(next, old, context)) ?? next;
    if (context.info.subresource !== "status") return prepared;
    const { labels: _, ...metadata } = prepared.metadata;
    const { labels } = old.metadata;
    return { ...prepared, metadata: { ...metadata, ...(labels === undefined ? {} : { labels }) } };
  },
});

const BASE = ["selector", "template", "minReadySeconds"] as const;

export const deployments = defineWorkload({
  kind: "Deployment",
  plural: "deployments",
  shortNames: ["deploy"],
  validateRollout: validateDeploymentRollout,
  validateStatus: deploymentStatusFaults,
  namesPods: true,
  keepsLabels: true,
  tracksGeneration: "withAnnotations",
  fields: [...BASE, "replicas", "strategy", "revisionHistoryLimit", "paused", "progressDeadlineSeconds"],
  status: statusOf(
    "replicas updatedReplicas readyReplicas availableReplicas unavailableReplicas terminatingReplicas collisionCount",
    { isUpdated: true },
  ),
  isScaled: true,
  columns: [
    {
      name: "Ready",
      type: "string",
      value: (o) => `${statusNumber("readyReplicas")(o)}/${replicasOf(o)}`,
    },
    column("Up-To-Date", statusNumber("updatedReplicas")),
    column("Available", statusNumber("availableReplicas")),
  ],
  defaults: (spec) => {
    const type = spec.strategy?.type ?? "RollingUpdate";
    const rollingUpdate = { maxUnavailable: "25%", maxSurge: "25%", ...spec.strategy?.rollingUpdate };
    return {
      ...spec,
      replicas: spec.replicas ?? 1,
      strategy: type === "RollingUpdate" ? { type, rollingUpdate } : { ...spec.strategy, type },
      revisionHistoryLimit: spec.revisionHistoryLimit ?? 10,
      progressDeadlineSeconds: spec.progressDeadlineSeconds ?? 600,
    };
  },
});

export const replicaSets = defineWorkload({
  kind: "ReplicaSet",
  plural: "replicasets",
  shortNames: ["rs"],
  validateRollout: ({ minReadySeconds }) => negativeFaults("spec.minReadySeconds", minReadySeconds),
  validateStatus: replicaSetStatusFaults,
  namesPods: true,
  fields: [...BASE, "replicas"],
  status: statusOf("replicas fullyLabeledReplicas readyReplicas availableReplicas terminatingReplicas"),
  isScaled: true,
  columns: [
    column("Desired", replicasOf),
    column("Current", statusNumber("replicas")),
    column("Ready", statusNumber("readyReplicas")),
  ],
  defaults: (spec) => ({ ...spec, replicas: spec.replicas ?? 1 }),
});

const CHANGEABLE = [
  "replicas",
  "ordinals",
  "template",
  "updateStrategy",
  "revisionHistoryLimit",
  "persistentVolumeClaimRetentionPolicy",
  "minReadySeconds",
];

// Source: k8s.io/kubernetes/pkg/apis/apps/validation/validation.go (ValidateStatefulSetUpdate)
function validateStatefulSetChange({ spec: next = {} }: Workload, { spec: old = {} }: Workload): readonly FieldError[] {
  const fixed = (spec: Spec) =>
    // Bodies of built-in kinds are JSON.
    Object.fromEntries(
      Object.entries({ serviceName: "", ...withClaimDefaults(spec) }).filter(([name]) => !CHANGEABLE.includes(name)),
    ) as JsonObject;
  if (equalJson(fixed(next), fixed(old))) return [];
  const names = CHANGEABLE.map((name) => `'${name}'`);
  const all = `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
  return [forbiddenError("spec", `updates to statefulset spec for fields other than ${all} are forbidden`)];
}

const statefulSetWarnings = ({ spec }: Workload): readonly string[] =>
  (spec?.revisionHistoryLimit ?? 0) < 0
    ? ["spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"]
    : [];

export const statefulSets = defineWorkload({
  kind: "StatefulSet",
  plural: "statefulsets",
  shortNames: ["sts"],
  validateSelected: (workload, old) => [
    ...validateStatefulSetTemplate(workload, old),
    ...validateStatefulSetNames(workload.metadata?.name, workload.spec),
  ],
  validateName: nameIsDNSLabel,
  validateRollout: validateStatefulSetRollout,
  validateStatus: statefulSetStatusFaults,
  namesPods: false,
  hidesSelector: true,
  warnings: statefulSetWarnings,
  validateChange: validateStatefulSetChange,
  fields: [
    ...BASE,
    "replicas",
    "serviceName",
    "volumeClaimTemplates",
    "podManagementPolicy",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "ordinals",
  ],
  status: statusOf("replicas readyReplicas availableReplicas currentReplicas updatedReplicas collisionCount", {
    hasRevisions: true,
  }),
  isScaled: true,
  columns: [
    {
      name: "Ready",
      type: "string",
      value: (o) => `${statusNumber("readyReplicas")(o)}/${replicasOf(o)}`,
    },
  ],
  defaults: (spec) => {
    const type = spec.updateStrategy?.type ?? "RollingUpdate";
    const rollingUpdate = { partition: 0, ...spec.updateStrategy?.rollingUpdate };
    return {
      ...withClaimDefaults(spec),
      replicas: spec.replicas ?? 1,
      serviceName: spec.serviceName ?? "",
      podManagementPolicy: spec.podManagementPolicy ?? "OrderedReady",
      updateStrategy: type === "RollingUpdate" ? { type, rollingUpdate } : { ...spec.updateStrategy, type },
      revisionHistoryLimit: spec.revisionHistoryLimit ?? 10,
      persistentVolumeClaimRetentionPolicy: {
        whenDeleted: "Retain",
        whenScaled: "Retain",
        ...spec.persistentVolumeClaimRetentionPolicy,
      },
    };
  },
});

export const daemonSets = defineWorkload({
  kind: "DaemonSet",
  plural: "daemonsets",
  shortNames: ["ds"],
  validateSelected: (workload) => validateSelectedTemplate(workload, "DaemonSet"),
  validateRollout: validateDaemonSetRollout,
  validateStatus: daemonSetStatusFaults,
  namesPods: false,
  countsTemplates: true,
  fields: [...BASE, "updateStrategy", "revisionHistoryLimit"],
  status: statusOf(
    "currentNumberScheduled desiredNumberScheduled numberMisscheduled numberReady numberAvailable numberUnavailable updatedNumberScheduled collisionCount",
  ),
  isScaled: false,
  columns: [
    column("Desired", statusNumber("desiredNumberScheduled")),
    column("Current", statusNumber("currentNumberScheduled")),
    column("Ready", statusNumber("numberReady")),
    column("Up-To-Date", statusNumber("updatedNumberScheduled")),
    column("Available", statusNumber("numberAvailable")),
    {
      name: "Node Selector",
      type: "string",
      value: (o) => labelSelectorText({ matchLabels: podsOf(o)?.nodeSelector ?? {} }),
    },
  ],
  defaults: (spec) => {
    const type = spec.updateStrategy?.type ?? "RollingUpdate";
    const rollingUpdate = { maxUnavailable: 1, maxSurge: 0, ...spec.updateStrategy?.rollingUpdate };
    return {
      ...spec,
      updateStrategy: type === "RollingUpdate" ? { type, rollingUpdate } : { ...spec.updateStrategy, type },
      revisionHistoryLimit: spec.revisionHistoryLimit ?? 10,
    };
  },
});
