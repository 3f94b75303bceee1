// The fields of ValidatingAdmissionPolicies and their bindings.
// Source: k8s.io/api/admissionregistration/v1/types.go

import { s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import { mergedInPatches } from "../builtin/builtin-resource.ts";
import { conditionFields } from "../builtin/condition-fields.ts";
import { labelSelector } from "../builtin/rbac/rbac-fields.ts";

export const ADMISSION_GROUP = "admissionregistration.k8s.io";

const ruleFields = s.object(
  {
    resourceNames: s.list(s.string()),
    operations: s.list(s.string()),
    apiGroups: s.list(s.string()),
    apiVersions: s.list(s.string()),
    resources: s.list(s.string()),
    scope: s.string(),
  },
  { atomic: true },
);

export const matchFields = s.object(
  {
    namespaceSelector: labelSelector,
    objectSelector: labelSelector,
    resourceRules: s.list(ruleFields),
    excludeResourceRules: s.list(ruleFields),
    matchPolicy: s.string(),
  },
  { atomic: true },
);

export const namedExpression = () =>
  s.object({
    name: s.string().required(),
    expression: s.string().required(),
  });

export const paramKindFields = s.object(
  {
    apiVersion: s.string(),
    kind: s.string(),
  },
  { atomic: true },
);

export const paramRefFields = s.object(
  {
    name: s.string(),
    namespace: s.string(),
    selector: labelSelector,
    parameterNotFoundAction: s.string(),
  },
  { atomic: true },
);

export const matchConditionsField = mergedInPatches(s.listMap(namedExpression(), ["name"]), "name");

export const policyFields = s.object({
  spec: s.object({
    paramKind: paramKindFields,
    matchConstraints: matchFields,
    validations: s.list(
      s.object({
        expression: s.string().required(),
        message: s.string(),
        reason: s.string(),
        messageExpression: s.string(),
      }),
    ),
    failurePolicy: s.string(),
    auditAnnotations: s.list(
      s.object({
        key: s.string().required(),
        valueExpression: s.string().required(),
      }),
    ),
    matchConditions: matchConditionsField,
    variables: mergedInPatches(s.listMap(namedExpression(), ["name"]), "name"),
  }),
  status: s.object({
    observedGeneration: s.int64(),
    typeChecking: s.object({
      expressionWarnings: s.list(
        s.object({
          fieldRef: s.string(),
          warning: s.string(),
        }),
      ),
    }),
    conditions: mergedInPatches(s.listMap(conditionFields("observedGeneration"), ["type"]), "type"),
  }),
});

export type Policy = KindOf<typeof policyFields>;
export type PolicySpec = NonNullable<Policy["spec"]>;
export type MatchResources = NonNullable<PolicySpec["matchConstraints"]>;
export type MatchRule = NonNullable<MatchResources["resourceRules"]>[number];

export const bindingFields = s.object({
  spec: s.object({
    policyName: s.string(),
    paramRef: paramRefFields,
    matchResources: matchFields,
    validationActions: s.set(s.string()),
  }),
});

export type PolicyBinding = KindOf<typeof bindingFields>;
