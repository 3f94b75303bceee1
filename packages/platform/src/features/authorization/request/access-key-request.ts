// Detects requests for access keys, which no scope entry allows.

import { KEY_SUBRESOURCES } from "@postern/api/access-key-restrictions";
import type { PlatformNames } from "@postern/api/platform-names";
import type { TargetedRequest } from "./platform-request.ts";

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
