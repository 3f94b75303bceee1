// Tells requests for the keys of control planes. They have no end and ask about everybody, so that no narrowed key reaches one: neither by
// an entry of its scope nor by a rule, whatever those name.

import type { PlatformNames } from "../platform-names.ts";
import type { PlatformRequest } from "./request-target.ts";

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
