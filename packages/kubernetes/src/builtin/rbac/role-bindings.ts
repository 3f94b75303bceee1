// RoleBindings and ClusterRoleBindings: who has a role in one namespace, or in the whole cluster.
// Source: k8s.io/kubernetes/pkg/registry/rbac/rolebinding/strategy.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { RBAC_GROUP } from "@postern/apiserver/authorization/rbac/policy-rule";
import { readBinding } from "@postern/apiserver/authorization/rbac/role-binding";
import type { PrinterColumn, ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import type { EscalationCheck } from "./escalation-check.ts";
import { bindingFields } from "./rbac-fields.ts";
import {
  type RbacBindingObject,
  validateBinding,
  validateBindingUpdate,
  validateRbacName,
  withBindingDefaults,
} from "./validate-role.ts";

const description = "Gives a role to users, groups and service accounts in one namespace.";

export const roleBindings = (escalation: EscalationCheck): ResourceDefinition =>
  defineBuiltin({
    group: RBAC_GROUP,
    version: "v1",
    kind: "RoleBinding",
    plural: "rolebindings",
    singular: "rolebinding",
    namespaced: true,
    schema: kindSchema(bindingFields.describe(description).schema),
    columns: bindingColumns,
    strategy: bindingStrategy(escalation),
  });

// Common parts of RoleBindings and ClusterRoleBindings: their strategy and their columns.
// Source: k8s.io/kubernetes/pkg/registry/rbac/{rolebinding,clusterrolebinding}/strategy.go

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
  priority: 1,
  description: `The subjects of kind ${kind}.`,
  value: (binding) => namesOf(binding, kind),
});

export const bindingColumns: readonly PrinterColumn[] = [
  {
    name: "Role",
    type: "string",
    description: "Role that the binding grants.",
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

// ClusterRoleBindings: who has a role everywhere.
// Source: k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding/strategy.go

const clusterWideDescription = "Gives a ClusterRole to users, groups and service accounts in the whole cluster.";

export const clusterRoleBindings = (escalation: EscalationCheck): ResourceDefinition =>
  defineBuiltin({
    group: RBAC_GROUP,
    version: "v1",
    kind: "ClusterRoleBinding",
    plural: "clusterrolebindings",
    singular: "clusterrolebinding",
    namespaced: false,
    schema: kindSchema(bindingFields.describe(clusterWideDescription).schema),
    columns: bindingColumns,
    strategy: bindingStrategy(escalation),
  });
