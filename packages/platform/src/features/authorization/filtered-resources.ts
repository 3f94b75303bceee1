// The kinds whose lists are filtered instead of refused: every user may list them, and sees the objects that it may get.

import { CLUSTER_INVENTORY_GROUP } from "@postern/api/cluster-profile";
import type { PlatformNames } from "@postern/api/platform-names";
import type { PlatformRequest, TargetedRequest } from "./request/platform-request.ts";

export const FILTERED_RESOURCES = [
  "projects",
  "clusters",
  "users",
  "teams",
  "virtualclusterinstances",
  "spaceinstances",
  "clusterprofiles",
] as const;

export type FilteredResource = (typeof FILTERED_RESOURCES)[number];

export const isFilteredResource = (resource: string): resource is FilteredResource =>
  (FILTERED_RESOURCES as readonly string[]).includes(resource); // Widened: the question is whether it is one of them.

export const isInstanceResource = (resource: string): resource is InstanceResource =>
  resource === "virtualclusterinstances" || resource === "spaceinstances";

/** Kinds in the namespace of a project that have an owner. */
export type InstanceResource = "virtualclusterinstances" | "spaceinstances";

/** Kinds in the namespace of a project: instances, and what is made of them. */
export const isInProject = (resource: FilteredResource): boolean =>
  isInstanceResource(resource) || resource === "clusterprofiles";

/** The group that serves the kind. */
export const groupOfFiltered = (
  resource: FilteredResource,
  { managementGroup }: Pick<PlatformNames, "managementGroup">,
): string => (resource === "clusterprofiles" ? CLUSTER_INVENTORY_GROUP : managementGroup);

const READS: readonly string[] = ["get", "list", "watch"];

/**
 * To read a ClusterProfile, as reading the virtual cluster that it is made of; every other request as it is. Its owner, its access list and the scopes
 * of keys decide by it.
 */
export function aboutInstance(
  request: TargetedRequest,
  { managementGroup }: Pick<PlatformNames, "managementGroup">,
): TargetedRequest {
  const { apiGroup, resource, subresource, verb } = request;
  const isProfile = resource === "clusterprofiles" && apiGroup === CLUSTER_INVENTORY_GROUP;
  if (!isProfile || subresource !== "" || !READS.includes(verb)) return request;
  return { ...request, apiGroup: managementGroup, resource: "virtualclusterinstances" };
}

export const isFilteredList = (
  { target, inner }: PlatformRequest,
  names: Pick<PlatformNames, "managementGroup">,
): boolean =>
  target === "Management" &&
  inner.isResourceRequest &&
  (inner.verb === "list" || inner.verb === "watch") &&
  inner.subresource === "" &&
  isFilteredResource(inner.resource) &&
  inner.apiGroup === groupOfFiltered(inner.resource, names);
