// `'%s is %d'.format([name, size])`.
// Source: github.com/google/cel-go/ext/formatting.go

import {
  CelBytes,
  CelDuration,
  CelList,
  CelMap,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  type CelValue,
  failCel,
  isCelNumber,
  plainNumber,
  typeNameOf,
} from "../cel-value.ts";
import { formatCelDuration, formatCelTimestamp } from "./time-functions.ts";

const CLAUSE = /%(?:%|(?:\.(\d+))?([A-Za-z]))/y;
const MAX_PRECISION = 1_000;

export function formatCelText(template: string, { items }: CelList): string {
  let text = "";
  let used = 0;
  for (let at = 0; at < template.length; ) {
    const percent = template.indexOf("%", at);
    text += template.slice(at, percent === -1 ? undefined : percent);
    if (percent === -1) break;
    const clause = new RegExp(CLAUSE);
    clause.lastIndex = percent;
    const match = clause.exec(template);
    if (match === null) return failCel("could not parse formatting clause: unexpected end of string");
    at = clause.lastIndex;
    if (match[0] === "%%") {
      text += "%";
      continue;
    }
    const value = items[used];
    if (value === undefined) return failCel(`index ${used} out of range`);
    used++;
    text += formatClause(match[2] ?? "", match[1] === undefined ? undefined : Number(match[1]), value);
  }
  return text;
}

function formatClause(verb: string, precision: number | undefined, value: CelValue): string {
  if (precision !== undefined && precision > MAX_PRECISION) return failCel(`precision ${precision} is too large`);
  switch (verb) {
    case "s":
      return textOf(value);
    case "d":
      return decimal(value);
    case "f":
      return double(value, verb).toFixed(Math.min(precision ?? 6, 100));
    case "e":
      return double(value, verb)
        .toExponential(Math.min(precision ?? 6, 100))
        .replace(/e([+-])(\d)$/, "e$10$2");
    case "b":
      return typeof value === "boolean" ? String(Number(value)) : whole(value, verb).toString(2);
    case "o":
      return whole(value, verb).toString(8);
    case "x":
    case "X":
      return verb === "X" ? hexadecimal(value, verb).toUpperCase() : hexadecimal(value, verb);
    default:
      return failCel(`could not parse formatting clause: unrecognized formatting clause "${verb}"`);
  }
}

function textOf(value: CelValue): string {
  if (typeof value === "string") return value;
  if (value === null || typeof value === "boolean") return String(value);
  if (isCelNumber(value)) return decimalText(value);
  if (value instanceof CelBytes) return new TextDecoder().decode(value.bytes);
  if (value instanceof CelTimestamp) return formatCelTimestamp(value);
  if (value instanceof CelDuration) return formatCelDuration(value);
  if (value instanceof CelTypeValue) return value.typeName;
  if (value instanceof CelList) return `[${value.items.map(textOf).join(", ")}]`;
  if (value instanceof CelMap) {
    const entries = value.keys().map((key) => `${textOf(key)}: ${textOf(value.get(key) ?? null)}`);
    return `{${entries.sort().join(", ")}}`;
  }
  return failCel(
    `error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given ${typeNameOf(value)}`,
  );
}

function decimalText(value: bigint | number | CelUint): string {
  const number = plainNumber(value);
  if (number === Infinity || number === -Infinity) return number > 0 ? "Infinity" : "-Infinity";
  return String(number);
}

function decimal(value: CelValue): string {
  if (isCelNumber(value) && (typeof value !== "number" || !Number.isFinite(value))) return decimalText(value);
  return failCel(
    `error during formatting: decimal clause can only be used on integers, was given ${typeNameOf(value)}`,
  );
}

function double(value: CelValue, verb: string): number {
  if (typeof value === "number") return value;
  const clause = verb === "f" ? "fixed-point" : "scientific";
  return failCel(
    `error during formatting: ${clause} clause can only be used on doubles, was given ${typeNameOf(value)}`,
  );
}

function whole(value: CelValue, verb: string): bigint {
  if (typeof value === "bigint") return value;
  if (value instanceof CelUint) return value.value;
  const clause =
    verb === "b" ? "only integers and bools can be formatted as binary" : "octal clause can only be used on integers";
  return failCel(`error during formatting: ${clause}, was given ${typeNameOf(value)}`);
}

function hexadecimal(value: CelValue, verb: string): string {
  if (typeof value === "string") return Buffer.from(value).toString("hex");
  if (value instanceof CelBytes) return Buffer.from(value.bytes).toString("hex");
  if (typeof value === "bigint" || value instanceof CelUint) return whole(value, verb).toString(16);
  return failCel(
    `error during formatting: only integers, byte buffers, and strings can be formatted as hex, was given ${typeNameOf(value)}`,
  );
}
