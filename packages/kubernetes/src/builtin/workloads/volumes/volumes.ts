// PersistentVolumes and their claims, as objects: nothing provides volumes.
// Source: k8s.io/kubernetes/pkg/registry/core/{persistentvolume,persistentvolumeclaim}

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { parseAmount } from "@postern/apimachinery/quantity/quantity";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { type FieldError, forbiddenError } from "@postern/apimachinery/validation/field-error";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { ageColumn, defineBuiltin, mergedInPatches } from "../../builtin-resource.ts";
import { conditionFields } from "../../condition-fields.ts";
import { publishedField } from "../../published/published-field.ts";
import { quantities, quantityText } from "../../quotas/quantities.ts";
import { labelSelector } from "../../rbac/rbac-fields.ts";
import { withSourceDefaults } from "../pods/pod-defaults.ts";
import { statusStrategy, warningHooks } from "../status-strategy.ts";
import { validateClaimSpec, validateVolumeSpec } from "./validate-claims.ts";
import { claimWarnings, volumeWarnings } from "./volume-warnings.ts";

const MODES: { readonly [mode: string]: string } = {
  ReadWriteOnce: "RWO",
  ReadOnlyMany: "ROX",
  ReadWriteMany: "RWX",
  ReadWriteOncePod: "RWOP",
};
const modesText = (modes: readonly string[] | undefined): string =>
  (modes ?? []).map((mode) => MODES[mode] ?? mode).join(",");

const phaseOf = ({
  metadata,
  status,
}: KubeObject & { readonly status?: { readonly phase?: string } | undefined }): string =>
  isBeingDeleted({ metadata }) ? "Terminating" : (status?.phase ?? "");

export const claimFields = s.object({
  spec: s.object({
    accessModes: s.list(s.string()),
    selector: labelSelector,
    resources: s.object({
      limits: quantities,
      requests: quantities,
    }),
    volumeName: s.string(),
    storageClassName: s.string(),
    volumeMode: s.string(),
    dataSource: publishedField<JsonObject>("TypedLocalObjectReference"),
    dataSourceRef: publishedField<JsonObject>("TypedObjectReference"),
    volumeAttributesClassName: s.string(),
  }),
  status: s.object({
    phase: s.string(),
    accessModes: s.list(s.string()),
    capacity: quantities,
    conditions: mergedInPatches(s.listMap(conditionFields("lastProbeTime"), ["type"]), "type"),
    allocatedResources: quantities,
    allocatedResourceStatuses: s.field<{ readonly [name: string]: string }>({
      ...s.map(s.string()).schema,
      "x-kubernetes-map-type": "granular",
    }),
    currentVolumeAttributesClassName: s.string(),
    modifyVolumeStatus: publishedField<JsonObject>("ModifyVolumeStatus"),
  }),
});

export type Claim = KindOf<typeof claimFields>;

/** The requested storage of a claim, in billionths of a byte. */
export const requestedStorage = ({ spec }: Claim): bigint =>
  parseAmount(quantityText(spec?.resources?.requests?.["storage"])) ?? 0n;

const validateClaim = ({ spec = {} }: Claim): readonly FieldError[] => validateClaimSpec(spec, "spec");

/** A claim that is bound may grow, and change its attributes; nothing else changes. */
function validateClaimChange(next: Claim, old: Claim): readonly FieldError[] {
  const isBound = old.status?.phase === "Bound";
  const fixed = ({ spec = {} }: Claim): JsonValue => {
    const { volumeName: _bound, volumeAttributesClassName: _attributes, resources: _resources, ...rest } = spec;
    // Objects are JSON; only their named types hide it.
    return (isBound ? rest : { ...rest, resources: spec.resources }) as JsonValue;
  };
  const shrinks = requestedStorage(next) < requestedStorage(old);
  const capacity = parseAmount(quantityText(old.status?.capacity?.["storage"])) ?? 0n;
  return [
    ...(equalJson(fixed(next), fixed(old))
      ? []
      : [
          forbiddenError(
            "spec",
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
          ),
        ]),
    // Down to what there is: a growth that failed can be taken back.
    ...(shrinks && requestedStorage(next) <= capacity
      ? [forbiddenError("spec.resources.requests.storage", "field can not be less than status.capacity")]
      : []),
  ];
}

// Stored objects have passed the schema of their kind, in all columns below.
export const persistentVolumeClaims: ResourceDefinition = defineBuiltin({
  group: "",
  version: "v1",
  kind: "PersistentVolumeClaim",
  plural: "persistentvolumeclaims",
  returnsDeletedObject: true,
  shortNames: ["pvc"],
  namespaced: true,
  hasStatus: true,
  schema: kindSchema(claimFields.schema),
  columns: [
    { name: "Status", type: "string", value: (o) => phaseOf(o as Claim) },
    {
      name: "Volume",
      type: "string",
      value: (o) => (o as Claim).spec?.volumeName ?? "",
    },
    {
      name: "Capacity",
      type: "string",
      value: (o) => quantityText((o as Claim).status?.capacity?.["storage"]),
    },
    {
      name: "Access Modes",
      type: "string",
      value: (o) => modesText((o as Claim).status?.accessModes),
    },
    {
      name: "StorageClass",
      type: "string",
      value: (o) => (o as Claim).spec?.storageClassName ?? "",
    },
    {
      name: "VolumeAttributesClass",
      type: "string",
      value: (o) => (o as Claim).spec?.volumeAttributesClassName ?? "<unset>",
    },
    ageColumn,
    {
      name: "VolumeMode",
      type: "string",
      value: ".spec.volumeMode",
    },
  ],
  setDefaults: (object) => ({ ...object, spec: { volumeMode: "Filesystem", ...(object as Claim).spec } }) as KubeObject,
  strategy: {
    ...statusStrategy<Claim>(validateClaim, validateClaimChange, { phase: "Pending" }),
    ...warningHooks(claimWarnings),
  },
});

const volumeFields = s.object({
  spec: publishedField<{ readonly [name: string]: never }>("PersistentVolumeSpec"),
  status: publishedField<JsonObject>("PersistentVolumeStatus"),
});

type Volume = KubeObject & {
  readonly spec?: {
    readonly capacity?: { readonly storage?: JsonValue };
    readonly accessModes?: readonly string[];
    readonly storageClassName?: string;
    readonly volumeAttributesClassName?: string;
    readonly claimRef?: { readonly namespace: string; readonly name: string };
  };
  readonly status?: { readonly phase?: string; readonly reason?: string; readonly lastPhaseTransitionTime?: string };
};

const volumeStrategy = statusStrategy<Volume>(
  // Objects are JSON; only their named types hide it.
  ({ spec = {} }) => validateVolumeSpec(spec as JsonValue),
  undefined,
  { phase: "Pending" },
);

/** The time of the last change of the phase, unless the client sets one of its own. */
function withPhaseTime(next: Volume, old: Volume, now: string): Volume {
  const [{ phase, lastPhaseTransitionTime: time } = {}, before = {}] = [next.status, old.status];
  const isChanged = phase !== before.phase;
  if (isChanged ? time !== undefined && time !== before.lastPhaseTransitionTime : time !== undefined) return next;
  const kept = isChanged ? now : before.lastPhaseTransitionTime;
  return kept === undefined ? next : { ...next, status: { ...next.status, lastPhaseTransitionTime: kept } };
}

export const persistentVolumes: ResourceDefinition = defineBuiltin({
  group: "",
  version: "v1",
  kind: "PersistentVolume",
  plural: "persistentvolumes",
  returnsDeletedObject: true,
  shortNames: ["pv"],
  namespaced: false,
  hasStatus: true,
  schema: kindSchema(volumeFields.schema),
  columns: [
    {
      name: "Capacity",
      type: "string",
      value: (o) => quantityText((o as Volume).spec?.capacity?.storage),
    },
    {
      name: "Access Modes",
      type: "string",
      value: (o) => modesText((o as Volume).spec?.accessModes),
    },
    {
      name: "Reclaim Policy",
      type: "string",
      value: ".spec.persistentVolumeReclaimPolicy",
    },
    { name: "Status", type: "string", value: (o) => phaseOf(o as Volume) },
    {
      name: "Claim",
      type: "string",
      value: (o) => {
        const claim = (o as Volume).spec?.claimRef;
        return claim === undefined ? "" : `${claim.namespace}/${claim.name}`;
      },
    },
    {
      name: "StorageClass",
      type: "string",
      value: (o) => (o as Volume).spec?.storageClassName ?? "",
    },
    {
      name: "VolumeAttributesClass",
      type: "string",
      value: (o) => (o as Volume).spec?.volumeAttributesClassName ?? "<unset>",
    },
    { name: "Reason", type: "string", value: (o) => (o as Volume).status?.reason ?? "" },
    ageColumn,
    {
      name: "VolumeMode",
      type: "string",
      value: ".spec.volumeMode",
    },
  ],
  setDefaults: (object) =>
    ({
      ...object,
      spec: {
        persistentVolumeReclaimPolicy: "Retain",
        volumeMode: "Filesystem",
        // Objects are JSON; only their named types hide it.
        ...withSourceDefaults(((object as Volume).spec ?? {}) as JsonObject),
      },
    }) as KubeObject,
  strategy: {
    ...volumeStrategy,
    prepareForCreate: async (volume: Volume, context: RequestContext) =>
      withPhaseTime(
        (await volumeStrategy.prepareForCreate?.(volume, context)) ?? volume,
        volume,
        formatTimestamp(context.receivedAt),
      ),
    prepareForUpdate: async (next: Volume, old: Volume, context: RequestContext) =>
      withPhaseTime(
        (await volumeStrategy.prepareForUpdate?.(next, old, context)) ?? next,
        old,
        formatTimestamp(context.receivedAt),
      ),
    ...warningHooks(volumeWarnings),
  },
});
