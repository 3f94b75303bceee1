// ClusterRoles: permissions in the whole cluster, or in one namespace through a RoleBinding.
// Source: k8s.io/kubernetes/pkg/registry/rbac/clusterrole/strategy.go

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, indexPath, requiredError } from "@postern/apimachinery/validation/field-error";
import { validateLabelSelector } from "@postern/apimachinery/validation/labels";
import { RBAC_GROUP } from "@postern/apiserver/authorization/rbac/policy-rule";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { createdAtColumn, defineBuiltin } from "../builtin-resource.ts";
import type { EscalationCheck } from "./escalation-check.ts";
import { labelSelector, policyRules } from "./rbac-fields.ts";
import { roleStrategy, withRules } from "./role-strategy.ts";
import { validateRules } from "./validate-role.ts";

const clusterRoleFields = s.object({
  rules: policyRules,
  aggregationRule: s.object({
    clusterRoleSelectors: s.list(labelSelector),
  }),
});

type ClusterRole = KindOf<typeof clusterRoleFields>;

const validateClusterRole = (role: ClusterRole): readonly FieldError[] => [
  ...validateRules(role),
  ...validateAggregation(role),
];

function validateAggregation({ aggregationRule }: ClusterRole): readonly FieldError[] {
  if (aggregationRule === undefined) return [];
  const path = "aggregationRule.clusterRoleSelectors";
  const selectors = aggregationRule.clusterRoleSelectors ?? [];
  if (selectors.length === 0) {
    return [requiredError(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")];
  }
  return selectors.flatMap((selector, index) => validateLabelSelector(selector, indexPath(path, index)));
}

export const clusterRoles = (escalation: EscalationCheck): ResourceDefinition =>
  defineBuiltin({
    group: RBAC_GROUP,
    version: "v1",
    kind: "ClusterRole",
    plural: "clusterroles",
    namespaced: false,
    schema: kindSchema(clusterRoleFields.schema),
    columns: [createdAtColumn],
    strategy: roleStrategy(escalation, validateClusterRole),
    setDefaults: withRules,
  });
