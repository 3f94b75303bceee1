// Roles: the permissions that a RoleBinding grants in one namespace.
// Source: k8s.io/kubernetes/pkg/registry/rbac/role/strategy.go

import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { RBAC_GROUP } from "@postern/apiserver/authorization/rbac/policy-rule";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { createdAtColumn, defineBuiltin } from "../builtin-resource.ts";
import type { EscalationCheck } from "./escalation-check.ts";
import { policyRules } from "./rbac-fields.ts";
import { roleStrategy, withRules } from "./role-strategy.ts";
import { validateRules } from "./validate-role.ts";

const roleFields = s.object({ rules: policyRules });

export const roles = (escalation: EscalationCheck): ResourceDefinition =>
  defineBuiltin({
    group: RBAC_GROUP,
    version: "v1",
    kind: "Role",
    plural: "roles",
    namespaced: true,
    schema: kindSchema(roleFields.schema),
    columns: [createdAtColumn],
    strategy: roleStrategy(escalation, validateRules),
    setDefaults: withRules,
  });
