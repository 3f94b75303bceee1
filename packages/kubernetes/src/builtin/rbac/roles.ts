// Roles and ClusterRoles: what is allowed in one namespace, or in the whole cluster.
// Source: k8s.io/kubernetes/pkg/registry/rbac/role/strategy.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, indexPath, requiredError } from "@postern/apimachinery/validation/field-error";
import { validateLabelSelector } from "@postern/apimachinery/validation/labels";
import { RBAC_GROUP } from "@postern/apiserver/authorization/rbac/policy-rule";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { createdAtColumn, defineBuiltin } from "../builtin-resource.ts";
import type { EscalationCheck } from "./escalation-check.ts";
import { labelSelector, policyRules } from "./rbac-fields.ts";
import { validateRbacName, validateRules } from "./validate-role.ts";

const roleFields = s
  .object({ rules: policyRules })
  .describe("Role is a namespaced, logical grouping of PolicyRules that can be referenced as a unit by a RoleBinding.");

export const roles = (escalation: EscalationCheck): ResourceDefinition =>
  defineBuiltin({
    group: RBAC_GROUP,
    version: "v1",
    kind: "Role",
    plural: "roles",
    singular: "role",
    namespaced: true,
    schema: kindSchema(roleFields.schema),
    columns: [createdAtColumn],
    strategy: roleStrategy(escalation, validateRules),
    setDefaults: withRules,
  });

// The strategy that Roles and ClusterRoles have in common.
// Source: k8s.io/kubernetes/pkg/registry/rbac/{role,clusterrole}/strategy.go

/** Go writes a list without items as null where it is never left out. */
export const withRules = (role: KubeObject): KubeObject =>
  role["rules"] === undefined ? { ...role, rules: null } : role;

export const roleStrategy = <T extends KubeObject>(
  escalation: EscalationCheck,
  validate: (role: T) => readonly FieldError[],
): Strategy<T> => ({
  validateName: validateRbacName,
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,
  async prepareForCreate(role, context) {
    await escalation.role(role, undefined, context);
    return role;
  },
  async prepareForUpdate(role, old, context) {
    await escalation.role(role, old, context);
    return role;
  },
  validate,
  validateUpdate: validate,
});

// ClusterRoles: what is allowed in the whole cluster, or in a namespace through a RoleBinding.
// Source: k8s.io/kubernetes/pkg/registry/rbac/clusterrole/strategy.go

const clusterRoleFields = s
  .object({
    rules: policyRules,
    aggregationRule: s
      .object({
        clusterRoleSelectors: s
          .list(labelSelector)
          .describe(
            "ClusterRoleSelectors holds a list of selectors which will be used to find ClusterRoles and create the rules.",
          ),
      })
      .describe("AggregationRule describes how to locate ClusterRoles to aggregate into the ClusterRole"),
  })
  .describe(
    "ClusterRole is a cluster level, logical grouping of PolicyRules that can be referenced as a unit by a RoleBinding or ClusterRoleBinding.",
  );

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
    singular: "clusterrole",
    namespaced: false,
    schema: kindSchema(clusterRoleFields.schema),
    columns: [createdAtColumn],
    strategy: roleStrategy(escalation, validateClusterRole),
    setDefaults: withRules,
  });
