// The fields of MutatingAdmissionPolicies and their bindings.
// Source: k8s.io/api/admissionregistration/v1/types.go

import { s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import {
  failurePolicyField,
  matchConditionsField,
  matchFields,
  namedExpression,
  paramKindFields,
  paramRefFields,
} from "../validating-admission-policy.ts";

const expressionOf = (what: string) =>
  s.object({ expression: s.string().describe(`expression is evaluated by CEL to ${what}.`) });

export const mutatingPolicyFields = s
  .object({
    spec: s
      .object({
        paramKind: paramKindFields,
        matchConstraints: matchFields.describe(
          "matchConstraints specifies what resources this policy is designed to mutate.",
        ),
        variables: s
          .list(namedExpression("Expression is the expression that will be evaluated as the value of the variable."))
          .describe("variables contain definitions of variables that other expressions use, as variables.<name>."),
        mutations: s
          .list(
            s.object({
              patchType: s
                .string()
                .required()
                .describe("patchType indicates the patch strategy used: ApplyConfiguration or JSONPatch."),
              applyConfiguration: expressionOf("an apply configuration: Object{...}").describe(
                "applyConfiguration defines the desired configuration values of an object, which are merged into it.",
              ),
              jsonPatch: expressionOf("a list of operations: [JSONPatch{...}]").describe(
                "jsonPatch defines a JSON patch operation to perform a mutation to the object.",
              ),
            }),
          )
          .describe("mutations contain operations to perform on matching objects, in their order."),
        failurePolicy: failurePolicyField,
        matchConditions: matchConditionsField.describe(
          "matchConditions is a list of conditions that must be met for a request to be mutated.",
        ),
        reinvocationPolicy: s
          .string()
          .describe(
            "reinvocationPolicy indicates whether mutations may be called multiple times for one request, where other policies have changed the object: Never or IfNeeded.",
          ),
      })
      .describe("Specification of the desired behavior of the MutatingAdmissionPolicy."),
  })
  .describe(
    "MutatingAdmissionPolicy describes the definition of an admission mutation policy that mutates the object coming into admission chain.",
  );

export type MutatingPolicy = KindOf<typeof mutatingPolicyFields>;

export const mutatingBindingFields = s
  .object({
    spec: s
      .object({
        policyName: s
          .string()
          .describe(
            "policyName references a MutatingAdmissionPolicy name which the MutatingAdmissionPolicyBinding binds to.",
          ),
        paramRef: paramRefFields,
        matchResources: matchFields.describe(
          "matchResources limits what resources match this binding and may be mutated by it.",
        ),
      })
      .describe("Specification of the desired behavior of the MutatingAdmissionPolicyBinding."),
  })
  .describe("MutatingAdmissionPolicyBinding binds the MutatingAdmissionPolicy with parameterized resources.");

export type MutatingPolicyBinding = KindOf<typeof mutatingBindingFields>;
