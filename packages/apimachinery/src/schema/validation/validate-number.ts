// Tells what JSON type a value has, and checks numbers: range of the format, bounds, multiples.
// Source: k8s.io/kube-openapi/pkg/validation/validate/{type,values}.go

import { isJsonArray, type JsonValue } from "../../json/json-value.ts";
import { formatGoFloat } from "../../validation/go-syntax.ts";
import type { CompiledSchema } from "./compile-schema.ts";
import { reportRange, reportRule, type Walk } from "./schema-walk.ts";

const MAX_INT64 = 2n ** 63n - 1n;
const MIN_INT64 = -(2n ** 63n);
const MAX_INT32 = 2 ** 31 - 1;
const MIN_INT32 = -(2 ** 31);

/** `integer` covers 1.0 as well; whole numbers that no int64 holds are only `number`. */
export function jsonTypeOf(value: JsonValue): string {
  if (value === null) return "null";
  if (typeof value === "number") return Number.isSafeInteger(value) ? "integer" : "number";
  if (typeof value === "bigint") return value >= MIN_INT64 && value <= MAX_INT64 ? "integer" : "number";
  if (typeof value === "object") return isJsonArray(value) ? "array" : "object";
  return typeof value;
}

export function validateNumber({ schema, formatName }: CompiledSchema, value: number | bigint, walk: Walk): void {
  const { minimum, maximum, exclusiveMinimum = false, exclusiveMaximum = false, multipleOf } = schema;
  const isInteger = jsonTypeOf(value) === "integer";
  const boundText = (bound: number): string => (isInteger ? String(Math.trunc(bound)) : formatGoFloat(bound));
  const refuse = (rule: string): void =>
    reportRule(walk, value, rule, isInteger ? undefined : formatGoFloat(Number(value)));

  if (isInteger && formatName === "int32" && (value < MIN_INT32 || value > MAX_INT32)) {
    reportRange(walk, "integer", formatName);
  }
  if (multipleOf !== undefined && !isMultipleOf(value, multipleOf)) {
    refuse(`should be a multiple of ${boundText(multipleOf)}`);
  }
  if (minimum !== undefined && (value < minimum || (exclusiveMinimum && Number(value) === minimum))) {
    refuse(`should be greater than ${exclusiveMinimum ? "" : "or equal to "}${boundText(minimum)}`);
  }
  if (maximum !== undefined && (value > maximum || (exclusiveMaximum && Number(value) === maximum))) {
    refuse(`should be less than ${exclusiveMaximum ? "" : "or equal to "}${boundText(maximum)}`);
  }
}

function isMultipleOf(value: number | bigint, factor: number): boolean {
  if (factor <= 0) return false;
  if (typeof value === "bigint" && Number.isInteger(factor)) return value % BigInt(factor) === 0n;
  const quotient = factor < 1 ? (1 / factor) * Number(value) : Number(value) / factor;
  return Number.isInteger(quotient);
}
