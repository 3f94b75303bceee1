// The ClusterRoles that every cluster begins with, and those of a management API, with the rules that aggregated ones have from the start.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { BOOTSTRAP_CLUSTER_ROLES, CLUSTER_KIND_ROLES } from "../builtin/rbac/bootstrap-policy.ts";
import { withAggregatedRules } from "../controllers/role-aggregation/aggregated-rules.ts";

let ofManagement: readonly KubeObject[] | undefined;
let ofCluster: readonly KubeObject[] | undefined;

/** Joining the rules takes milliseconds: once, however many clusters start. `isCluster`: with the roles for the kinds of a cluster. */
export function firstRoles(isCluster: boolean): readonly KubeObject[] {
  if (!isCluster) {
    ofManagement ??= withAggregatedRules(BOOTSTRAP_CLUSTER_ROLES);
    return ofManagement;
  }
  ofCluster ??= withAggregatedRules([...BOOTSTRAP_CLUSTER_ROLES, ...CLUSTER_KIND_ROLES]);
  return ofCluster;
}
