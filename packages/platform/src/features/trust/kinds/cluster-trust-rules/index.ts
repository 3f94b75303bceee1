// ClusterTrustRules: which external tokens are accepted, and what they grant on the whole platform.

import { defineResource, type ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { CLUSTER_TRUST_RULES } from "../../trust-rule-state.ts";
import { sharedByTrustRules, type TrustRuleResourceDeps } from "../trust-rules/index.ts";

export const clusterTrustRules = (deps: TrustRuleResourceDeps): ResourceDefinition =>
  defineResource({
    ...sharedByTrustRules(deps),
    kind: "ClusterTrustRule",
    plural: CLUSTER_TRUST_RULES,
    singular: "clustertrustrule",
    namespaced: false,
  });
