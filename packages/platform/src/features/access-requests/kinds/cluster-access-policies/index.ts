// ClusterAccessPolicies: who may ask for which access on the whole platform.

import { defineResource, type ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Foundation } from "../../../../foundation/foundation.ts";
import { CLUSTER_ACCESS_POLICIES } from "../../access-policies.ts";
import { sharedByAccessPolicies } from "../access-policies/index.ts";
import type { AccessRequestNeeds } from "../needs.ts";

export const clusterAccessPolicies = (base: Foundation, needs: AccessRequestNeeds): ResourceDefinition =>
  defineResource({
    ...sharedByAccessPolicies(base, needs, CLUSTER_ACCESS_POLICIES),
    kind: "ClusterAccessPolicy",
    plural: CLUSTER_ACCESS_POLICIES,
    namespaced: false,
  });
