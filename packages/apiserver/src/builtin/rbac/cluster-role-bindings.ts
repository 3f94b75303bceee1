// ClusterRoleBindings: who has a role everywhere.
// Source: k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding/strategy.go

import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { RBAC_GROUP } from "../../authorization/rbac/policy-rule.ts";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import { defineBuiltin } from "../builtin-resource.ts";
import { bindingColumns, bindingStrategy } from "./binding-resource.ts";
import type { EscalationCheck } from "./escalation-check.ts";
import { bindingFields } from "./rbac-fields.ts";

const description = "Gives a ClusterRole to users, groups and service accounts in the whole cluster.";

export const clusterRoleBindings = (escalation: EscalationCheck): ResourceDefinition =>
  defineBuiltin({
    group: RBAC_GROUP,
    version: "v1",
    kind: "ClusterRoleBinding",
    plural: "clusterrolebindings",
    singular: "clusterrolebinding",
    namespaced: false,
    schema: kindSchema(bindingFields.describe(description).schema),
    columns: bindingColumns,
    strategy: bindingStrategy(escalation),
  });
