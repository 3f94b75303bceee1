// ValidatingAdmissionPolicies and their bindings as resources.
// Source: k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicy{,binding}/strategy.go

import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { Steps } from "@postern/apimachinery/steps/steps";
import {
  type FieldError,
  indexPath,
  invalidError,
  notSupportedError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { defineBuiltin } from "../builtin/builtin-resource.ts";
import { choiceFaults } from "../builtin/field-checks.ts";
import { statusStrategy } from "../builtin/workloads/status-strategy.ts";
import { compilePolicy } from "./compiled-policy.ts";
import {
  bindingColumns,
  FAILURE_POLICIES,
  POLICY_KIND,
  policyColumns,
  withBindingDefaults,
  withPolicyDefaults,
} from "./policy-definition.ts";
import { validateAuditKeys, validateConditionNames, validateParamKind, validateVariableNames } from "./policy-names.ts";
import { validateActions, validateMatchResources, validateParamRef } from "./validate-match-resources.ts";
import { bindingFields, type Policy, type PolicyBinding, policyFields } from "./validating-admission-policy.ts";

const ACTIONS = ["Audit", "Deny", "Warn"];
const REASONS = ["Forbidden", "Invalid", "RequestEntityTooLarge"];

function* validatePolicy(policy: Policy): Steps<readonly FieldError[]> {
  const { spec = {}, metadata } = policy;
  const { validations = [], auditAnnotations = [], failurePolicy = "Fail", matchConstraints, paramKind } = spec;
  return [
    ...(paramKind === undefined ? [] : validateParamKind(paramKind)),
    ...(matchConstraints === undefined
      ? [requiredError("spec.matchConstraints")]
      : (matchConstraints.resourceRules ?? []).length === 0
        ? [requiredError("spec.matchConstraints.resourceRules")]
        : []),
    ...(matchConstraints === undefined ? [] : validateMatchResources(matchConstraints, "spec.matchConstraints")),
    ...(validations.length + auditAnnotations.length === 0
      ? ["spec.validations", "spec.auditAnnotations"].map((path) =>
          requiredError(path, "validations or auditAnnotations must contain at least one item"),
        )
      : []),
    ...choiceFaults("spec.failurePolicy", failurePolicy, FAILURE_POLICIES),
    ...validations.flatMap(({ reason = "Invalid", message = "" }, index) => [
      ...messageFaults(message, `${indexPath("spec.validations", index)}.message`),
      // Upstream takes this reason, and does not name it.
      ...(REASONS.includes(reason) || reason === "Unauthorized"
        ? []
        : [notSupportedError(`${indexPath("spec.validations", index)}.reason`, reason, REASONS)]),
    ]),
    ...validateConditionNames(spec.matchConditions ?? []),
    ...validateVariableNames(spec.variables ?? []),
    ...validateAuditKeys(auditAnnotations, metadata.name ?? ""),
    ...(yield* compilePolicy(policy, paramKind !== undefined)).faults,
  ];
}

function messageFaults(message: string, path: string): readonly FieldError[] {
  if (message === "") return [];
  if (message.trim() === "") return [invalidError(path, message, "must be non-empty if specified")];
  return message.includes("\n") ? [invalidError(path, message, "must not contain line breaks")] : [];
}

function validateBinding({ spec = {} }: PolicyBinding): readonly FieldError[] {
  const { policyName = "", validationActions = [], paramRef, matchResources } = spec;
  const isTwofold = validationActions.includes("Deny") && validationActions.includes("Warn");
  return [
    ...validateActions(policyName, validationActions),
    ...validationActions.flatMap((action, index) =>
      choiceFaults(indexPath("spec.validationActions", index), action, ACTIONS),
    ),
    ...(isTwofold
      ? [
          invalidError(
            "spec.validationActions",
            [...validationActions],
            "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)",
          ),
        ]
      : []),
    ...(paramRef === undefined ? [] : validateParamRef(paramRef)),
    ...(matchResources === undefined ? [] : validateMatchResources(matchResources, "spec.matchResources")),
  ];
}

export const validatingAdmissionPolicies: ResourceDefinition = defineBuiltin({
  ...POLICY_KIND,
  kind: "ValidatingAdmissionPolicy",
  plural: "validatingadmissionpolicies",
  hasStatus: true,
  schema: kindSchema(policyFields.schema),
  columns: [
    {
      name: "Validations",
      type: "integer",
      value: (o) => ((o as Policy).spec?.validations ?? []).length,
    },
    ...policyColumns,
  ],
  setDefaults: withPolicyDefaults,
  strategy: {
    ...statusStrategy<Policy>(() => []),
    allowUnconditionalUpdate: false,
    validate: async (policy: Policy, context: RequestContext) => await context.inParts(validatePolicy(policy)),
    validateUpdate: async (policy: Policy, _old: Policy, context: RequestContext) =>
      context.info.subresource === "status" ? [] : await context.inParts(validatePolicy(policy)),
  },
});

export const validatingAdmissionPolicyBindings: ResourceDefinition = defineBuiltin({
  ...POLICY_KIND,
  kind: "ValidatingAdmissionPolicyBinding",
  plural: "validatingadmissionpolicybindings",
  schema: kindSchema(bindingFields.schema),
  columns: bindingColumns,
  setDefaults: withBindingDefaults,
  strategy: { validate: validateBinding, validateUpdate: validateBinding },
});
