// The common strategy and columns of RoleBindings and ClusterRoleBindings.
// Source: k8s.io/kubernetes/pkg/registry/rbac/{rolebinding,clusterrolebinding}/strategy.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { readBinding } from "@postern/apiserver/authorization/rbac/role-binding";
import type { PrinterColumn } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ageColumn } from "../builtin-resource.ts";
import type { EscalationCheck } from "./escalation-check.ts";
import {
  type RbacBindingObject,
  validateBinding,
  validateBindingUpdate,
  validateRbacName,
  withBindingDefaults,
} from "./validate-role.ts";

export const bindingStrategy = (escalation: EscalationCheck): Strategy<RbacBindingObject> => ({
  validateName: validateRbacName,
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,
  async prepareForCreate(binding, context) {
    const completed = withBindingDefaults(binding);
    await escalation.binding(completed, undefined, context);
    return completed;
  },
  async prepareForUpdate(binding, old, context) {
    const completed = withBindingDefaults(binding);
    await escalation.binding(completed, old, context);
    return completed;
  },
  validate: validateBinding,
  validateUpdate: validateBindingUpdate,
});

const namesOf = (binding: KubeObject, kind: string): string =>
  readBinding(binding)
    .subjects.filter((subject) => subject.kind === kind)
    .map(({ name, namespace }) => (kind === "ServiceAccount" ? `${namespace}/${name}` : name))
    .join(", ");

const subjectsColumn = (name: string, kind: string): PrinterColumn => ({
  name,
  type: "string",
  value: (binding) => namesOf(binding, kind),
});

export const bindingColumns: readonly PrinterColumn[] = [
  {
    name: "Role",
    type: "string",
    value: (binding) => {
      const { kind, name } = readBinding(binding).roleRef;
      return `${kind}/${name}`;
    },
  },
  ageColumn,
  subjectsColumn("Users", "User"),
  subjectsColumn("Groups", "Group"),
  subjectsColumn("ServiceAccounts", "ServiceAccount"),
];
