// The unaggregated discovery documents, one per group and version.
// Source: k8s.io/apiserver/pkg/endpoints/discovery/{root,group,version,legacy}.go

import { createHash } from "node:crypto";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { formatApiVersion } from "@postern/apimachinery/meta/group-version";
import { isStored, type ResourceDefinition, singularOf } from "../../registry/resource-definition.ts";
import type { ApiGroup, ApiVersion } from "./api-groups.ts";
import { type ServedSubresource, servedSubresources, servedVerbs } from "./served-resource.ts";

/** `/api`: the versions of the core group, and where this server is reached. Upstream leaves apiVersion out. */
export const apiVersions = (core: ApiGroup | undefined, serverAddress: string): JsonObject => ({
  kind: "APIVersions",
  versions: core?.versions.map(({ version }) => version) ?? [],
  serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress }],
});

/** `/apis`: every group but the core one. */
export const apiGroupList = (groups: readonly ApiGroup[]): JsonObject => ({
  kind: "APIGroupList",
  apiVersion: "v1",
  groups: groups.filter(({ name }) => name !== "").map(groupMembers),
});

/** `/apis/<group>`. */
export const apiGroup = (group: ApiGroup): JsonObject => ({
  kind: "APIGroup",
  apiVersion: "v1",
  ...groupMembers(group),
});

function groupMembers({ name, versions }: ApiGroup): JsonObject {
  const discovered = versions.map((version) => ({
    groupVersion: formatApiVersion(version),
    version: version.version,
  }));
  return { name, versions: discovered, preferredVersion: discovered[0] };
}

/** `/apis/<group>/<version>` and `/api/v1`, where upstream leaves apiVersion out. */
export const apiResourceList = (version: ApiVersion, textOf: (resource: ResourceDefinition) => string): string => {
  const head = stringifyJson({
    kind: "APIResourceList",
    ...(version.group === "" ? {} : { apiVersion: "v1" }),
    groupVersion: formatApiVersion(version),
  });
  return `${head.slice(0, -1)},"resources":[${version.resources.map(textOf).join(",")}]}`;
};

/** A resource and its subresources, for `apiResourceList`. */
export const apiResources = (resource: ResourceDefinition): readonly JsonObject[] => [
  apiResource(resource),
  ...servedSubresources(resource).map((subresource) => apiSubresource(resource, subresource)),
];

function apiResource(resource: ResourceDefinition): JsonObject {
  const { plural, namespaced, kind, shortNames = [], categories = [] } = resource;
  const verbs = servedVerbs(resource);
  return {
    name: plural,
    singularName: singularOf(resource),
    namespaced,
    kind,
    verbs,
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(isStored(resource) ? { storageVersionHash: storageVersionHash(resource) } : {}),
  };
}

function apiSubresource(resource: ResourceDefinition, { name, kind, verbs }: ServedSubresource): JsonObject {
  const foreign = kind.group !== resource.group || kind.version !== resource.version;
  return {
    name: `${resource.plural}/${name}`,
    singularName: "",
    namespaced: resource.namespaced,
    ...(foreign ? { group: kind.group, version: kind.version } : {}),
    kind: kind.kind,
    verbs,
  };
}

/** Changes when objects begin to be stored in another version, and is the same for all versions that are served. */
export function storageVersionHash({ storedAs, ...served }: ResourceDefinition): string {
  // A view of another kind keeps its own: its objects are not those of that kind to clients.
  const isVersion = storedAs !== undefined && storedAs.kind === served.kind && storedAs.group === served.group;
  const { group, version, kind } = isVersion ? storedAs : served;
  return createHash("sha256").update(`${group}/${version}/${kind}`).digest().subarray(0, 8).toString("base64");
}
