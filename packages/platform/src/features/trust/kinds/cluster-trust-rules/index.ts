// ClusterTrustRules: which external tokens are accepted, and what they grant on the whole platform.

import { defineResource, type ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Trust } from "../../feature.ts";
import { CLUSTER_TRUST_RULES } from "../../trust-rule-state.ts";
import { sharedByTrustRules } from "../trust-rules/index.ts";
import type { TrustRuleDeps } from "../trust-rules/strategy.ts";

export const clusterTrustRules = (trust: Trust, deps: TrustRuleDeps): ResourceDefinition =>
  defineResource({
    ...sharedByTrustRules(trust, deps),
    kind: "ClusterTrustRule",
    plural: CLUSTER_TRUST_RULES,
    namespaced: false,
  });
