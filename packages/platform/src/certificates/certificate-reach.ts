// Whether a client certificate reaches no further than the key that it was issued to.

import { isWithin } from "../access-keys/is-within.ts";
import type { AccessKeyRestrictions, AccessKeyRule } from "../api/access-key-restrictions.ts";
import type { PlatformNames } from "../platform-names.ts";
import type { IssuedTo } from "./issued-certificate.ts";

/**
 * A certificate opens everything that its holder may do in one virtual cluster: nobody narrows what it asks for there, request by
 * request. So a key has to open all of that virtual cluster, by its scope and by each of its rule sets.
 */
export function certificateIsWithin(
  { project, virtualCluster }: Pick<IssuedTo, "project" | "virtualCluster">,
  restrictions: AccessKeyRestrictions | undefined,
  { projectNamespace }: Pick<PlatformNames, "projectNamespace">,
): boolean {
  const all: AccessKeyRule = {
    verbs: ["*"],
    resources: [],
    namespaces: [],
    nonResourceURLs: [],
    requestTargets: ["ProjectVirtualCluster"],
    cluster: "",
    virtualClusters: [{ name: virtualCluster, namespace: projectNamespace(project) }],
  };
  const scope = { roles: [], projects: [], spaces: [], virtualClusters: [{ project, virtualCluster }], clusters: [] };
  return isWithin({ scope, ruleSets: [[all]] }, restrictions);
}
