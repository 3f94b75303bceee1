// `'%s is %d'.format([name, size])`, in the English of the United States.
// Source: github.com/google/cel-go/ext/formatting.go

import { quoteGo } from "@postern/apimachinery/text/go-quote";
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
  typeNameOf,
} from "../cel-value.ts";
import { formatDouble, readUtf8 } from "./conversion-functions.ts";
import { argumentFault, type FormatClause, FormatError, type FormatVerb, formatPartsOf } from "./format-clauses.ts";
import { formatCelDuration, formatCelTimestamp } from "./time-functions.ts";

const MAX_PRECISION = 1_000;
const DEFAULT_PRECISION = 6;

/** Throws CelEvaluationError. */
export function formatCelText(template: string, { items }: CelList): string {
  try {
    let text = "";
    for (const part of formatPartsOf(template, items.length)) {
      text += typeof part === "string" ? part : formatClause(part, items[part.index] ?? null);
    }
    return text;
  } catch (error) {
    if (error instanceof FormatError) return failCel(error.message);
    throw error;
  }
}

const refuse = (verb: FormatVerb, value: CelValue): never => failCel(argumentFault(verb, typeNameOf(value)));

function formatClause({ verb, precision = DEFAULT_PRECISION }: FormatClause, value: CelValue): string {
  if (precision > MAX_PRECISION) return failCel(`precision ${precision} is too large`);
  switch (verb) {
    case "s":
      return textOf(value);
    case "d":
      return String(wholeOf(verb, value));
    case "f":
      return grouped(doubleOf(verb, value), precision);
    case "e":
      // Upstream takes the precision for the width.
      return scientific(doubleOf(verb, value)).padStart(precision);
    case "b":
      return typeof value === "boolean" ? String(Number(value)) : wholeOf(verb, value).toString(2);
    case "o":
      return wholeOf(verb, value).toString(8);
    case "x":
    case "X":
      return verb === "X" ? hexadecimal(verb, value).toUpperCase() : hexadecimal(verb, value);
  }
}

function textOf(value: CelValue): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return formatDouble(value);
  if (value instanceof CelBytes) return utf8Of(value);
  if (value instanceof CelTimestamp) return formatCelTimestamp(value);
  if (value instanceof CelDuration) return formatCelDuration(value);
  return plainText(value) ?? refuse("s", value);
}

/** Undefined for values that stand alone in another form than in lists and maps, and for those that have none. */
function plainText(value: CelValue): string | undefined {
  if (value === null || typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (value instanceof CelUint) return String(value.value);
  if (value instanceof CelTypeValue) return value.typeName;
  if (value instanceof CelList) return `[${value.items.map(literalOf).join(", ")}]`;
  if (!(value instanceof CelMap)) return undefined;
  const entries = value.keys().map((key) => [keyOf(key), literalOf(value.get(key) ?? null)] as const);
  return `{${entries
    .toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .map((entry) => entry.join(":"))
    .join(", ")}}`;
}

/** As an expression would have it. */
function literalOf(value: CelValue): string {
  if (typeof value === "string") return quoteGo(value);
  if (typeof value === "number")
    return Number.isFinite(value) ? fixed(value, DEFAULT_PRECISION) : quoteGo(formatDouble(value));
  if (value instanceof CelBytes) return `b${quoteGo(utf8Of(value))}`;
  if (value instanceof CelTimestamp) return `timestamp(${quoteGo(formatCelTimestamp(value))})`;
  if (value instanceof CelDuration) return `duration(${quoteGo(formatCelDuration(value))})`;
  const text = plainText(value);
  return text ?? failCel(`error during formatting: no formatting function for ${typeNameOf(value)}`);
}

function keyOf(key: CelValue): string {
  const isKey = ["string", "boolean", "bigint"].includes(typeof key) || key instanceof CelUint;
  if (isKey) return literalOf(key);
  return failCel(`error during formatting: no formatting function for map key of type ${typeNameOf(key)}`);
}

function utf8Of(bytes: CelBytes): string {
  const why = "invalid UTF-8 in bytes, cannot convert to string";
  return readUtf8(bytes) ?? failCel(`error during formatting: could not convert argument ${quoteGo(why)} to string`);
}

function wholeOf(verb: FormatVerb, value: CelValue): bigint {
  if (typeof value === "bigint") return value;
  return value instanceof CelUint ? value.value : refuse(verb, value);
}

const NUMBERS: { readonly [text: string]: number } = { NaN: Number.NaN, Infinity, "-Infinity": -Infinity };

function doubleOf(verb: FormatVerb, value: CelValue): number {
  if (typeof value === "number") return value;
  const named = typeof value === "string" && Object.hasOwn(NUMBERS, value) ? NUMBERS[value] : undefined;
  return named ?? refuse(verb, value);
}

/** Undefined for a finite number. */
function namedNumber(value: number): string | undefined {
  if (Number.isNaN(value)) return "NaN";
  return Number.isFinite(value) ? undefined : `${value < 0 ? "-" : ""}∞`;
}

/** `1,234.50` */
function grouped(value: number, precision: number): string {
  const named = namedNumber(value);
  if (named !== undefined) return named;
  const [whole = "", ...fraction] = fixed(Math.abs(value), precision).split(".");
  const groups: string[] = [];
  for (let end = whole.length; end > 0; end -= 3) groups.unshift(whole.slice(Math.max(0, end - 3), end));
  return `${value < 0 ? "-" : ""}${[groups.join(","), ...fraction].join(".")}`;
}

const DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** `1.234568×10⁰⁶` */
function scientific(value: number): string {
  const named = namedNumber(value);
  if (named !== undefined) return named;
  const [, mantissa = "", sign, exponent = ""] =
    /^(.*)e([+-])(\d+)$/.exec((value === 0 ? 0 : value).toExponential(DEFAULT_PRECISION)) ?? [];
  const raised = [...exponent.padStart(2, "0")].map((digit) => DIGITS[Number(digit)]).join("");
  return `${mantissa}×10${sign === "-" ? "⁻" : ""}${raised}`;
}

/** All digits of the number, rounded to even: JavaScript's toFixed rounds up, and ends at 100 digits. */
function fixed(value: number, precision: number): string {
  const [numerator, denominator] = ratioOf(Math.abs(value));
  const scaled = numerator * 10n ** BigInt(precision);
  const [whole, twice] = [scaled / denominator, (scaled % denominator) * 2n];
  const rounded = twice > denominator || (twice === denominator && whole % 2n === 1n) ? whole + 1n : whole;
  const digits = String(rounded).padStart(precision + 1, "0");
  const at = digits.length - precision;
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  return `${sign}${digits.slice(0, at)}${precision === 0 ? "" : `.${digits.slice(at)}`}`;
}

/** A finite number as it is in memory: a whole number times a power of two. */
function ratioOf(value: number): readonly [numerator: bigint, denominator: bigint] {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const all = bits.getBigUint64(0);
  const [exponent, fraction] = [Number((all >> 52n) & 0x7ffn), all & 0xfffffffffffffn];
  const power = Math.max(exponent, 1) - 1_075;
  const mantissa = exponent === 0 ? fraction : fraction | (1n << 52n);
  return power >= 0 ? [mantissa << BigInt(power), 1n] : [mantissa, 1n << BigInt(-power)];
}

function hexadecimal(verb: FormatVerb, value: CelValue): string {
  if (typeof value === "string") return Buffer.from(value).toString("hex");
  if (value instanceof CelBytes) return Buffer.from(value.bytes).toString("hex");
  return wholeOf(verb, value).toString(16);
}
