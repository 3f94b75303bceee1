// The state of one validation, and its error messages.
// Source: k8s.io/kube-openapi/pkg/validation/errors/schema.go, apiextensions-apiserver/pkg/apiserver/validation/validation.go

import type { JsonValue } from "../json/json-value.ts";
import { stringifyJson } from "../json/stringify-json.ts";
import { quoteGo } from "../text/go-quote.ts";
import {
  type FieldError,
  invalidError,
  notSupportedError,
  requiredError,
  tooLongError,
  tooManyError,
  typeInvalidError,
} from "../validation/field-error.ts";
import type { SpendSteps } from "./pattern/pattern-program.ts";
import { formatValuePath, type ValuePath } from "./value-path.ts";

export type Walk = {
  readonly path: ValuePath;
  readonly errors: FieldError[];
  /** Checks that passed. Among failing alternatives the one with most is reported, as the closest. */
  matches: number;
  /** Counts what was looked at, in steps of a pattern; may throw to give up. */
  readonly spend: SpendSteps;
};

/** An object can have as many errors as values. More than this number only makes the response larger. */
export const MAX_ERRORS = 1000;

export const startWalk = (path: ValuePath, spend: SpendSteps): Walk => ({ path, errors: [], matches: 0, spend });

export function report(walk: Walk, error: FieldError): void {
  if (walk.errors.length < MAX_ERRORS) walk.errors.push(error);
}

/** Takes over the faults of an alternative; the same fault found twice is reported once. */
export function mergeErrors(walk: Walk, errors: readonly FieldError[]): void {
  walk.spend(errors.length * walk.errors.length);
  for (const error of errors) {
    const isKnown = walk.errors.some(({ field, message }) => field === error.field && message === error.message);
    if (!isKnown) report(walk, error);
  }
}

/** The path as messages name it: members of a map at the root begin with a dot there. */
const nameOf = ({ path }: Walk): string => formatValuePath(path);

const fieldOf = (name: string): string => {
  const field = name.startsWith(".") ? name.slice(1) : name;
  return field === "" ? "<nil>" : field;
};

export function reportType(walk: Walk, expected: string, actual: string): void {
  const name = nameOf(walk);
  report(
    walk,
    typeInvalidError(fieldOf(name), actual, `${name} in body must be of type ${expected}: ${quoteGo(actual)}`),
  );
}

/** `rule` reads on from the path: `should be less than 10`. */
export function reportRule(walk: Walk, value: JsonValue, rule: string, valueText?: string): void {
  const name = nameOf(walk);
  report(walk, invalidError(fieldOf(name), value, `${name} in body ${rule}`, valueText));
}

/** A fault of a combination of schemas, which upstream reports without a field. */
export function reportCombination(walk: Walk, rule: string): void {
  report(walk, invalidError("<nil>", "", `${quoteGo(nameOf(walk))} ${rule}`));
}

export function reportRange(walk: Walk, type: string, format: string): void {
  const fault = `Checked value must be of type ${type} with format ${format} in ${nameOf(walk)}`;
  report(walk, invalidError("<nil>", "", fault));
}

export function reportRequired(walk: Walk, member: string): void {
  walk.path.push(member);
  report(walk, requiredError(fieldOf(nameOf(walk))));
  walk.path.pop();
}

export function reportForbiddenProperty(walk: Walk, member: string): void {
  const name = nameOf(walk);
  report(walk, invalidError(fieldOf(name), member, `${name}.${member} in body is a forbidden property`));
}

export function reportEnum(walk: Walk, value: JsonValue, supported: readonly JsonValue[]): void {
  const names = supported.map((allowed) => (typeof allowed === "string" ? allowed : stringifyJson(allowed)));
  report(walk, notSupportedError(fieldOf(nameOf(walk)), value, names));
}

export const reportTooLong = (walk: Walk, max: number): void => report(walk, tooLongError(fieldOf(nameOf(walk)), max));

export const reportTooMany = (walk: Walk, actual: number, max: number): void =>
  report(walk, tooManyError(fieldOf(nameOf(walk)), actual, max));
