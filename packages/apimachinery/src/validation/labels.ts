// Checks label maps, annotation maps and label selectors.
// Source: k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go, pkg/api/validation/objectmeta.go

import { byteLength } from "./byte-length.ts";
import {
  childPath,
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  requiredError,
  tooLongError,
} from "./field-error.ts";
import { isQualifiedName, isValidLabelValue } from "./string-validators.ts";

/** Bytes of all annotation keys and values together. */
export const TOTAL_ANNOTATION_SIZE_LIMIT = 256 * 1024;

/** Bytes of all label keys and values together. */
export const TOTAL_LABEL_SIZE_LIMIT = 256 * 1024;
/** Only the first errors of one map are read, and each costs as much as many valid entries. */
const MAX_FAULTS = 100;

type StringMap = { readonly [key: string]: string };

/** Absent members read as empty. */
export type LabelSelectorRequirement = {
  readonly key?: string;
  readonly operator?: string;
  readonly values?: readonly string[];
};

export type LabelSelector = {
  readonly matchLabels?: StringMap;
  readonly matchExpressions?: readonly LabelSelectorRequirement[];
};

export const validateLabelName = (name: string, path: string): readonly FieldError[] =>
  isQualifiedName(name).map((fault) => invalidError(path, name, fault));

/** Checked before anything else, so that a large map costs little. Upstream has no such limit: what its store takes is the limit there. */
export function validateLabels(labels: StringMap | undefined, path: string): readonly FieldError[] {
  if (isLarger(labels, TOTAL_LABEL_SIZE_LIMIT)) return [tooLongError(path, TOTAL_LABEL_SIZE_LIMIT)];
  const errors: FieldError[] = [];
  for (const [key, value] of Object.entries(labels ?? {})) {
    errors.push(...validateLabelName(key, path));
    for (const fault of isValidLabelValue(value)) errors.push(invalidError(path, value, fault));
    if (errors.length >= MAX_FAULTS) break;
  }
  return errors;
}

/** Keys are qualified names in any case; values are free, within a total size. */
export function validateAnnotations(annotations: StringMap | undefined, path: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  for (const key of Object.keys(annotations ?? {})) {
    for (const fault of isQualifiedName(key.toLowerCase())) errors.push(invalidError(path, key, fault));
    if (errors.length >= MAX_FAULTS) break;
  }
  if (isLarger(annotations, TOTAL_ANNOTATION_SIZE_LIMIT)) errors.push(tooLongError(path, TOTAL_ANNOTATION_SIZE_LIMIT));
  return errors;
}

function isLarger(map: StringMap = {}, limit: number): boolean {
  let totalBytes = 0;
  // Keys alone: a list of all entries of a large map takes five times as long, and most are not looked at.
  for (const key of Object.keys(map)) {
    totalBytes += byteLength(key) + byteLength(map[key] ?? "");
    if (totalBytes > limit) return true;
  }
  return false;
}

export function validateLabelSelector(selector: LabelSelector | undefined, path: string): readonly FieldError[] {
  if (selector === undefined) return [];
  const expressionsPath = childPath(path, "matchExpressions");
  return [
    ...validateLabels(selector.matchLabels, childPath(path, "matchLabels")),
    ...(selector.matchExpressions ?? []).flatMap((requirement, index) =>
      validateRequirement(requirement, indexPath(expressionsPath, index)),
    ),
  ];
}

export type OperatorOptions = {
  /** For questions of clients that may know more operators than this server. Default: false. */
  readonly allowsUnknownOperator?: boolean;
};

export function validateRequirement(
  { key = "", operator = "", values = [] }: LabelSelectorRequirement,
  path: string,
  options: OperatorOptions = {},
): readonly FieldError[] {
  const valuesPath = childPath(path, "values");
  return [
    ...validateOperator(operator, values, path, options),
    ...validateLabelName(key, childPath(path, "key")),
    ...values.flatMap((value, index) =>
      isValidLabelValue(value).map((fault) => invalidError(indexPath(valuesPath, index), value, fault)),
    ),
  ];
}

/** Errors of the operator of a requirement, and of the number of its values. */
export function validateOperator(
  operator: string,
  values: readonly string[],
  path: string,
  { allowsUnknownOperator = false }: OperatorOptions = {},
): readonly FieldError[] {
  const valuesPath = childPath(path, "values");
  switch (operator) {
    case "In":
    case "NotIn":
      return values.length > 0
        ? []
        : [requiredError(valuesPath, "must be specified when `operator` is 'In' or 'NotIn'")];
    case "Exists":
    case "DoesNotExist":
      return values.length === 0
        ? []
        : [forbiddenError(valuesPath, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")];
    default:
      if (allowsUnknownOperator) return [];
      return [invalidError(childPath(path, "operator"), operator, "not a valid selector operator")];
  }
}
