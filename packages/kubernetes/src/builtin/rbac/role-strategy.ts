// The common strategy of Roles and ClusterRoles.
// Source: k8s.io/kubernetes/pkg/registry/rbac/{role,clusterrole}/strategy.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { FieldError } from "@postern/apimachinery/validation/field-error";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import type { EscalationCheck } from "./escalation-check.ts";
import { validateRbacName } from "./validate-role.ts";

/** Go encodes an empty list as null in a field without omitempty. */
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
