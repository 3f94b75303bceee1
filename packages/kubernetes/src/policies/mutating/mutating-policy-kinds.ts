// MutatingAdmissionPolicies and their bindings as resources.
// Source: k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicy{,binding}/strategy.go, pkg/apis/admissionregistration/validation/validation.go

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
import { defineBuiltin } from "../../builtin/builtin-resource.ts";
import { choiceFaults, requiredChoice } from "../../builtin/field-checks.ts";
import {
  bindingColumns,
  FAILURE_POLICIES,
  POLICY_KIND,
  policyColumns,
  withBindingDefaults,
  withPolicyDefaults,
} from "../policy-definition.ts";
import { validateConditionNames, validateParamKind, validateVariableNames } from "../policy-names.ts";
import { validateMatchResources, validateParamRef, validatePolicyName } from "../validate-match-resources.ts";
import type { MatchResources } from "../validating-admission-policy.ts";
import { compileMutations, isPatchType, PATCH_TYPES } from "./compiled-mutations.ts";
import {
  type MutatingPolicy,
  type MutatingPolicyBinding,
  mutatingBindingFields,
  mutatingPolicyFields,
} from "./mutating-admission-policy.ts";

/** A deletion has no object to change. */
const OPERATIONS = ["*", "CONNECT", "CREATE", "UPDATE"];
const REINVOCATIONS = ["IfNeeded", "Never"];

type MutationFields = NonNullable<NonNullable<MutatingPolicy["spec"]>["mutations"]>[number];

function* validatePolicy(policy: MutatingPolicy): Steps<readonly FieldError[]> {
  const { failurePolicy = "Fail", paramKind, matchConstraints, mutations = [], reinvocationPolicy } = policy.spec ?? {};
  const { matchConditions = [], variables = [] } = policy.spec ?? {};
  return [
    ...choiceFaults("spec.failurePolicy", failurePolicy, FAILURE_POLICIES),
    ...(paramKind === undefined ? [] : validateParamKind(paramKind)),
    ...(matchConstraints === undefined
      ? [requiredError("spec.matchConstraints")]
      : [
          ...validateMatchResources(matchConstraints, "spec.matchConstraints"),
          ...((matchConstraints.resourceRules ?? []).length === 0
            ? [requiredError("spec.matchConstraints.resourceRules")]
            : []),
          ...operationFaults(matchConstraints, "spec.matchConstraints"),
        ]),
    ...validateConditionNames(matchConditions),
    ...validateVariableNames(variables),
    ...(mutations.length === 0 ? [requiredError("spec.mutations", "mutations must contain at least one item")] : []),
    ...mutations.flatMap((mutation, index) => mutationFaults(mutation, indexPath("spec.mutations", index))),
    ...(yield* compileMutations(policy, paramKind !== undefined)).faults,
    ...requiredChoice("spec.reinvocationPolicy", reinvocationPolicy, REINVOCATIONS),
  ];
}

const operationFaults = ({ resourceRules = [] }: MatchResources, path: string): readonly FieldError[] =>
  resourceRules.flatMap(({ operations = [] }) =>
    operations
      .filter((operation) => !OPERATIONS.includes(operation))
      .map((operation) => notSupportedError(`${path}.resourceRules.operations`, operation, OPERATIONS)),
  );

function mutationFaults(mutation: MutationFields, path: string): readonly FieldError[] {
  const { patchType } = mutation;
  if (patchType === "") return [requiredError(`${path}.patchType`)];
  if (!isPatchType(patchType)) return [notSupportedError(`${path}.patchType`, patchType, Object.keys(PATCH_TYPES))];
  const { member } = PATCH_TYPES[patchType];
  const other = member === "jsonPatch" ? "applyConfiguration" : "jsonPatch";
  return [
    ...(mutation[member] === undefined
      ? [requiredError(`${path}.${member}`, `must be specified when patchType is ${patchType}`)]
      : (mutation[member].expression ?? "").trim() === ""
        ? [requiredError(`${path}.${member}.expression`)]
        : []),
    ...(mutation[other] === undefined
      ? []
      : [invalidError(`${path}.${other}`, `{${other}}`, `must not be specified when patchType is ${patchType}`)]),
  ];
}

function validateBinding({ spec = {} }: MutatingPolicyBinding): readonly FieldError[] {
  const { policyName = "", paramRef, matchResources } = spec;
  return [
    ...validatePolicyName(policyName),
    ...(paramRef === undefined ? [] : validateParamRef(paramRef)),
    ...(matchResources === undefined
      ? []
      : [
          ...validateMatchResources(matchResources, "spec.matchResources"),
          ...operationFaults(matchResources, "spec.matchResources"),
        ]),
  ];
}

export const mutatingAdmissionPolicies: ResourceDefinition = defineBuiltin({
  ...POLICY_KIND,
  kind: "MutatingAdmissionPolicy",
  plural: "mutatingadmissionpolicies",
  schema: kindSchema(mutatingPolicyFields.schema),
  columns: [
    {
      name: "Mutations",
      type: "integer",
      value: (o) => ((o as MutatingPolicy).spec?.mutations ?? []).length,
    },
    ...policyColumns,
  ],
  setDefaults: withPolicyDefaults,
  strategy: {
    validate: async (policy: MutatingPolicy, context: RequestContext) => await context.inParts(validatePolicy(policy)),
    validateUpdate: async (policy: MutatingPolicy, _old: MutatingPolicy, context: RequestContext) =>
      await context.inParts(validatePolicy(policy)),
  },
});

export const mutatingAdmissionPolicyBindings: ResourceDefinition = defineBuiltin({
  ...POLICY_KIND,
  kind: "MutatingAdmissionPolicyBinding",
  plural: "mutatingadmissionpolicybindings",
  schema: kindSchema(mutatingBindingFields.schema),
  columns: bindingColumns,
  setDefaults: withBindingDefaults,
  strategy: { validate: validateBinding, validateUpdate: validateBinding },
});
