// StorageClasses and PriorityClasses: cluster-wide settings of charts. They are stored, but have no effect.
// Source: k8s.io/kubernetes/pkg/registry/{storage/storageclass,scheduling/priorityclass}/strategy.go, pkg/apis/{storage,scheduling}/validation

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import {
  type FieldError,
  forbiddenError,
  invalidError,
  notSupportedError,
} from "@postern/apimachinery/validation/field-error";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { listAt, textAt } from "../workloads/json-members.ts";
import { nodeLabelWarning } from "../workloads/pod-warnings.ts";
import { warningHooks } from "../workloads/status-strategy.ts";
import { validateStorageClass } from "./validate-storage-class.ts";

const topology = s.object(
  {
    matchLabelExpressions: s
      .list(
        s.object({
          key: s.string().required().describe("The label key that the selector applies to."),
          values: s
            .list(s.string())
            .describe("An array of string values. One value must match the label to be selected."),
        }),
      )
      .describe("A list of topology selector requirements by labels."),
  },
  { atomic: true },
);

const storageClassFields = s
  .object({
    provisioner: s.string().describe("provisioner indicates the type of the provisioner."),
    parameters: s
      .map(s.string())
      .describe(
        "parameters holds the parameters for the provisioner that should create volumes of this storage class.",
      ),
    reclaimPolicy: s
      .string()
      .default("Delete")
      .describe(
        "reclaimPolicy controls the reclaimPolicy for dynamically provisioned PersistentVolumes of this storage class. Defaults to Delete.",
      ),
    mountOptions: s
      .list(s.string())
      .describe(
        "mountOptions controls the mountOptions for dynamically provisioned PersistentVolumes of this storage class. e.g.",
      ),
    allowVolumeExpansion: s
      .boolean()
      .describe("allowVolumeExpansion shows whether the storage class allow volume expand."),
    volumeBindingMode: s
      .string()
      .default("Immediate")
      .describe("volumeBindingMode indicates how PersistentVolumeClaims should be provisioned and bound."),
    allowedTopologies: s
      .list(topology)
      .describe("allowedTopologies restrict the node topologies where volumes can be dynamically provisioned."),
  })
  .describe(
    "StorageClass describes the parameters for a class of storage for which PersistentVolumes can be dynamically provisioned.",
  );

type StorageClass = KindOf<typeof storageClassFields>;

const FIXED = ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] as const;

const isDefault = ({ metadata }: KubeObject): boolean =>
  metadata.annotations?.["storageclass.kubernetes.io/is-default-class"] === "true";

export const storageClasses: ResourceDefinition = defineBuiltin({
  group: "storage.k8s.io",
  version: "v1",
  kind: "StorageClass",
  plural: "storageclasses",
  returnsDeletedObject: true,
  shortNames: ["sc"],
  namespaced: false,
  schema: kindSchema(storageClassFields.schema),
  hasOwnNameColumn: true,
  columns: [
    {
      name: "Name",
      type: "string",
      format: "name",
      description: "The name of the class.",
      value: (object) => `${object.metadata.name ?? ""}${isDefault(object) ? " (default)" : ""}`,
    },
    {
      name: "Provisioner",
      type: "string",
      description: "provisioner indicates the type of the provisioner.",
      value: ".provisioner",
    },
    {
      name: "ReclaimPolicy",
      type: "string",
      description: "Reclaim policy for volumes.",
      value: ".reclaimPolicy",
    },
    { name: "VolumeBindingMode", type: "string", description: "When volumes are made.", value: ".volumeBindingMode" },
    {
      name: "AllowVolumeExpansion",
      type: "string",
      description: "allowVolumeExpansion shows whether the storage class allow volume expand.",
      value: (object) => (object as StorageClass).allowVolumeExpansion ?? false,
    },
    ageColumn,
  ],
  strategy: {
    allowUnconditionalUpdate: true,
    validate: (storageClass: StorageClass) => validateStorageClass(storageClass),
    validateUpdate: (next: StorageClass, old: StorageClass) =>
      FIXED.filter((name) => !equalJson(next[name] ?? null, old[name] ?? null)).map((name) =>
        invalidError(name, next[name] ?? null, "field is immutable"),
      ),
    ...warningHooks(({ allowedTopologies = [] }: StorageClass) =>
      allowedTopologies.flatMap((topology, index) =>
        listAt(topology as JsonValue, "matchLabelExpressions").flatMap((expression, at) =>
          nodeLabelWarning(`allowedTopologies[${index}].matchLabelExpressions[${at}].key`, textAt(expression, "key")),
        ),
      ),
    ),
  },
});

const POLICIES = ["PreemptLowerPriority", "Never"];

const priorityClassFields = s
  .object({
    value: s.int32().default(0).describe("value represents the integer value of this priority class."),
    globalDefault: s
      .boolean()
      .describe(
        "globalDefault specifies whether this PriorityClass should be considered as the default priority for pods that do not have any priority class.",
      ),
    description: s
      .string()
      .describe(
        "description is an arbitrary string that usually provides guidelines on when this priority class should be used.",
      ),
    preemptionPolicy: s
      .string()
      .default("PreemptLowerPriority")
      .describe(
        "preemptionPolicy is the Policy for preempting pods with lower priority. One of Never, PreemptLowerPriority.",
      ),
  })
  .describe(
    "PriorityClass defines mapping from a priority class name to the priority integer value. The value can be any valid integer.",
  );

type PriorityClass = KindOf<typeof priorityClassFields>;

const validatePriorityClass = ({
  metadata,
  value = 0,
  preemptionPolicy = "",
}: PriorityClass): readonly FieldError[] => [
  ...((metadata.name ?? "").startsWith("system-") && !SYSTEM_CLASSES.includes(metadata.name ?? "")
    ? [
        forbiddenError(
          "metadata.name",
          `priority class names with 'system-' prefix are reserved for system use only. error: ${metadata.name} is not a known system priority class`,
        ),
      ]
    : []),
  ...(value > MAX_PRIORITY && !SYSTEM_CLASSES.includes(metadata.name ?? "")
    ? [forbiddenError("value", `maximum allowed value of a user defined priority is ${MAX_PRIORITY}`)]
    : []),
  ...(POLICIES.includes(preemptionPolicy) ? [] : [notSupportedError("preemptionPolicy", preemptionPolicy, POLICIES)]),
];
const SYSTEM_CLASSES = ["system-cluster-critical", "system-node-critical"];
const MAX_PRIORITY = 1_000_000_000;

export const priorityClasses: ResourceDefinition = defineBuiltin({
  group: "scheduling.k8s.io",
  version: "v1",
  kind: "PriorityClass",
  plural: "priorityclasses",
  shortNames: ["pc"],
  namespaced: false,
  tracksGeneration: "onCreate",
  schema: kindSchema(priorityClassFields.schema),
  columns: [
    { name: "Value", type: "integer", description: "The priority.", value: ".value" },
    {
      name: "Global-Default",
      type: "boolean",
      description: "Whether it is for pods that name no class.",
      value: (object) => (object as PriorityClass).globalDefault ?? false,
    },
    ageColumn,
    { name: "PreemptionPolicy", type: "string", description: "Whether others make way.", value: ".preemptionPolicy" },
  ],
  strategy: {
    allowUnconditionalUpdate: true,
    validate: validatePriorityClass,
    validateUpdate: (next: PriorityClass, old: PriorityClass) => [
      ...(next.value === old.value ? [] : [forbiddenError("value", "may not be changed in an update.")]),
      ...((next.preemptionPolicy ?? "") === (old.preemptionPolicy ?? "")
        ? []
        : [invalidError("preemptionPolicy", next.preemptionPolicy ?? "", "field is immutable")]),
    ],
  },
});
