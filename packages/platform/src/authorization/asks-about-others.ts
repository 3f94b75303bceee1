// Tells what a control plane asks the platform about those who come to it: who is this, and may they?

import type { PlatformNames } from "../platform-names.ts";
import type { TargetedRequest } from "./request-target.ts";

/** The verb on `selves` that is asked of a caller who wants to know about another key than its own. */
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
