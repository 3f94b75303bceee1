// ResourceClaims: the devices that pods ask for, and those that the scheduler has allocated to them.
// Source: k8s.io/kubernetes/pkg/registry/resource/resourceclaim/strategy.go

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { validateImmutable } from "@postern/apimachinery/validation/object-meta";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { publishedField } from "../published/published-field.ts";
import { statusStrategy } from "../workloads/status-strategy.ts";
import { type ClaimPermissions, requestedAdminFaults, statusPermissionFaults } from "./claim-permissions.ts";
import { withClaimDefaults, withTolerationDefaults } from "./device-defaults.ts";
import {
  DEVICES_GROUP,
  type ResourceClaim,
  type ResourceClaimSpec,
  type ResourceClaimStatus,
} from "./device-objects.ts";
import { claimStatusFaults, placeOf } from "./validate-claim-status.ts";
import { deviceClaimFaults } from "./validate-device-claim.ts";

const fields = s.object({
  spec: publishedField<ResourceClaimSpec>("ResourceClaimSpec"),
  status: publishedField<ResourceClaimStatus>("ResourceClaimStatus"),
});

function stateOf({ metadata, status }: ResourceClaim): string {
  const isDeleted = isBeingDeleted({ metadata });
  const deleted = isDeleted ? ["deleted"] : [];
  if (status?.allocation === undefined) return (isDeleted ? deleted : ["pending"]).join(",");
  return [...deleted, "allocated", ...((status.reservedFor ?? []).length > 0 ? ["reserved"] : [])].join(",");
}

function withDefaults(object: KubeObject): KubeObject {
  // Bodies of built-in kinds have passed their types by now.
  const claim = object as ResourceClaim;
  const { spec, status } = claim;
  const { allocation } = status ?? {};
  const results = allocation?.devices?.results?.map(withTolerationDefaults);
  return {
    ...claim,
    ...(spec === undefined ? {} : { spec: withClaimDefaults(spec) }),
    ...(results === undefined
      ? {}
      : { status: { ...status, allocation: { ...allocation, devices: { ...allocation?.devices, results } } } }),
  } as KubeObject;
}

/** The status of a device goes with its allocation. */
function withoutFreedDevices(next: ResourceClaim, old: ResourceClaim): ResourceClaim {
  const placesIn = ({ status }: ResourceClaim): readonly string[] =>
    (status?.allocation?.devices?.results ?? []).map(placeOf);
  const kept = new Set(placesIn(next));
  const freed = new Set(placesIn(old).filter((place) => !kept.has(place)));
  const { devices, ...status } = next.status ?? {};
  const left = (devices ?? []).filter((device) => !freed.has(placeOf(device)));
  return { ...next, status: { ...status, ...(left.length === 0 ? {} : { devices: left }) } };
}

/** Unlike that of other kinds, the status takes no metadata with it. Source: k8s.io/apimachinery/pkg/apis/meta/v1/helpers.go (ResetObjectMetaForStatus) */
function statusMetadata({ metadata }: ResourceClaim, old: ResourceClaim): KubeObject["metadata"] {
  const { labels: _l, annotations: _a, finalizers: _f, ownerReferences: _o, ...own } = metadata;
  const { labels, annotations, finalizers, ownerReferences } = old.metadata;
  return {
    ...own,
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(finalizers === undefined ? {} : { finalizers }),
    ...(ownerReferences === undefined ? {} : { ownerReferences }),
  };
}

function strategyOf(permissions: ClaimPermissions): Strategy<ResourceClaim> {
  const base = statusStrategy<ResourceClaim & { readonly status?: JsonValue }>(() => []) as Strategy<ResourceClaim>;
  return {
    ...base,
    validate: async ({ metadata: { namespace = "" }, spec }, context) => [
      ...(await requestedAdminFaults(spec?.devices, namespace, permissions, context)),
      ...(await context.inParts(deviceClaimFaults("spec.devices", spec?.devices))),
    ],
    async prepareForUpdate(claim, old, context) {
      const prepared = (await base.prepareForUpdate?.(claim, old, context)) ?? claim;
      if (context.info.subresource !== "status") return prepared;
      return { ...withoutFreedDevices(prepared, old), metadata: statusMetadata(claim, old) };
    },
    validateUpdate: async (next, old, context) =>
      context.info.subresource === "status"
        ? [
            ...(await statusPermissionFaults(next.status, old.status, permissions, context)),
            ...claimStatusFaults(next, old),
          ]
        : // Objects are JSON; only their named types hide it.
          validateImmutable((next.spec ?? null) as JsonValue, (old.spec ?? null) as JsonValue, "spec"),
  };
}

export const resourceClaims = (permissions: ClaimPermissions): ResourceDefinition =>
  defineBuiltin({
    group: DEVICES_GROUP,
    version: "v1",
    kind: "ResourceClaim",
    plural: "resourceclaims",
    returnsDeletedObject: true,
    namespaced: true,
    hasStatus: true,
    schema: kindSchema(fields.schema),
    columns: [
      // Stored objects have passed the schema of the kind.
      { name: "State", type: "string", value: (claim) => stateOf(claim as ResourceClaim) },
      ageColumn,
    ],
    setDefaults: withDefaults,
    strategy: strategyOf(permissions),
  });
