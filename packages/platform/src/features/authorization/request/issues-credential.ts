// Detects requests that issue credentials of a cluster behind the proxy: the limits of the key do not apply to those.

import { CREDENTIAL_KINDS } from "../credential-kinds.ts";
import type { TargetedRequest } from "./platform-request.ts";

/** ServiceAccount tokens, approvals of certificates, and policies, whose expressions read what they match. */
const CREDENTIAL_REQUESTS = CREDENTIAL_KINDS.filter(
  ({ surface, allowsAll }) => surface === "cluster" && allowsAll === true,
);
const READS: readonly string[] = ["get", "list", "watch"];

/** A question about all resources (`*`) is one about these too. */
export function issuesCredential({
  isResourceRequest,
  verb,
  apiGroup,
  resource,
  subresource,
}: Pick<TargetedRequest, "isResourceRequest" | "verb" | "apiGroup" | "resource" | "subresource">): boolean {
  if (!isResourceRequest || READS.includes(verb)) return false;
  return CREDENTIAL_REQUESTS.some((handing) => {
    if (apiGroup !== handing.group && apiGroup !== "*") return false;
    if (resource === "*" && subresource === "") return true;
    const isAll = resource === "*" || resource === handing.resource;
    return isAll && (subresource === handing.subresource || subresource === "*");
  });
}
