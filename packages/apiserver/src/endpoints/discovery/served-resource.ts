// What discovery and OpenAPI say about a resource: its verbs, and its subresources with theirs.

import type { GroupVersionKind } from "@postern/apimachinery/meta/group-version";
import type { ResourceDefinition, ResourceVerb, Subresource } from "../../registry/resource-definition.ts";

/** The order in which custom resources list their verbs. */
const VERBS: readonly ResourceVerb[] = [
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "create",
  "update",
  "watch",
];

export type ServedSubresource = {
  readonly name: string;
  readonly kind: GroupVersionKind;
  readonly verbs: readonly string[];
  /** Absent for status and scale. */
  readonly definition?: Subresource;
};

/** autoscaling/v1 Scale. */
export const SCALE_KIND: GroupVersionKind = { group: "autoscaling", version: "v1", kind: "Scale" };

const UPDATABLE = ["get", "patch", "update"];
const CONNECT_VERBS = ["create", "delete", "get", "patch", "update"];

export function servedVerbs({ verbs, submit }: ResourceDefinition): readonly ResourceVerb[] {
  const served = verbs ?? (submit === undefined ? VERBS : ["create" as const]);
  return VERBS.filter((verb) => served.includes(verb));
}

/** Status and scale first, then the resource's own in their order. */
export function servedSubresources(resource: ResourceDefinition): readonly ServedSubresource[] {
  const { group, version, kind, hasStatus = false, scale, subresources = [] } = resource;
  return [
    ...(hasStatus ? [{ name: "status", kind: { group, version, kind }, verbs: UPDATABLE }] : []),
    ...(scale === undefined ? [] : [{ name: "scale", kind: SCALE_KIND, verbs: UPDATABLE }]),
    ...subresources.map((definition) => ({
      name: definition.name,
      kind: definition.kind,
      verbs: subresourceVerbs(definition),
      definition,
    })),
  ];
}

function subresourceVerbs({ get, create, connect }: Subresource): readonly string[] {
  if (connect !== undefined) return CONNECT_VERBS;
  return [...(create === undefined ? [] : ["create"]), ...(get === undefined ? [] : ["get"])];
}
