// RoleBindings and ClusterRoleBindings: who has a role in one namespace, or in the whole cluster.
// Source: k8s.io/kubernetes/pkg/registry/rbac/rolebinding/strategy.go

import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { RBAC_GROUP } from "@postern/apiserver/authorization/rbac/policy-rule";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { defineBuiltin } from "../builtin-resource.ts";
import { bindingColumns, bindingStrategy } from "./binding-strategy.ts";
import type { EscalationCheck } from "./escalation-check.ts";
import { bindingFields } from "./rbac-fields.ts";

const fields = bindingFields();

export const roleBindings = (escalation: EscalationCheck): ResourceDefinition =>
  defineBuiltin({
    group: RBAC_GROUP,
    version: "v1",
    kind: "RoleBinding",
    plural: "rolebindings",
    namespaced: true,
    schema: kindSchema(fields.schema),
    columns: bindingColumns,
    strategy: bindingStrategy(escalation),
  });

// ClusterRoleBindings: who has a role everywhere.
// Source: k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding/strategy.go

const clusterWideFields = bindingFields();

export const clusterRoleBindings = (escalation: EscalationCheck): ResourceDefinition =>
  defineBuiltin({
    group: RBAC_GROUP,
    version: "v1",
    kind: "ClusterRoleBinding",
    plural: "clusterrolebindings",
    namespaced: false,
    schema: kindSchema(clusterWideFields.schema),
    columns: bindingColumns,
    strategy: bindingStrategy(escalation),
  });
