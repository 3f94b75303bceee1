// The kinds whose lists are filtered instead of refused: every user may list them, and sees the objects that it may get.

import type { PlatformNames } from "@postern/api/platform-names";
import type { PlatformRequest } from "./request/platform-request.ts";

export const FILTERED_RESOURCES = [
  "projects",
  "clusters",
  "users",
  "teams",
  "virtualclusterinstances",
  "spaceinstances",
] as const;

/** All of them are served in the management group. */
export type FilteredResource = (typeof FILTERED_RESOURCES)[number];

export const isFilteredResource = (resource: string): resource is FilteredResource =>
  (FILTERED_RESOURCES as readonly string[]).includes(resource); // Widened: the question is whether it is one of them.

export const isInstanceResource = (resource: string): resource is InstanceResource =>
  resource === "virtualclusterinstances" || resource === "spaceinstances";

/** Kinds in the namespace of a project that have an owner. */
export type InstanceResource = "virtualclusterinstances" | "spaceinstances";

export const isFilteredList = (
  { target, inner }: PlatformRequest,
  { managementGroup }: Pick<PlatformNames, "managementGroup">,
): boolean =>
  target === "Management" &&
  inner.isResourceRequest &&
  (inner.verb === "list" || inner.verb === "watch") &&
  inner.subresource === "" &&
  inner.apiGroup === managementGroup &&
  isFilteredResource(inner.resource);
