// Whether a client certificate reaches no further than the access key that it was issued for.

import type { AccessKeyRestrictions, AccessKeyRule } from "@postern/api/access-key-restrictions";
import type { PlatformNames } from "@postern/api/platform-names";
import type { AccessKeyState } from "../access-keys/access-key-state.ts";
import { isForAudience } from "../access-keys/audiences.ts";
import { isPermissionSubset } from "../access-keys/validity/permission-subset.ts";
import { virtualClusterIdentity } from "../authorization/caller.ts";
import type { IssuedTo } from "./issued-certificate.ts";

/** Whether all that the key opens includes the whole virtual cluster, and the key is for it. */
export const keyReaches = (
  { restrictions, audiences }: Pick<AccessKeyState, "restrictions" | "audiences">,
  place: Pick<IssuedTo, "project" | "virtualCluster">,
  names: Pick<PlatformNames, "name" | "projectNamespace">,
): boolean =>
  certificateIsWithin(place, restrictions, names) &&
  isForAudience(audiences, virtualClusterIdentity(names, names.projectNamespace(place.project), place.virtualCluster));

/**
 * A certificate has all permissions of its user in one virtual cluster: its requests are not limited further. So a key has to open all of that
 * virtual cluster, by its scope and by each of its rule sets.
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
  return isPermissionSubset({ scope, ruleSets: [[all]] }, restrictions);
}
