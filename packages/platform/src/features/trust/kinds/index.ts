// The kinds TrustRule and ClusterTrustRule.

import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Foundation } from "../../../foundation/foundation.ts";
import type { AccessKeys } from "../../access-keys/feature.ts";
import type { Authorization } from "../../authorization/feature.ts";
import type { Directory } from "../../directory/directory.ts";
import type { Trust } from "../feature.ts";
import { clusterTrustRules } from "./cluster-trust-rules/index.ts";
import { trustRules } from "./trust-rules/index.ts";

export type TrustKindsNeeds = {
  readonly trust: Trust;
  readonly keys: AccessKeys;
  readonly directory: Directory;
  readonly authorization: Authorization;
};

export function trustKinds(
  { names, configuration }: Foundation,
  { trust, keys, directory, authorization }: TrustKindsNeeds,
): { readonly [kind in "trustRules" | "clusterTrustRules"]: ResourceDefinition } {
  const { authorizer, ruleResolver, checkMembership } = authorization;
  const { rules } = trust;
  const deps = { names, configuration, keys: keys.index, directory, authorizer, ruleResolver, checkMembership, rules };
  return { trustRules: trustRules(trust, deps), clusterTrustRules: clusterTrustRules(trust, deps) };
}
