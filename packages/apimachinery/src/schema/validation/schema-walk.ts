// The state of one validation, and its error messages.
// Source: k8s.io/kube-openapi/pkg/validation/errors/schema.go, apiextensions-apiserver/pkg/apiserver/validation/validation.go

import type { JsonValue } from "../../json/json-value.ts";
import { stringifyJson } from "../../json/stringify-json.ts";
import { quoteGo } from "../../text/go-quote.ts";
import {
  type FieldError,
  invalidError,
  notSupportedError,
  requiredError,
  tooLongError,
  tooManyError,
  typeInvalidError,
} from "../../validation/field-error.ts";
import type { SpendSteps } from "../pattern/pattern-program.ts";
import { formatValuePath, type ValuePath } from "../value-path.ts";

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

/** Naming a step of a path, in steps of a pattern. */
const PATH_STEPS = 4;

/** `make` is given the path as messages name it: members of a map at the root begin with a dot there. Texts are made for faults that are kept. */
function report(walk: Walk, make: (name: string) => FieldError): void {
  if (walk.errors.length >= MAX_ERRORS) return;
  walk.spend(walk.path.length * PATH_STEPS);
  walk.errors.push(make(formatValuePath(walk.path)));
}

/** Takes over the faults of an alternative; the same fault found twice is reported once. */
export function mergeErrors(walk: Walk, errors: readonly FieldError[]): void {
  walk.spend(errors.length * walk.errors.length);
  for (const error of errors) {
    const isKnown = walk.errors.some(({ field, message }) => field === error.field && message === error.message);
    if (!isKnown && walk.errors.length < MAX_ERRORS) walk.errors.push(error);
  }
}

const fieldOf = (name: string): string => {
  const field = name.startsWith(".") ? name.slice(1) : name;
  return field === "" ? "<nil>" : field;
};

export const reportType = (walk: Walk, expected: string, actual: string): void =>
  report(walk, (name) =>
    typeInvalidError(fieldOf(name), actual, `${name} in body must be of type ${expected}: ${quoteGo(actual)}`),
  );

/** `rule` reads on from the path: `should be less than 10`. */
export const reportRule = (walk: Walk, value: JsonValue, rule: string, valueText?: string): void =>
  report(walk, (name) => invalidError(fieldOf(name), value, `${name} in body ${rule}`, valueText));

/** A fault of a combination of schemas, which upstream reports without a field. */
export const reportCombination = (walk: Walk, rule: string): void =>
  report(walk, (name) => invalidError("<nil>", "", `${quoteGo(name)} ${rule}`));

export const reportRange = (walk: Walk, type: string, format: string): void =>
  report(walk, (name) =>
    invalidError("<nil>", "", `Checked value must be of type ${type} with format ${format} in ${name}`),
  );

export function reportRequired(walk: Walk, member: string): void {
  walk.path.push(member);
  report(walk, (name) => requiredError(fieldOf(name)));
  walk.path.pop();
}

export const reportForbiddenProperty = (walk: Walk, member: string): void =>
  report(walk, (name) => invalidError(fieldOf(name), member, `${name}.${member} in body is a forbidden property`));

export const reportEnum = (walk: Walk, value: JsonValue, supported: readonly JsonValue[]): void =>
  report(walk, (name) => {
    const names = supported.map((allowed) => (typeof allowed === "string" ? allowed : stringifyJson(allowed)));
    return notSupportedError(fieldOf(name), value, names);
  });

export const reportTooLong = (walk: Walk, max: number): void =>
  report(walk, (name) => tooLongError(fieldOf(name), max));

export const reportTooMany = (walk: Walk, actual: number, max: number): void =>
  report(walk, (name) => tooManyError(fieldOf(name), actual, max));
