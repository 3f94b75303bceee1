// Conversions between types, and what types and sizes values have.
// Source: https://github.com/google/cel-spec/blob/master/doc/langdef.md#list-of-standard-definitions

import { codePointsIn } from "../cel-expression.ts";
import {
  CelBytes,
  CelEvaluationError,
  CelTypeValue,
  CelUint,
  type CelValue,
  failCel,
  typeNameOf,
} from "../cel-value.ts";
import { checkInt, checkUint } from "./operators.ts";
import { type CelOverload, celFunction, celMethod } from "./overload.ts";
import { formatCelDuration, formatCelTimestamp, readDuration, readTimestamp } from "./time-functions.ts";
import { checkTimestamp } from "./time-limits.ts";

const SECOND = 1_000_000_000n;

const failConversion = (from: string, to: string): never => failCel(`type conversion error from '${from}' to '${to}'`);

/** Why a text cannot be read is not said. */
function converted(read: (text: string) => CelValue, text: string, to: string): CelValue {
  try {
    return read(text);
  } catch (error) {
    if (error instanceof CelEvaluationError) return failConversion("string", to);
    throw error;
  }
}

const identity =
  <T extends CelValue>() =>
  (value: T): T =>
    value;

const length = (text: string): bigint => BigInt(codePointsIn(text));

const SIZES: readonly CelOverload[] = [celFunction, celMethod].flatMap((declare) => [
  declare("size", ["string"], "int", length),
  declare("size", ["bytes"], "int", ({ bytes }) => BigInt(bytes.length)),
  declare("size", ["list<T>"], "int", ({ size }) => BigInt(size)),
  declare("size", ["map<K, V>"], "int", ({ size }) => BigInt(size)),
]);

export const conversionFunctions: readonly CelOverload[] = [
  ...SIZES,
  celFunction("type", ["T"], "type<T>", (value) => new CelTypeValue(typeNameOf(value))),
  celFunction("dyn", ["T"], "dyn", (value) => value),
  celFunction("bool", ["bool"], "bool", identity()),
  celFunction("bool", ["string"], "bool", readBool),
  celFunction("bytes", ["bytes"], "bytes", identity()),
  celFunction("bytes", ["string"], "bytes", (text) => new CelBytes(Buffer.from(text))),
  celFunction("double", ["double"], "double", identity()),
  celFunction("double", ["int"], "double", (value) => Number(value)),
  celFunction("double", ["uint"], "double", ({ value }) => Number(value)),
  celFunction("double", ["string"], "double", readDouble),
  celFunction("duration", ["duration"], "duration", identity()),
  celFunction("duration", ["string"], "duration", (text) => converted(readDuration, text, "google.protobuf.Duration")),
  // Upstream declares it, and cannot evaluate it.
  celFunction("duration", ["int"], "duration", () => failConversion("int", "google.protobuf.Duration")),
  celFunction("int", ["int"], "int", identity()),
  celFunction("int", ["double"], "int", wholeInt),
  celFunction("int", ["uint"], "int", ({ value }) => checkInt(value)),
  celFunction("int", ["timestamp"], "int", ({ nanoseconds }) => secondsOf(nanoseconds)),
  celFunction("int", ["duration"], "int", ({ nanoseconds }) => nanoseconds),
  celFunction("int", ["string"], "int", (text) => readInt(text)),
  celFunction("timestamp", ["timestamp"], "timestamp", identity()),
  celFunction("timestamp", ["int"], "timestamp", (seconds) => checkTimestamp(seconds * SECOND)),
  celFunction("timestamp", ["string"], "timestamp", (text) =>
    converted(readTimestamp, text, "google.protobuf.Timestamp"),
  ),
  celFunction("uint", ["uint"], "uint", identity()),
  celFunction("uint", ["int"], "uint", checkUint),
  celFunction("uint", ["double"], "uint", (value) => checkUint(truncated(value, "unsigned integer overflow"))),
  celFunction("uint", ["string"], "uint", readUint),
  celFunction("string", ["string"], "string", identity()),
  celFunction("string", ["bool"], "string", (value) => String(value)),
  celFunction("string", ["int"], "string", (value) => String(value)),
  celFunction("string", ["uint"], "string", ({ value }) => String(value)),
  celFunction("string", ["double"], "string", formatDouble),
  celFunction(
    "string",
    ["bytes"],
    "string",
    (bytes) => readUtf8(bytes) ?? failCel("invalid UTF-8 in bytes, cannot convert to string"),
  ),
  celFunction("string", ["timestamp"], "string", formatCelTimestamp),
  celFunction("string", ["duration"], "string", formatCelDuration),
];

const secondsOf = (nanoseconds: bigint): bigint =>
  (nanoseconds - (((nanoseconds % SECOND) + SECOND) % SECOND)) / SECOND;

function readBool(text: string): boolean {
  if (["1", "t", "T", "TRUE", "true", "True"].includes(text)) return true;
  if (["0", "f", "F", "FALSE", "false", "False"].includes(text)) return false;
  return failConversion("string", "bool");
}

function readInt(text: string): bigint {
  const value = /^[+-]?\d+$/.test(text) ? BigInt(text.replace("+", "")) : undefined;
  return value === undefined || BigInt.asIntN(64, value) !== value ? failConversion("string", "int") : value;
}

function readUint(text: string): CelUint {
  const value = /^\d+$/.test(text) ? BigInt(text) : undefined;
  if (value === undefined || BigInt.asUintN(64, value) !== value) return failConversion("string", "uint");
  return new CelUint(value);
}

function readDouble(text: string): number {
  const infinity = /^([+-]?)inf(?:inity)?$/i.exec(text);
  if (infinity !== null) return infinity[1] === "-" ? -Infinity : Infinity;
  if (/^nan$/i.test(text)) return Number.NaN;
  const isNumber = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(text);
  return isNumber ? Number(text) : failConversion("string", "double");
}

function truncated(value: number, why: string): bigint {
  return Number.isFinite(value) ? BigInt(Math.trunc(value)) : failCel(why);
}

/** The ends themselves are out: a double cannot tell them from their neighbours. */
function wholeInt(value: number): bigint {
  return Math.abs(value) >= 2 ** 63 ? failCel("integer overflow") : truncated(value, "integer overflow");
}

/** As Go's %g with the shortest digits: with an exponent below -4 and from 6 on, of two digits at least. */
export function formatDouble(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const size = Math.abs(value);
  if (size >= 1e-4 && size < 1e6) return String(value);
  return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
}

/** Undefined for bytes that are no text. */
export function readUtf8({ bytes }: CelBytes): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
