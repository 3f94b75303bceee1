// The verbs and subresources of a resource in discovery and OpenAPI.

import type { GroupVersionKind } from "@postern/apimachinery/meta/group-version";
import {
  type ConnectMethod,
  PART_VERBS,
  type ResourceDefinition,
  type ResourceVerb,
  type Subresource,
} from "../../registry/resource-definition.ts";

/** The order in which custom resources list their verbs; built-in kinds list theirs by name. */
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

const CONNECT_VERBS: { readonly [method in ConnectMethod]: string } = {
  post: "create",
  delete: "delete",
  get: "get",
  patch: "patch",
  put: "update",
};

export const CONNECT_METHODS: readonly ConnectMethod[] = ["get", "put", "post", "delete", "patch"];

export function servedVerbs({ verbs, submit, strategicMergePatch }: ResourceDefinition): readonly ResourceVerb[] {
  const all = verbs ?? (submit === undefined ? VERBS : ["create" as const]);
  const served = VERBS.filter((verb) => all.includes(verb));
  return strategicMergePatch === true ? served.sort() : served;
}

/** Status and scale first, then the resource's own in their order; those of built-in kinds by name. */
export function servedSubresources(resource: ResourceDefinition): readonly ServedSubresource[] {
  const { group, version, kind, hasStatus = false, scale, subresources = [], strategicMergePatch = false } = resource;
  const served = [
    ...(hasStatus ? [{ name: "status", kind: { group, version, kind }, verbs: PART_VERBS }] : []),
    ...(scale === undefined ? [] : [{ name: "scale", kind: SCALE_KIND, verbs: PART_VERBS }]),
    ...subresources.map((definition) => ({
      name: definition.name,
      kind: definition.kind,
      verbs: subresourceVerbs(definition),
      definition,
    })),
  ];
  return strategicMergePatch ? served.sort((a, b) => (a.name < b.name ? -1 : 1)) : served;
}

function subresourceVerbs(subresource: Subresource): readonly string[] {
  const { get, create, connect, connectMethods = CONNECT_METHODS, updates, verbs = PART_VERBS } = subresource;
  if (connect !== undefined) return connectMethods.map((method) => CONNECT_VERBS[method]).sort();
  const creates = create === undefined ? [] : ["create"];
  if (updates !== undefined) return [...creates, ...verbs];
  return [...creates, ...(get === undefined ? [] : ["get"])];
}
