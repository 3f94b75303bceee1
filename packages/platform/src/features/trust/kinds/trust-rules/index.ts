// TrustRules: which external tokens are accepted in a project, and what they grant. ClusterTrustRules share this code.

import { issuerUrlOf } from "@postern/api/issuer-presets";
import { type TrustRule, trustRuleFields } from "@postern/api/trust-rule";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import {
  defineResource,
  type PrinterColumn,
  type ResourceDefinition,
} from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ageColumn } from "@postern/kubernetes/builtin/builtin-resource";
import { readyMessageColumn, readyText } from "../../../../foundation/kinds/state-columns.ts";
import type { Trust } from "../../feature.ts";
import { TRUST_RULES } from "../../trust-rule-state.ts";
import { type TrustRuleDeps, trustRuleSealedFields, trustRuleStrategy } from "./strategy.ts";
import { testToken } from "./subresources/test.ts";

export const trustRules = (trust: Trust, deps: TrustRuleDeps): ResourceDefinition =>
  defineResource({
    ...sharedByTrustRules(trust, deps),
    kind: "TrustRule",
    plural: TRUST_RULES,
    namespaced: true,
  });

/** Parts that both scopes have in common. */
export const sharedByTrustRules = (trust: Trust, deps: TrustRuleDeps) => ({
  group: deps.names.managementGroup,
  version: "v1",
  schema: kindSchema(trustRuleFields.schema),
  hasStatus: true,
  subresources: [testToken(deps.names, trust)],
  selectableFields: [".spec.user"],
  columns,
  // The registry gives a strategy only objects that its schema has checked.
  strategy: trustRuleStrategy(deps) as Strategy,
  sealed: trustRuleSealedFields(deps),
});

/** The store holds no other kind under these resources. */
const specOf = (rule: KubeObject): TrustRule["spec"] => (rule as TrustRule).spec;

const columns: readonly PrinterColumn[] = [
  { name: "Issuer", type: "string", description: "Issuer of the tokens.", value: (rule) => issuerOf(rule) },
  { name: "User", type: "string", description: "User that keys are issued for.", value: ".spec.user" },
  {
    name: "Ready",
    type: "string",
    description: "Ready, or the reason why tokens are refused.",
    value: readyText,
  },
  readyMessageColumn,
  { name: "TTL", type: "integer", priority: 1, description: "TTL of issued keys, in seconds.", value: ".spec.ttl" },
  ageColumn,
];

const issuerOf = (rule: KubeObject): string => {
  const { issuer } = specOf(rule);
  return issuer.preset ?? issuerUrlOf(issuer);
};
