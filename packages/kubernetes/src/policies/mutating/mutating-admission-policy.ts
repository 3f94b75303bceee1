// The fields of MutatingAdmissionPolicies and their bindings.
// Source: k8s.io/api/admissionregistration/v1/types.go

import { s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import {
  matchConditionsField,
  matchFields,
  namedExpression,
  paramKindFields,
  paramRefFields,
} from "../validating-admission-policy.ts";

/** Each type has its own, which goes by its name in OpenAPI documents. */
const expressionOf = () => s.object({ expression: s.string() });

export const mutatingPolicyFields = s.object({
  spec: s.object({
    paramKind: paramKindFields,
    matchConstraints: matchFields,
    variables: s.list(namedExpression()),
    mutations: s.list(
      s.object({
        patchType: s.string().required(),
        applyConfiguration: expressionOf(),
        jsonPatch: expressionOf(),
      }),
    ),
    failurePolicy: s.string(),
    matchConditions: matchConditionsField,
    reinvocationPolicy: s.string(),
  }),
});

export type MutatingPolicy = KindOf<typeof mutatingPolicyFields>;

export const mutatingBindingFields = s.object({
  spec: s.object({
    policyName: s.string(),
    paramRef: paramRefFields,
    matchResources: matchFields,
  }),
});

export type MutatingPolicyBinding = KindOf<typeof mutatingBindingFields>;
