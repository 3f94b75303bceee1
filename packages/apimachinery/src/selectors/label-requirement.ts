// One condition on labels: checked once, printed canonically, matched many times without allocating.
// Source: k8s.io/apimachinery/pkg/labels/selector.go (Requirement)

import { type FieldError, indexPath, invalidError, keyPath, notSupportedError } from "../validation/field-error.ts";
import { isQualifiedName, isValidLabelValue } from "../validation/string-validators.ts";

export type Labels = { readonly [key: string]: string };

export type LabelOperator = "=" | "==" | "!=" | "in" | "notin" | "exists" | "!" | "gt" | "lt";

export type LabelRequirement = {
  readonly key: string;
  readonly operator: LabelOperator;
  /** Without duplicates, in the order in which they were given: only texts need them sorted. */
  readonly values: readonly string[];
};

const BINARY_OPERATORS: readonly LabelOperator[] = ["in", "notin", "=", "==", "!=", "gt", "lt"];
const OPERATORS: readonly LabelOperator[] = [...BINARY_OPERATORS, "exists", "!"];
export const binaryOperatorList = BINARY_OPERATORS.join(", ");

/** A selector that does not parse or names an invalid label. The message is what the client is to read. */
export class SelectorError extends Error {
  override readonly name = "SelectorError";
}

/** The path of the values in the text of a fault. */
const VALUES = "values";

/** @throws SelectorError with every fault of key, operator and values */
export function newLabelRequirement(key: string, operator: LabelOperator, values: readonly string[]): LabelRequirement {
  const unique = withoutDuplicates(values);
  const errors = [
    ...validateLabelKey(key, "key"),
    ...validateOperands(operator, unique),
    ...(unique.every(isLabelValue) ? [] : validateLabelValues(key, unique)),
  ];
  throwIfAny(errors);
  return { key, operator, values: unique };
}

function withoutDuplicates(values: readonly string[]): readonly string[] {
  if (values.length <= 1) return values;
  const unique = new Set(values);
  return unique.size === values.length ? values : [...unique];
}

/** Checks of the parser before the operator; without a field path. */
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

const isLabelValue = (value: string): boolean => isValidLabelValue(value).length === 0;

/** Each fault takes some hundred characters of the answer. */
const MAX_FAULTS = 100;

/** Indexes are those of the sorted values. */
function validateLabelValues(key: string, values: readonly string[]): readonly FieldError[] {
  const errors: FieldError[] = [];
  for (const [index, value] of [...values].sort().entries()) {
    const faults = isValidLabelValue(value);
    if (faults.length > 0) errors.push(invalidError(keyPath(indexPath(VALUES, index), key), value, faults.join("; ")));
    if (errors.length === MAX_FAULTS) break;
  }
  return errors;
}

function validateOperands(operator: LabelOperator, values: readonly string[]): FieldError[] {
  switch (operator) {
    case "in":
    case "notin":
      return values.length > 0
        ? []
        : [invalidError(VALUES, values, "for 'in', 'notin' operators, values set can't be empty")];
    case "=":
    case "==":
    case "!=":
      return values.length === 1
        ? []
        : [invalidError(VALUES, values, "exact-match compatibility requires one single value")];
    case "exists":
    case "!":
      return values.length === 0
        ? []
        : [invalidError(VALUES, values, "values set must be empty for exists and does not exist")];
    case "gt":
    case "lt":
      return values.length === 1
        ? validateIntegers(values)
        : [
            invalidError(VALUES, values, "for 'Gt', 'Lt' operators, exactly one value is required"),
            ...validateIntegers(values),
          ];
    default:
      return [notSupportedError("operator", operator, OPERATORS)];
  }
}

const validateIntegers = (values: readonly string[]): FieldError[] =>
  values.flatMap((value, i) =>
    parseInt64(value) === undefined
      ? [invalidError(indexPath(VALUES, i), value, "for 'Gt', 'Lt' operators, the value must be an integer")]
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
      return `${key} ${operator} (${[...values].sort().join(",")})`;
    case "gt":
      return `${key}>${values.join()}`;
    case "lt":
      return `${key}<${values.join()}`;
    default:
      return `${key}${operator}${values.join()}`;
  }
}

/** Twice the largest that tools send; one of a mebibyte, as a URL may be, takes half a second to read. */
const MAX_SELECTOR_LENGTH = 128 * 1024;

/** @throws SelectorError for a text that takes too long to read */
export function checkSelectorLength({ length }: string): void {
  if (length > MAX_SELECTOR_LENGTH)
    throw new SelectorError(`the selector has ${length} characters, at most ${MAX_SELECTOR_LENGTH} are read`);
}

/** Fewer requirements are checked one by one. More are looked up by the labels of an object, which are few. */
const FEW = 16;

/**
 * The requirements as one test on labels, with all that can be worked out beforehand done once: each key is looked at once, however often it
 * is named, so that a long selector costs an object no more than its labels.
 */
export function compileLabelRequirements(requirements: readonly LabelRequirement[]): (labels: Labels) => boolean {
  const tests = new Map<string, KeyTest>();
  for (const requirement of requirements) {
    const test = tests.get(requirement.key) ?? new KeyTest();
    tests.set(requirement.key, test);
    test.add(requirement);
  }
  const isMet = (labels: Labels, key: string, test: KeyTest): boolean =>
    Object.hasOwn(labels, key) ? test.allows(labels[key] ?? "") : !test.isRequired;
  if (tests.size <= FEW) {
    return (labels) => {
      for (const [key, test] of tests) if (!isMet(labels, key, test)) return false;
      return true;
    };
  }
  const required = [...tests].filter(([, { isRequired }]) => isRequired).map(([key]) => key);
  return (labels) => {
    for (const key of required) if (!Object.hasOwn(labels, key)) return false;
    for (const key in labels) {
      const test = tests.get(key);
      if (test !== undefined && !isMet(labels, key, test)) return false;
    }
    return true;
  };
}

/** All requirements of one key, combined. Put together when a label has the key: of a thousand keys most objects have none. */
class KeyTest {
  isRequired = false;
  #pending: LabelRequirement[] = [];
  #isForbidden = false;
  /** Undefined: every value. */
  #allowed: Set<string> | undefined;
  readonly #denied = new Set<string>();
  #above: bigint | undefined;
  #below: bigint | undefined;

  add(requirement: LabelRequirement): void {
    const { operator } = requirement;
    if (operator !== "!" && operator !== "!=" && operator !== "notin") this.isRequired = true;
    this.#pending.push(requirement);
  }

  #take({ operator, values }: LabelRequirement): void {
    if (operator === "!") this.#isForbidden = true;
    else if (operator === "!=" || operator === "notin") for (const value of values) this.#denied.add(value);
    else if (operator === "gt") this.#above = greatest(this.#above, boundOf(values));
    else if (operator === "lt") this.#below = least(this.#below, boundOf(values));
    else if (operator !== "exists") this.#allowOnly(values);
  }

  allows(value: string): boolean {
    if (this.#pending.length > 0) for (const requirement of this.#pending.splice(0)) this.#take(requirement);
    if (this.#isForbidden || this.#denied.has(value) || this.#allowed?.has(value) === false) return false;
    if (this.#above === undefined && this.#below === undefined) return true;
    const number = parseInt64(value);
    if (number === undefined) return false;
    return (this.#above === undefined || number > this.#above) && (this.#below === undefined || number < this.#below);
  }

  #allowOnly(values: readonly string[]): void {
    const before = this.#allowed;
    this.#allowed = new Set(before === undefined ? values : values.filter((value) => before.has(value)));
  }
}

const boundOf = ([first = ""]: readonly string[]): bigint => parseInt64(first) ?? 0n;
const greatest = (a: bigint | undefined, b: bigint): bigint => (a === undefined || b > a ? b : a);
const least = (a: bigint | undefined, b: bigint): bigint => (a === undefined || b < a ? b : a);

const DECIMAL = /^[+-]?\d+$/;
const MAX_INT64 = 2n ** 63n - 1n;

/** The integer, as Go's strconv.ParseInt(text, 10, 64) reads it; undefined if the text is not one, or is out of range. */
export function parseInt64(text: string): bigint | undefined {
  // Label values are short; the bound keeps BigInt, which takes quadratic time, away from anything else.
  if (text.length > 100 || !DECIMAL.test(text)) return undefined;
  const value = BigInt(text.startsWith("+") ? text.slice(1) : text);
  return value <= MAX_INT64 && value >= -MAX_INT64 - 1n ? value : undefined;
}
