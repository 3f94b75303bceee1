// ClusterAccessPolicies: who may ask for which access on the whole platform.

import { defineResource, type ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { CLUSTER_ACCESS_POLICIES } from "../../access-policies.ts";
import { type AccessPolicyResourceDeps, sharedByAccessPolicies } from "../access-policies/index.ts";

export const clusterAccessPolicies = (deps: AccessPolicyResourceDeps): ResourceDefinition =>
  defineResource({
    ...sharedByAccessPolicies(deps, CLUSTER_ACCESS_POLICIES),
    kind: "ClusterAccessPolicy",
    plural: CLUSTER_ACCESS_POLICIES,
    singular: "clusteraccesspolicy",
    namespaced: false,
  });
