// Detects the reviews that a control plane sends to the platform about its own clients.

import type { PlatformNames } from "@postern/api/platform-names";
import type { TargetedRequest } from "./platform-request.ts";

/** The verb on `selves` for callers that ask about a key other than their own. */
export const INTROSPECT_VERB = "introspect";

/** Token reviews, access reviews, and introspection of other keys. */
export function asksAboutOthers(inner: TargetedRequest, { managementGroup }: PlatformNames): boolean {
  const { isResourceRequest, verb, apiGroup, resource, subresource, namespace } = inner;
  if (!isResourceRequest || subresource !== "" || namespace !== "") return false;
  if (verb === INTROSPECT_VERB) return apiGroup === managementGroup && resource === "selves";
  if (verb !== "create") return false;
  if (resource === "tokenreviews") return apiGroup === "authentication.k8s.io";
  return resource === "subjectaccessreviews" && (apiGroup === "authorization.k8s.io" || apiGroup === managementGroup);
}
