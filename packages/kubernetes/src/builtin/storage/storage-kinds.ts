// StorageClasses and PriorityClasses: cluster-wide settings of charts. They are stored, but have no effect.
// Source: k8s.io/kubernetes/pkg/registry/{storage/storageclass,scheduling/priorityclass}/strategy.go, pkg/apis/{storage,scheduling}/validation

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, forbiddenError, invalidError } from "@postern/apimachinery/validation/field-error";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { choiceFaults } from "../field-checks.ts";
import { listAt, textAt } from "../workloads/json-members.ts";
import { nodeLabelWarning } from "../workloads/pods/pod-warnings.ts";
import { warningHooks } from "../workloads/status-strategy.ts";
import { validateStorageClass } from "./validate-storage-class.ts";

const topology = s.object(
  {
    matchLabelExpressions: s.list(
      s.object({
        key: s.string().required(),
        values: s.list(s.string()),
      }),
    ),
  },
  { atomic: true },
);

const storageClassFields = s.object({
  provisioner: s.string(),
  parameters: s.map(s.string()),
  reclaimPolicy: s.string().default("Delete"),
  mountOptions: s.list(s.string()),
  allowVolumeExpansion: s.boolean(),
  volumeBindingMode: s.string().default("Immediate"),
  allowedTopologies: s.list(topology),
});

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
      value: (object) => `${object.metadata.name ?? ""}${isDefault(object) ? " (default)" : ""}`,
    },
    {
      name: "Provisioner",
      type: "string",
      value: ".provisioner",
    },
    {
      name: "ReclaimPolicy",
      type: "string",
      value: ".reclaimPolicy",
    },
    { name: "VolumeBindingMode", type: "string", value: ".volumeBindingMode" },
    {
      name: "AllowVolumeExpansion",
      type: "string",
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

const priorityClassFields = s.object({
  value: s.int32().default(0),
  globalDefault: s.boolean(),
  description: s.string(),
  preemptionPolicy: s.string().default("PreemptLowerPriority"),
});

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
  ...choiceFaults("preemptionPolicy", preemptionPolicy, POLICIES),
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
    { name: "Value", type: "integer", value: ".value" },
    {
      name: "Global-Default",
      type: "boolean",
      value: (object) => (object as PriorityClass).globalDefault ?? false,
    },
    ageColumn,
    { name: "PreemptionPolicy", type: "string", value: ".preemptionPolicy" },
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
