// Requirements of what a policy matches, and of the parameters of its bindings.
// Source: k8s.io/kubernetes/pkg/apis/admissionregistration/validation/validation.go (validateMatchResources, validateParamRef)

import {
  duplicateError,
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { validateLabelSelector } from "@postern/apimachinery/validation/labels";
import { choiceFaults, subdomainFaults } from "../builtin/field-checks.ts";
import type { MatchResources, PolicyBinding } from "./validating-admission-policy.ts";

type Rule = NonNullable<MatchResources["resourceRules"]>[number];

const MATCH_POLICIES = ["Equivalent", "Exact"];
export const OPERATIONS = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const SCOPES = ["*", "Cluster", "Namespaced"];

export const validateMatchResources = (match: MatchResources, path: string): readonly FieldError[] => [
  ...choiceFaults(`${path}.matchPolicy`, match.matchPolicy, MATCH_POLICIES),
  ...validateLabelSelector(match.namespaceSelector, `${path}.namespaceSelector`),
  ...validateLabelSelector(match.objectSelector, `${path}.objectSelector`),
  ...(match.resourceRules ?? []).flatMap((rule, index) => ruleFaults(rule, indexPath(`${path}.resourceRules`, index))),
  ...(match.excludeResourceRules ?? []).flatMap((rule, index) =>
    ruleFaults(rule, indexPath(`${path}.excludeResourceRules`, index)),
  ),
];

function ruleFaults(rule: Rule, path: string): readonly FieldError[] {
  const { operations = [], apiGroups, apiVersions, resources = [], scope } = rule;
  return [
    ...listFaults(operations, `${path}.operations`, "operations"),
    ...operations.flatMap((operation, index) =>
      choiceFaults(indexPath(`${path}.operations`, index), operation, OPERATIONS),
    ),
    ...listFaults(apiGroups ?? [], `${path}.apiGroups`, "API groups"),
    ...listFaults(apiVersions ?? [], `${path}.apiVersions`, "API versions"),
    ...(resources.length === 0 ? [requiredError(`${path}.resources`)] : []),
    ...choiceFaults(`${path}.scope`, scope, SCOPES),
  ];
}

function listFaults(values: readonly string[], path: string, what: string): readonly FieldError[] {
  if (values.length === 0) return [requiredError(path)];
  return values.length > 1 && values.includes("*")
    ? [invalidError(path, [...values], `if '*' is present, must not specify other ${what}`)]
    : [];
}

type ParamRef = NonNullable<NonNullable<PolicyBinding["spec"]>["paramRef"]>;

const NOT_FOUND = ["Deny", "Allow"];
const EXCLUSIVE = "name and selector are mutually exclusive";

export function validateParamRef(ref: ParamRef): readonly FieldError[] {
  const { name = "", selector, parameterNotFoundAction: action } = ref;
  const isNeither = name === "" && selector === undefined;
  const isBoth = name !== "" && selector !== undefined;
  return [
    ...(isBoth
      ? [forbiddenError("spec.paramRef.name", EXCLUSIVE), forbiddenError("spec.paramRef.selector", EXCLUSIVE)]
      : []),
    ...(isNeither ? [requiredError("spec.paramRef", "one of name or selector must be specified")] : []),
    ...(action === undefined
      ? [requiredError("spec.paramRef.parameterNotFoundAction")]
      : choiceFaults("spec.paramRef.parameterNotFoundAction", action, NOT_FOUND)),
  ];
}

export const validatePolicyName = (name: string): readonly FieldError[] =>
  name === "" ? [requiredError("spec.policyName")] : subdomainFaults("spec.policyName", name);

/** The name of the policy of a binding, and what happens when it fails. */
export const validateActions = (policyName: string, actions: readonly string[]): readonly FieldError[] => [
  ...validatePolicyName(policyName),
  ...(actions.length === 0
    ? [requiredError("spec.validationActions", "at least one validation action is required")]
    : []),
  ...actions.flatMap((action, index) =>
    actions.indexOf(action) < index ? [duplicateError(indexPath("spec.validationActions", index), action)] : [],
  ),
];
