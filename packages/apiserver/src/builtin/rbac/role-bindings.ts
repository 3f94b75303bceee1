// RoleBindings: who has a role in one namespace.
// Source: k8s.io/kubernetes/pkg/registry/rbac/rolebinding/strategy.go

import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { RBAC_GROUP } from "../../authorization/rbac/policy-rule.ts";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import { defineBuiltin } from "../builtin-resource.ts";
import { bindingColumns, bindingStrategy } from "./binding-resource.ts";
import type { EscalationCheck } from "./escalation-check.ts";
import { bindingFields } from "./rbac-fields.ts";

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
