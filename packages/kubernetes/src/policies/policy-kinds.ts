// ValidatingAdmissionPolicies and their bindings as resources.
// Source: k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicy{,binding}/strategy.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
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
import { ageColumn, defineBuiltin } from "../builtin/builtin-resource.ts";
import { statusStrategy } from "../builtin/workloads/status-strategy.ts";
import { compilePolicy } from "./compiled-policy.ts";
import { validateActions, validateMatchResources, validateParamRef } from "./validate-match-resources.ts";
import {
  ADMISSION_GROUP,
  bindingFields,
  type MatchResources,
  type Policy,
  type PolicyBinding,
  type PolicySpec,
  policyFields,
} from "./validating-admission-policy.ts";

export const FAILURE_POLICIES = ["Fail", "Ignore"];
const ACTIONS = ["Audit", "Deny", "Warn"];
const REASONS = ["Forbidden", "Invalid", "RequestEntityTooLarge"];

function* validatePolicy(policy: Policy): Steps<readonly FieldError[]> {
  const { spec = {} } = policy;
  const { validations = [], auditAnnotations = [], failurePolicy = "Fail", matchConstraints } = spec;
  return [
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
    ...(FAILURE_POLICIES.includes(failurePolicy)
      ? []
      : [notSupportedError("spec.failurePolicy", failurePolicy, FAILURE_POLICIES)]),
    ...validations.flatMap(({ reason = "Invalid", message = "" }, index) => [
      ...messageFaults(message, `${indexPath("spec.validations", index)}.message`),
      // Upstream takes this reason, and does not name it.
      ...(REASONS.includes(reason) || reason === "Unauthorized"
        ? []
        : [notSupportedError(`${indexPath("spec.validations", index)}.reason`, reason, REASONS)]),
    ]),
    ...(yield* compilePolicy(policy, spec.paramKind !== undefined)).faults,
  ];
}

function messageFaults(message: string, path: string): readonly FieldError[] {
  if (message === "") return [];
  if (message.trim() === "") return [invalidError(path, message, "must be non-empty if specified")];
  return message.includes("\n") ? [invalidError(path, message, "must not contain line breaks")] : [];
}

function validateBinding({ spec = {} }: PolicyBinding): readonly FieldError[] {
  const { policyName = "", validationActions = [], paramRef } = spec;
  const isTwofold = validationActions.includes("Deny") && validationActions.includes("Warn");
  return [
    ...validateActions(policyName, validationActions),
    ...validationActions.flatMap((action, index) =>
      ACTIONS.includes(action) ? [] : [notSupportedError(indexPath("spec.validationActions", index), action, ACTIONS)],
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
    ...(paramRef === undefined ? [] : validateParamRef(paramRef, "spec.paramRef")),
  ];
}

export const withMatchDefaults = (match: MatchResources): MatchResources => ({
  ...match,
  matchPolicy: match.matchPolicy ?? "Equivalent",
  namespaceSelector: match.namespaceSelector ?? {},
  objectSelector: match.objectSelector ?? {},
  ...(match.resourceRules === undefined
    ? {}
    : { resourceRules: match.resourceRules.map((rule) => ({ scope: "*", ...rule })) }),
});

export const paramKindText = (param: PolicySpec["paramKind"]): string =>
  param === undefined ? "<unset>" : `${param.apiVersion}/${param.kind}`;

export function paramRefText(ref: NonNullable<PolicyBinding["spec"]>["paramRef"]): string {
  if (ref === undefined) return "<unset>";
  if (ref.name === undefined) return "*";
  return ref.namespace === undefined ? ref.name : `${ref.namespace}/${ref.name}`;
}

const COMMON = {
  group: ADMISSION_GROUP,
  version: "v1",
  namespaced: false,
  categories: ["api-extensions"],
  tracksGeneration: true,
} as const;

// Stored objects, and bodies of built-in kinds where defaults are set, have passed their types.
export const validatingAdmissionPolicies: ResourceDefinition = defineBuiltin({
  ...COMMON,
  kind: "ValidatingAdmissionPolicy",
  plural: "validatingadmissionpolicies",
  singular: "validatingadmissionpolicy",
  hasStatus: true,
  schema: kindSchema(policyFields.schema),
  columns: [
    {
      name: "Validations",
      type: "integer",
      description: "Number of entries.",
      value: (o) => ((o as Policy).spec?.validations ?? []).length,
    },
    {
      name: "ParamKind",
      type: "string",
      description: "Kind of the parameters.",
      value: (o) => paramKindText((o as Policy).spec?.paramKind),
    },
    ageColumn,
  ],
  setDefaults: (object) => {
    const { spec } = object as Policy;
    if (spec === undefined) return object;
    const { matchConstraints } = spec;
    return {
      ...object,
      spec: {
        ...spec,
        failurePolicy: spec.failurePolicy ?? "Fail",
        ...(matchConstraints === undefined ? {} : { matchConstraints: withMatchDefaults(matchConstraints) }),
      },
    } as KubeObject;
  },
  strategy: {
    ...statusStrategy<Policy>(() => []),
    validate: async (policy: Policy, context: RequestContext) => await context.inParts(validatePolicy(policy)),
    validateUpdate: async (policy: Policy, _old: Policy, context: RequestContext) =>
      context.info.subresource === "status" ? [] : await context.inParts(validatePolicy(policy)),
  } as never,
});

export const validatingAdmissionPolicyBindings: ResourceDefinition = defineBuiltin({
  ...COMMON,
  kind: "ValidatingAdmissionPolicyBinding",
  plural: "validatingadmissionpolicybindings",
  singular: "validatingadmissionpolicybinding",
  schema: kindSchema(bindingFields.schema),
  columns: [
    { name: "PolicyName", type: "string", description: "The policy.", value: ".spec.policyName" },
    {
      name: "ParamRef",
      type: "string",
      description: "The parameters.",
      value: (o) => paramRefText((o as PolicyBinding).spec?.paramRef),
    },
    ageColumn,
  ],
  setDefaults: (object) => {
    const { spec } = object as PolicyBinding;
    const matchResources = spec?.matchResources;
    return matchResources === undefined
      ? object
      : ({ ...object, spec: { ...spec, matchResources: withMatchDefaults(matchResources) } } as KubeObject);
  },
  strategy: { allowUnconditionalUpdate: true, validate: validateBinding, validateUpdate: validateBinding },
});
