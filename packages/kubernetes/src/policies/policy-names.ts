// Requirements of names inside a policy: its match conditions, variables, audit annotations and the kind of its parameters.
// Source: k8s.io/kubernetes/pkg/apis/admissionregistration/validation/validation.go (validateMatchConditions, validateVariable, validateParamKind)

import { parseApiVersion } from "@postern/apimachinery/meta/group-version";
import {
  duplicateError,
  type FieldError,
  indexPath,
  invalidError,
  requiredError,
  tooManyError,
} from "@postern/apimachinery/validation/field-error";
import { isDNS1035Label } from "@postern/apimachinery/validation/string-validators";
import { isCelIdentifier } from "@postern/cel/parse-cel";
import { qualifiedFaults, subdomainFaults, textFaults } from "../builtin/field-checks.ts";

type Named = { readonly name: string };

export const MAX_MATCH_CONDITIONS = 64;
const MAX_AUDIT_ANNOTATIONS = 20;

export const validateConditionNames = (conditions: readonly Named[]): readonly FieldError[] => {
  const seen = new Set<string>();
  return [
    ...(conditions.length > MAX_MATCH_CONDITIONS
      ? [tooManyError("spec.matchConditions", conditions.length, MAX_MATCH_CONDITIONS)]
      : []),
    ...conditions.flatMap(({ name }, index) => {
      const at = `${indexPath("spec.matchConditions", index)}.name`;
      if (name === "") return [requiredError(at)];
      const isTwice = seen.has(name);
      seen.add(name);
      return [...qualifiedFaults(at, name), ...(isTwice ? [duplicateError(at, name)] : [])];
    }),
  ];
};

export const validateVariableNames = (variables: readonly Named[]): readonly FieldError[] =>
  variables.flatMap(({ name }, index) => {
    const at = `${indexPath("spec.variables", index)}.name`;
    if (name.trim() === "") return [requiredError(at, "name is not specified")];
    return isCelIdentifier(name) ? [] : [invalidError(at, name, "must be a valid CEL identifier")];
  });

/** Keys stand behind the name of the policy in the audit log. */
export function validateAuditKeys(
  annotations: readonly { readonly key: string; readonly valueExpression: string }[],
  policyName: string,
): readonly FieldError[] {
  const path = "spec.auditAnnotations";
  const seen = new Set<string>();
  const limit = `must not have more than ${MAX_AUDIT_ANNOTATIONS} auditAnnotations`;
  return [
    ...(annotations.length > MAX_AUDIT_ANNOTATIONS
      ? [
          invalidError(
            path,
            annotations.map(({ key, valueExpression }) => ({ key, valueExpression })),
            limit,
          ),
        ]
      : []),
    ...annotations.flatMap(({ key }, index) => {
      const at = `${indexPath(path, index)}.key`;
      const isTwice = seen.has(key);
      seen.add(key);
      const full = `${policyName}/${key}`;
      return [
        ...(policyName === ""
          ? [invalidError(at, key, "requires metadata.name be non-empty")]
          : qualifiedFaults(at, full)),
        ...(isTwice ? [duplicateError(at, key)] : []),
      ];
    }),
  ];
}

type ParamKind = { readonly apiVersion?: string | undefined; readonly kind?: string | undefined };

export const validateParamKind = ({ apiVersion = "", kind = "" }: ParamKind): readonly FieldError[] => [
  ...validateParamVersion(apiVersion),
  ...(kind === ""
    ? [requiredError("spec.paramKind.kind")]
    : isDNS1035Label(kind.toLowerCase()).map((fault) =>
        invalidError("spec.paramKind.kind", kind, `may have mixed case, but should otherwise match: ${fault}`),
      )),
];

function validateParamVersion(apiVersion: string): readonly FieldError[] {
  const path = "spec.paramKind.apiVersion";
  if (apiVersion === "") return [requiredError(path)];
  const parsed = parseApiVersion(apiVersion);
  if (parsed === undefined) return [invalidError(path, apiVersion, `unexpected GroupVersion string: ${apiVersion}`)];
  const { group, version } = parsed;
  return [
    ...(group === "" ? [] : subdomainFaults(path, group)),
    ...(version === ""
      ? [invalidError(path, apiVersion, "version must be specified")]
      : textFaults(path, version, isDNS1035Label)),
  ];
}
