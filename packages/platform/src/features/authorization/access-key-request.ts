// Detects requests for access keys, which no scope entry allows.

import { KEY_SUBRESOURCES } from "@postern/api/access-key-restrictions";
import type { PlatformNames } from "@postern/api/platform-names";
import type { PlatformRequest, TargetedRequest } from "./platform-request.ts";

/** A question about all cluster-scoped resources (`*`, in an access review) is one about access keys too. */
export function isAccessKeyRequest(
  { isResourceRequest, apiGroup, resource, subresource, namespace }: TargetedRequest,
  { managementGroup, storageGroup }: Pick<PlatformNames, "managementGroup" | "storageGroup">,
): boolean {
  if (!isResourceRequest) return false;
  const isIn = (group: string): boolean => apiGroup === group || apiGroup === "*";
  const isAll = resource === "*" && namespace === "";
  if (isIn(storageGroup) && (resource === "accesskeys" || isAll)) return true;
  if (!isIn(managementGroup)) return false;
  if (resource === "ownedaccesskeys" || isAll) return true;
  return (resource === "users" || resource === "teams") && KEY_SUBRESOURCES.includes(subresource);
}

// Detects requests for the keys of control planes. They never expire and ask about everybody, so that no narrowed key reaches one: neither by
// an entry of its scope nor by a rule, whatever those name.

/** A question about all resources, or all subresources, is one about these too. */
export function isControlPlaneKeyRequest(
  { target, inner }: PlatformRequest,
  { managementGroup }: Pick<PlatformNames, "managementGroup">,
): boolean {
  if (target !== "Management" || !inner.isResourceRequest) return false;
  const { apiGroup, resource, subresource } = inner;
  if (apiGroup !== managementGroup && apiGroup !== "*") return false;
  if (subresource !== "accesskey" && subresource !== "*") return false;
  return resource === "virtualclusterinstances" || resource === "clusters" || resource === "*";
}
