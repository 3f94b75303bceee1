// Detects requests for the keys of control planes, and for the values that agents get theirs for. Such a key never expires and reviews the requests of all users, so that no restricted key reaches
// one: neither by an entry of its scope nor by a rule, whatever those name.

import type { PlatformNames } from "@postern/api/platform-names";
import type { PlatformRequest } from "./platform-request.ts";

/** A question about all resources, or all subresources, is one about these too. */
export function isControlPlaneKeyRequest(
  { target, inner }: PlatformRequest,
  { managementGroup }: Pick<PlatformNames, "managementGroup">,
): boolean {
  if (target !== "Management" || !inner.isResourceRequest) return false;
  const { apiGroup, resource, subresource } = inner;
  if (apiGroup !== managementGroup && apiGroup !== "*") return false;
  if (subresource !== "accesskey" && subresource !== "join" && subresource !== "*") return false;
  return resource === "virtualclusterinstances" || resource === "clusters" || resource === "*";
}
