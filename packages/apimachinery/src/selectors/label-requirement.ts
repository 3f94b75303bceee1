// One condition on labels: checked once, printed canonically, matched many times without allocating.
// Source: k8s.io/apimachinery/pkg/labels/selector.go (Requirement)

import {
  childPath,
  type FieldError,
  indexPath,
  invalidError,
  keyPath,
  notSupportedError,
} from "../validation/field-error.ts";
import { isQualifiedName, isValidLabelValue } from "../validation/string-validators.ts";
import { parseInt64 } from "./parse-int64.ts";

export type Labels = { readonly [key: string]: string };

export type LabelOperator = "=" | "==" | "!=" | "in" | "notin" | "exists" | "!" | "gt" | "lt";

export type LabelRequirement = {
  readonly key: string;
  readonly operator: LabelOperator;
  /** Sorted and without duplicates. */
  readonly values: readonly string[];
};

const BINARY_OPERATORS: readonly LabelOperator[] = ["in", "notin", "=", "==", "!=", "gt", "lt"];
const OPERATORS: readonly LabelOperator[] = [...BINARY_OPERATORS, "exists", "!"];
export const binaryOperatorList = BINARY_OPERATORS.join(", ");

/** A selector that does not parse or names an invalid label. The message is what the client is to read. */
export class SelectorError extends Error {
  override readonly name = "SelectorError";
}

/** @throws SelectorError with every fault of key, operator and values */
export function newLabelRequirement(
  key: string,
  operator: LabelOperator,
  values: readonly string[],
  path = "",
): LabelRequirement {
  const sorted = [...new Set(values)].sort();
  const valuesPath = childPath(path, "values");
  const errors = [
    ...validateLabelKey(key, childPath(path, "key")),
    ...validateOperands(operator, sorted, path, valuesPath),
    ...sorted.flatMap((value, i) => validateLabelValue(key, value, indexPath(valuesPath, i))),
  ];
  throwIfAny(errors);
  return { key, operator, values: sorted };
}

/** What the parser checks before it goes on to the operator; it has no field to name. */
export function checkLabelKey(key: string): void {
  throwIfAny(validateLabelKey(key, "<nil>"));
}

function throwIfAny(errors: readonly FieldError[]): void {
  const texts = [...new Set(errors.map(({ field, message }) => `${field}: ${message}`))];
  if (texts.length === 1) throw new SelectorError(texts[0]);
  if (texts.length > 1) throw new SelectorError(`[${texts.join(", ")}]`);
}

function validateLabelKey(key: string, path: string): FieldError[] {
  const faults = isQualifiedName(key);
  return faults.length === 0 ? [] : [invalidError(path, key, faults.join("; "))];
}

function validateLabelValue(key: string, value: string, path: string): FieldError[] {
  const faults = isValidLabelValue(value);
  return faults.length === 0 ? [] : [invalidError(keyPath(path, key), value, faults.join("; "))];
}

function validateOperands(
  operator: LabelOperator,
  values: readonly string[],
  path: string,
  valuesPath: string,
): FieldError[] {
  switch (operator) {
    case "in":
    case "notin":
      return values.length > 0
        ? []
        : [invalidError(valuesPath, values, "for 'in', 'notin' operators, values set can't be empty")];
    case "=":
    case "==":
    case "!=":
      return values.length === 1
        ? []
        : [invalidError(valuesPath, values, "exact-match compatibility requires one single value")];
    case "exists":
    case "!":
      return values.length === 0
        ? []
        : [invalidError(valuesPath, values, "values set must be empty for exists and does not exist")];
    case "gt":
    case "lt":
      return values.length === 1
        ? validateIntegers(values, valuesPath)
        : [
            invalidError(valuesPath, values, "for 'Gt', 'Lt' operators, exactly one value is required"),
            ...validateIntegers(values, valuesPath),
          ];
    default:
      return [notSupportedError(childPath(path, "operator"), operator, OPERATORS)];
  }
}

const validateIntegers = (values: readonly string[], valuesPath: string): FieldError[] =>
  values.flatMap((value, i) =>
    parseInt64(value) === undefined
      ? [invalidError(indexPath(valuesPath, i), value, "for 'Gt', 'Lt' operators, the value must be an integer")]
      : [],
  );

/** The canonical text: `k`, `!k`, `k=v`, `k in (a,b)`, `k>1`. */
export function formatLabelRequirement({ key, operator, values }: LabelRequirement): string {
  switch (operator) {
    case "exists":
      return key;
    case "!":
      return `!${key}`;
    case "in":
    case "notin":
      return `${key} ${operator} (${values.join(",")})`;
    case "gt":
      return `${key}>${values.join()}`;
    case "lt":
      return `${key}<${values.join()}`;
    default:
      return `${key}${operator}${values.join()}`;
  }
}

/** The requirement as a test on labels, with all that can be worked out beforehand done once. */
export function compileLabelRequirement({ key, operator, values }: LabelRequirement): (labels: Labels) => boolean {
  const first = values[0] ?? "";
  const set = new Set(values);
  const bound = parseInt64(first) ?? 0n;
  switch (operator) {
    case "=":
    case "==":
      return (labels) => Object.hasOwn(labels, key) && labels[key] === first;
    case "!=":
      return (labels) => !Object.hasOwn(labels, key) || labels[key] !== first;
    case "in":
      return (labels) => Object.hasOwn(labels, key) && set.has(labels[key] ?? "");
    case "notin":
      return (labels) => !Object.hasOwn(labels, key) || !set.has(labels[key] ?? "");
    case "exists":
      return (labels) => Object.hasOwn(labels, key);
    case "!":
      return (labels) => !Object.hasOwn(labels, key);
    case "gt":
    case "lt":
      return (labels) => {
        const value = Object.hasOwn(labels, key) ? parseInt64(labels[key] ?? "") : undefined;
        return value !== undefined && (operator === "gt" ? value > bound : value < bound);
      };
  }
}
