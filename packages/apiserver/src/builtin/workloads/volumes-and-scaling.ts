// PersistentVolumes and their claims, and HorizontalPodAutoscalers, as objects: nothing provides volumes, and nothing scales.
// Source: k8s.io/kubernetes/pkg/registry/core/{persistentvolume,persistentvolumeclaim}, pkg/registry/autoscaling/horizontalpodautoscaler

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, invalidError, requiredError } from "@postern/apimachinery/validation/field-error";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import { ageColumn, defineBuiltin, mergedInPatches } from "../builtin-resource.ts";
import { conditionFields } from "../condition-fields.ts";
import { objectReference } from "../core/object-reference.ts";
import { quantities, quantityText } from "../quotas/quantities.ts";
import { labelSelector } from "../rbac/rbac-fields.ts";
import { keepingStatus } from "./keeping-status.ts";

const MODES: { readonly [mode: string]: string } = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP",
};
const modesText = (modes: readonly string[] | undefined): string =>
  (modes ?? []).map((mode) => MODES[mode] ?? mode).join(",");

const claimFields = s
  .object({
    spec: s
      .object({
        accessModes: s.list(s.string()).describe("ReadWriteOnce, ReadOnlyMany, ReadWriteMany or ReadWriteOncePod."),
        selector: labelSelector.describe("Volumes that are meant."),
        resources: s
          .object({ limits: quantities.describe("At most."), requests: quantities.describe("At least.") })
          .describe("How large."),
        volumeName: s.string().describe("The volume."),
        storageClassName: s.string().describe("The StorageClass."),
        volumeMode: s.string().describe("Filesystem or Block."),
        dataSource: s.anyObject().describe("What the volume is filled from."),
        dataSourceRef: s.anyObject().describe("What the volume is filled from."),
        volumeAttributesClassName: s.string().describe("The class of its attributes."),
      })
      .describe("The claim as it should be."),
    status: s
      .object({
        phase: s.string().describe("Pending, Bound or Lost."),
        accessModes: s.list(s.string()).describe("What the volume can do."),
        capacity: quantities.describe("How large it is."),
        conditions: mergedInPatches(s.listMap(conditionFields, ["type"]), "type").describe("The state in words."),
        allocatedResources: quantities.describe("What is set aside for it."),
        allocatedResourceStatuses: s.map(s.string()).describe("How far a change has come."),
        currentVolumeAttributesClassName: s.string().describe("The class that it has."),
        modifyVolumeStatus: s.anyObject().describe("How far a change has come."),
      })
      .describe("The claim as it is."),
  })
  .describe("Asks for a volume. Here it is kept as an object, and gets none.");

type Claim = KindOf<typeof claimFields>;

const validateClaim = ({ spec }: Claim): readonly FieldError[] => [
  ...((spec?.accessModes ?? []).length === 0
    ? [requiredError("spec.accessModes", "at least 1 access mode is required")]
    : []),
  ...(spec?.resources?.requests?.["storage"] === undefined ? [requiredError("spec.resources[storage]")] : []),
];

// What the store holds has gone through the schema of the kind, in all columns below.
export const persistentVolumeClaims: ResourceDefinition = defineBuiltin({
  group: "",
  version: "v1",
  kind: "PersistentVolumeClaim",
  plural: "persistentvolumeclaims",
  singular: "persistentvolumeclaim",
  shortNames: ["pvc"],
  namespaced: true,
  hasStatus: true,
  schema: kindSchema(claimFields.schema),
  columns: [
    { name: "Status", type: "string", description: "The phase.", value: ".status.phase" },
    { name: "Volume", type: "string", description: "The volume.", value: (o) => (o as Claim).spec?.volumeName ?? "" },
    {
      name: "Capacity",
      type: "string",
      description: "How large it is.",
      value: (o) => quantityText((o as Claim).status?.capacity?.["storage"]),
    },
    {
      name: "Access Modes",
      type: "string",
      description: "What it can do.",
      value: (o) => modesText((o as Claim).status?.accessModes),
    },
    {
      name: "StorageClass",
      type: "string",
      description: "Its class.",
      value: (o) => (o as Claim).spec?.storageClassName ?? "",
    },
    {
      name: "VolumeAttributesClass",
      type: "string",
      description: "The class of its attributes.",
      value: () => "<unset>",
    },
    ageColumn,
    { name: "VolumeMode", type: "string", priority: 1, description: "Filesystem or Block.", value: ".spec.volumeMode" },
  ],
  setDefaults: (object) => ({ ...object, spec: { volumeMode: "Filesystem", ...(object as Claim).spec } }) as KubeObject,
  strategy: keepingStatus<Claim>(validateClaim, undefined, { phase: "Pending" }) as never,
});

const volumeFields = s
  .object({
    spec: s
      .field<{ readonly [name: string]: never }>({
        type: "object",
        properties: {
          claimRef: objectReference.describe("The claim it belongs to.").schema,
          storageClassName: { type: "string", description: "The StorageClass." },
          persistentVolumeReclaimPolicy: { type: "string", description: "Retain, Delete or Recycle." },
        },
        "x-kubernetes-preserve-unknown-fields": true,
      })
      .describe("The volume as it should be, with its source."),
    status: s.anyObject().describe("The volume as it is."),
  })
  .describe("A volume. Here it is kept as an object.");

type Volume = KubeObject & {
  readonly spec?: {
    readonly capacity?: { readonly storage?: JsonValue };
    readonly accessModes?: readonly string[];
    readonly storageClassName?: string;
    readonly claimRef?: { readonly namespace: string; readonly name: string };
  };
  readonly status?: { readonly reason?: string };
};

export const persistentVolumes: ResourceDefinition = defineBuiltin({
  group: "",
  version: "v1",
  kind: "PersistentVolume",
  plural: "persistentvolumes",
  singular: "persistentvolume",
  shortNames: ["pv"],
  namespaced: false,
  hasStatus: true,
  schema: kindSchema(volumeFields.schema),
  columns: [
    {
      name: "Capacity",
      type: "string",
      description: "How large it is.",
      value: (o) => quantityText((o as Volume).spec?.capacity?.storage),
    },
    {
      name: "Access Modes",
      type: "string",
      description: "What it can do.",
      value: (o) => modesText((o as Volume).spec?.accessModes),
    },
    {
      name: "Reclaim Policy",
      type: "string",
      description: "What becomes of it.",
      value: ".spec.persistentVolumeReclaimPolicy",
    },
    { name: "Status", type: "string", description: "The phase.", value: ".status.phase" },
    {
      name: "Claim",
      type: "string",
      description: "Whose it is.",
      value: (o) => {
        const claim = (o as Volume).spec?.claimRef;
        return claim === undefined ? "" : `${claim.namespace}/${claim.name}`;
      },
    },
    {
      name: "StorageClass",
      type: "string",
      description: "Its class.",
      value: (o) => (o as Volume).spec?.storageClassName ?? "",
    },
    {
      name: "VolumeAttributesClass",
      type: "string",
      description: "The class of its attributes.",
      value: () => "<unset>",
    },
    { name: "Reason", type: "string", description: "Why it is so.", value: (o) => (o as Volume).status?.reason ?? "" },
    ageColumn,
    { name: "VolumeMode", type: "string", priority: 1, description: "Filesystem or Block.", value: ".spec.volumeMode" },
  ],
  setDefaults: (object) =>
    ({
      ...object,
      spec: { persistentVolumeReclaimPolicy: "Retain", volumeMode: "Filesystem", ...(object as Volume).spec },
    }) as KubeObject,
  strategy: keepingStatus<Volume>(() => [], undefined, { phase: "Pending" }) as never,
});

const scalerFields = s
  .object({
    spec: s
      .object({
        scaleTargetRef: s
          .object({
            kind: s.string().required().describe("Kind of the object."),
            name: s.string().required().describe("Name of the object."),
            apiVersion: s.string().describe("Group and version of the object."),
          })
          .required()
          .describe("What is scaled."),
        minReplicas: s.int32().describe("At least so many. Absent: 1."),
        maxReplicas: s.int32().required().describe("At most so many."),
        metrics: s.list(s.anyObject()).describe("What it is measured by."),
        behavior: s.anyObject().describe("How fast it scales."),
      })
      .required()
      .describe("The scaler as it should be."),
    status: s.anyObject().describe("The scaler as it is. Its controller says so."),
  })
  .describe("Changes the number of pods by what is measured. Here it is kept as an object, and nothing is scaled.");

type Scaler = KindOf<typeof scalerFields>;

const validateScaler = ({ spec }: Scaler): readonly FieldError[] => {
  const { minReplicas = 1, maxReplicas } = spec;
  return maxReplicas < minReplicas
    ? [invalidError("spec.maxReplicas", maxReplicas, "must be greater than or equal to `minReplicas`")]
    : [];
};

export const horizontalPodAutoscalers: ResourceDefinition = defineBuiltin({
  group: "autoscaling",
  version: "v2",
  kind: "HorizontalPodAutoscaler",
  plural: "horizontalpodautoscalers",
  singular: "horizontalpodautoscaler",
  shortNames: ["hpa"],
  categories: ["all"],
  namespaced: true,
  hasStatus: true,
  schema: kindSchema(scalerFields.schema),
  columns: [
    {
      name: "Reference",
      type: "string",
      description: "What is scaled.",
      value: (o) => `${(o as Scaler).spec.scaleTargetRef.kind}/${(o as Scaler).spec.scaleTargetRef.name}`,
    },
    { name: "Targets", type: "string", description: "What is wanted.", value: () => "<unknown>" },
    {
      name: "MinPods",
      type: "string",
      description: "At least so many.",
      value: (o) => String((o as Scaler).spec.minReplicas ?? "<unset>"),
    },
    { name: "MaxPods", type: "integer", description: "At most so many.", value: ".spec.maxReplicas" },
    {
      name: "Replicas",
      type: "integer",
      description: "How many there are.",
      value: (o) => Number((o as Scaler).status?.["currentReplicas"] ?? 0),
    },
    ageColumn,
  ],
  setDefaults: (object) => ({ ...object, spec: { minReplicas: 1, ...(object as Scaler).spec } }) as KubeObject,
  strategy: keepingStatus<Scaler>(validateScaler) as never,
});
