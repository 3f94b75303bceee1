// StorageClasses and PriorityClasses: cluster-wide settings that charts bring along. Stored, but has no effect.
// Source: k8s.io/kubernetes/pkg/registry/{storage/storageclass,scheduling/priorityclass}/strategy.go, pkg/apis/{storage,scheduling}/validation

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import {
  type FieldError,
  forbiddenError,
  notSupportedError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";

const storageClassFields = s
  .object({
    provisioner: s.string().required().describe("Who makes the volumes."),
    parameters: s.map(s.string()).describe("Settings for the provisioner."),
    reclaimPolicy: s
      .string()
      .default("Delete")
      .describe("Delete or Retain: what becomes of volumes that are released."),
    mountOptions: s.list(s.string()).describe("Options for the mounts of its volumes."),
    allowVolumeExpansion: s.boolean().describe("Whether volumes can be made larger."),
    volumeBindingMode: s.string().default("Immediate").describe("Immediate or WaitForFirstConsumer."),
    allowedTopologies: s.list(s.anyObject()).describe("Where volumes may be."),
  })
  .describe("A class of storage.");

type StorageClass = KindOf<typeof storageClassFields>;

const validateStorageClass = ({ provisioner }: StorageClass): readonly FieldError[] =>
  provisioner === "" ? [requiredError("provisioner")] : [];

const FIXED = ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] as const;

const isDefault = ({ metadata }: KubeObject): boolean =>
  metadata.annotations?.["storageclass.kubernetes.io/is-default-class"] === "true";

export const storageClasses: ResourceDefinition = defineBuiltin({
  group: "storage.k8s.io",
  version: "v1",
  kind: "StorageClass",
  plural: "storageclasses",
  singular: "storageclass",
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
    { name: "Provisioner", type: "string", description: "Who makes the volumes.", value: ".provisioner" },
    {
      name: "ReclaimPolicy",
      type: "string",
      description: "What becomes of released volumes.",
      value: ".reclaimPolicy",
    },
    { name: "VolumeBindingMode", type: "string", description: "When volumes are made.", value: ".volumeBindingMode" },
    {
      name: "AllowVolumeExpansion",
      type: "string",
      description: "Whether volumes can be made larger.",
      value: (object) => String((object as StorageClass).allowVolumeExpansion ?? false),
    },
    ageColumn,
  ],
  strategy: {
    allowUnconditionalUpdate: true,
    validate: validateStorageClass,
    validateUpdate: (next: StorageClass, old: StorageClass) =>
      FIXED.filter((name) => !equalJson(next[name] ?? null, old[name] ?? null)).map((name) =>
        forbiddenError(name, `updates to ${name} are forbidden.`),
      ),
  },
});

const POLICIES = ["Never", "PreemptLowerPriority"];

const priorityClassFields = s
  .object({
    value: s.int32().required().describe("The priority. Cannot be changed."),
    globalDefault: s.boolean().describe("True: for pods that name no class."),
    description: s.string().describe("What it is for."),
    preemptionPolicy: s.string().default("PreemptLowerPriority").describe("PreemptLowerPriority or Never."),
  })
  .describe("A name for a priority of pods.");

type PriorityClass = KindOf<typeof priorityClassFields>;

const validatePriorityClass = ({ metadata, value, preemptionPolicy = "" }: PriorityClass): readonly FieldError[] => [
  ...((metadata.name ?? "").startsWith("system-") && !SYSTEM_CLASSES.includes(metadata.name ?? "")
    ? [
        forbiddenError(
          "metadata.name",
          "priority class names with 'system-' prefix are reserved for system use only. error: no such system class",
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
  singular: "priorityclass",
  shortNames: ["pc"],
  namespaced: false,
  tracksGeneration: true,
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
        : [forbiddenError("preemptionPolicy", "may not be changed in an update.")]),
    ],
  },
});
