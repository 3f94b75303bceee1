// One fault of one field, and the texts Kubernetes gives it.
// Source: k8s.io/apimachinery/pkg/util/validation/field/errors.go

import type { JsonValue } from "../json/json-value.ts";
import { stringifyJson } from "../json/stringify-json.ts";
import { quoteGo } from "../text/go-quote.ts";

/** The machine-readable reasons of a Status cause. */
export type FieldErrorType =
  | "FieldValueRequired"
  | "FieldValueInvalid"
  | "FieldValueNotSupported"
  | "FieldValueForbidden"
  | "FieldValueTooLong"
  | "FieldValueTooMany"
  | "FieldValueDuplicate"
  | "FieldValueNotFound"
  | "FieldValueTypeInvalid"
  | "InternalError";

/** A refused field. All of one write become the causes of a 422 Invalid. `invalidError` makes the usual one. */
export type FieldError = {
  readonly type: FieldErrorType;
  /** Path such as `spec.scope.projects[0].project`; "<nil>" where upstream has no path. */
  readonly field: string;
  /** The text without the path: `Invalid value: "x": must be …`. */
  readonly message: string;
};

const fieldError = (type: FieldErrorType, field: string, message: string): FieldError => ({ type, field, message });

const withDetail = (text: string, detail: string): string => (detail === "" ? text : `${text}: ${detail}`);

/** `Internal error: <detail>` */
export const internalError = (field: string, detail: string): FieldError =>
  fieldError("InternalError", field, `Internal error: ${detail}`);

/** Longer values are cut in messages: a request with megabytes must not be returned several times. */
const MAX_SHOWN = 1024;

/** The text in quotes as Go writes it, or its beginning. */
export const quoteShortened = (text: string): string =>
  text.length <= MAX_SHOWN ? quoteGo(text) : `${quoteGo(text.slice(0, MAX_SHOWN))}...`;

/** A value as error texts print it: strings quoted as in Go, scalars bare, the rest as JSON. */
export function formatBadValue(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return "null";
  if (typeof value === "string") return quoteShortened(value);
  return stringifyJson(value);
}

export const requiredError = (field: string, detail = ""): FieldError =>
  fieldError("FieldValueRequired", field, withDetail("Required value", detail));

/** `valueText` overrides how the value prints, for values that upstream prints in Go syntax. */
export const invalidError = (
  field: string,
  value: JsonValue | undefined,
  detail = "",
  valueText = formatBadValue(value),
): FieldError => fieldError("FieldValueInvalid", field, withDetail(`Invalid value: ${valueText}`, detail));

/** The error of an object as a whole, which the text does not repeat. */
export const invalidWholeError = (field: string, detail: string): FieldError =>
  fieldError("FieldValueInvalid", field, `Invalid value: ${detail}`);

export const typeInvalidError = (field: string, value: JsonValue | undefined, detail = ""): FieldError =>
  fieldError("FieldValueTypeInvalid", field, withDetail(`Invalid value: ${formatBadValue(value)}`, detail));

/** `valueText` overrides how the value prints, for lists that upstream prints in Go syntax. */
export function notSupportedError(
  field: string,
  value: JsonValue | undefined,
  supported: readonly string[],
  valueText = formatBadValue(value),
): FieldError {
  const detail = supported.length === 0 ? "" : `supported values: ${supported.map(quoteGo).join(", ")}`;
  return fieldError("FieldValueNotSupported", field, withDetail(`Unsupported value: ${valueText}`, detail));
}

export const forbiddenError = (field: string, detail: string): FieldError =>
  fieldError("FieldValueForbidden", field, withDetail("Forbidden", detail));

export const tooLongError = (field: string, maxBytes: number): FieldError =>
  fieldError("FieldValueTooLong", field, `Too long: may not be more than ${maxBytes} bytes`);

export const tooManyError = (field: string, actual: number, max: number): FieldError =>
  fieldError("FieldValueTooMany", field, `Too many: ${actual}: must have at most ${max} items`);

export const duplicateError = (field: string, value: JsonValue, valueText = formatBadValue(value)): FieldError =>
  fieldError("FieldValueDuplicate", field, `Duplicate value: ${valueText}`);

export const notFoundFieldError = (field: string, value: JsonValue): FieldError =>
  fieldError("FieldValueNotFound", field, `Not found: ${formatBadValue(value)}`);

/** `spec` + `ttl` → `spec.ttl`; an empty parent gives the child alone. */
export const childPath = (parent: string, child: string): string => (parent === "" ? child : `${parent}.${child}`);

/** `spec.groups` + 2 → `spec.groups[2]`. */
export const indexPath = (parent: string, index: number): string => `${parent}[${index}]`;

/** `metadata.labels` + `a/b` → `metadata.labels[a/b]`. */
export const keyPath = (parent: string, key: string): string => `${parent}[${key}]`;
