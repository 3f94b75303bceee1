// Requirements of a ResourceQuota: what it counts, and of which objects.
// Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go (ValidateResourceQuota), pkg/apis/core/helper/helpers.go

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { type FieldError, invalidError, requiredError } from "@postern/apimachinery/validation/field-error";
import { amountsFaults } from "./quantities.ts";
import { isQuotaName, isWholeNumber, quotaResourceFaults } from "./resource-names.ts";

type Amounts = { readonly [resource: string]: JsonValue };
type Requirement = { readonly scopeName: string; readonly operator: string; readonly values?: readonly string[] };
export type QuotaSpec = {
  readonly hard?: Amounts;
  readonly scopes?: readonly string[];
  readonly scopeSelector?: { readonly matchExpressions?: readonly Requirement[] };
};

export const validateAmounts = (amounts: Amounts | undefined, path: string): readonly FieldError[] =>
  amountsFaults(amounts ?? {}, path, quotaResourceFaults, isWholeNumber);

const PODS = ["pods"];
const COMPUTE = ["cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];
const CLAIMS = ["persistentvolumeclaims", "requests.storage"];

/** The resources that each scope may count. */
const SCOPES: ReadonlyMap<string, readonly string[]> = new Map([
  ["Terminating", [...PODS, ...COMPUTE]],
  ["NotTerminating", [...PODS, ...COMPUTE]],
  ["BestEffort", PODS],
  ["NotBestEffort", [...PODS, ...COMPUTE]],
  ["PriorityClass", [...PODS, ...COMPUTE]],
  ["CrossNamespacePodAffinity", [...PODS, ...COMPUTE]],
  ["VolumeAttributesClass", CLAIMS],
]);
const PAIRS = [
  ["BestEffort", "NotBestEffort"],
  ["Terminating", "NotTerminating"],
];
/** Scopes of which an object has one or has it not. */
const WITHOUT_VALUES = ["BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity"];

const misapplied = (scope: string, hard: Amounts | undefined): readonly string[] => {
  const counted = SCOPES.get(scope);
  if (counted === undefined) return [];
  return Object.keys(hard ?? {})
    .toSorted()
    .filter((name) => isQuotaName(name) && !counted.includes(name));
};

export const validateQuotaSpec = (spec: QuotaSpec, path: string): readonly FieldError[] => [
  ...validateAmounts(spec.hard, `${path}.hard`),
  ...scopeFaults(spec, `${path}.scopes`),
  ...selectorFaults(spec, `${path}.scopeSelector.matchExpressions`),
];

function scopeFaults({ scopes = [], hard }: QuotaSpec, path: string): readonly FieldError[] {
  const fault = (why: string): FieldError => invalidError(path, [...scopes], why);
  return [
    ...scopes.flatMap((scope) => [
      ...(SCOPES.has(scope) ? [] : [fault("unsupported scope")]),
      ...misapplied(scope, hard).map(() => fault("unsupported scope applied to resource")),
    ]),
    ...conflicts(scopes).map(() => fault("conflicting scopes")),
  ];
}

const conflicts = (scopes: readonly string[]): readonly unknown[] =>
  PAIRS.filter((pair) => pair.every((scope) => scopes.includes(scope)));

function selectorFaults({ scopeSelector, scopes = [], hard }: QuotaSpec, path: string): readonly FieldError[] {
  const requirements = scopeSelector?.matchExpressions ?? [];
  return [
    ...requirements.flatMap(({ scopeName, operator, values = [] }) => [
      ...(SCOPES.has(scopeName) ? [] : [invalidError(`${path}.scopeName`, scopeName, "unsupported scope")]),
      ...misapplied(scopeName, hard).map(() =>
        invalidError(path, scopeSelector as JsonValue, "unsupported scope applied to resource"),
      ),
      ...(WITHOUT_VALUES.includes(scopeName) && operator !== "Exists"
        ? [
            invalidError(
              `${path}.operator`,
              operator,
              "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
            ),
          ]
        : []),
      ...operatorFaults(operator, values, path),
    ]),
    ...conflicts(requirements.map(({ scopeName }) => scopeName)).map(() =>
      invalidError(path, [...scopes], "conflicting scopes"),
    ),
  ];
}

function operatorFaults(operator: string, values: readonly string[], path: string): readonly FieldError[] {
  switch (operator) {
    case "In":
    case "NotIn":
      return values.length > 0
        ? []
        : [
            requiredError(
              `${path}.values`,
              "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
            ),
          ];
    case "Exists":
    case "DoesNotExist":
      return values.length === 0
        ? []
        : [
            invalidError(
              `${path}.values`,
              [...values],
              "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
            ),
          ];
    default:
      return [invalidError(`${path}.operator`, operator, "not a valid selector operator")];
  }
}
