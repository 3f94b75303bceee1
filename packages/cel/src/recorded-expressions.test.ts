// Answers of kube-apiserver 1.36.2 to expressions: types, highest costs, values, and the words of refusals.
// Recorded with its CEL environment for new expressions (k8s.io/apiserver/pkg/cel/environment); the fields are those of `Recorded`.

import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { createCelMeter } from "./cel-budget.ts";
import { CelSyntaxError, textOfSyntaxErrors } from "./cel-expression.ts";
import { formatCelType } from "./cel-type.ts";
import {
  CelBytes,
  CelDuration,
  CelEvaluationError,
  CelList,
  CelMap,
  CelOptional,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  type CelValue,
} from "./cel-value.ts";
import { checkCel } from "./check-cel.ts";
import { constantFault } from "./constant-fault.ts";
import { estimateCost } from "./estimate-cost.ts";
import { evaluateCel } from "./evaluate-cel.ts";
import { CEL_NAMES } from "./functions/cel-library.ts";
import { formatDouble } from "./functions/conversion-functions.ts";
import { parseCel } from "./parse-cel.ts";

type Recorded = {
  readonly expression: string;
  /** The fault for which it is refused. */
  readonly compile?: string;
  readonly type?: string;
  /** Highest cost, in digits. */
  readonly max?: string;
  /** The fault of a constant, for which it is refused as well. */
  readonly program?: string;
  readonly error?: string;
  /** As `show` has it. */
  readonly value?: string;
};

function answerTo(source: string): Omit<Recorded, "expression"> {
  let seen: Omit<Recorded, "expression"> = {};
  try {
    const expression = parseCel(source, CEL_NAMES);
    const checked = checkCel(expression, {});
    if (checked.faults.length > 0) return { compile: textOfSyntaxErrors(checked.faults, source) };
    const max = estimateCost(expression, checked, { max: 0, minBytes: 0, fields: new Map() });
    seen = { type: typeText(formatCelType(checked.type)), max: String(max) };
    const program = constantFault(expression);
    if (program !== undefined) return { ...seen, program };
    return { ...seen, value: show(evaluateCel(expression, { names: {}, meter: createCelMeter(10_000_000) })) };
  } catch (error) {
    if (error instanceof CelSyntaxError) return { compile: textOfSyntaxErrors([error], source) };
    if (error instanceof CelEvaluationError) return { ...seen, error: error.message };
    throw error;
  }
}

/** Go's names of types, as messages have them, without the parameters of optional values and types. */
const typeText = (text: string): string =>
  text
    .replaceAll(/google\.protobuf\.(Timestamp|Duration)/g, (_all, name: string) => name.toLowerCase())
    .replaceAll("null_type", "null")
    .replace(/^(optional_type|type)\(.*\)$/, "$1")
    .replaceAll(/type\([^()]*\)/g, "type");

/** A text by which values of different types differ. */
function show(value: CelValue): string {
  if (value === null || typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (typeof value === "number") return `d${formatDouble(value)}`;
  if (typeof value === "string") return asciiQuoted(value);
  if (value instanceof CelUint) return `${value.value}u`;
  if (value instanceof CelBytes) return `b${Buffer.from(value.bytes).toString("hex")}`;
  if (value instanceof CelTimestamp) {
    const rest = ((value.nanoseconds % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
    return `t${(value.nanoseconds - rest) / 1_000_000_000n}.${String(rest).padStart(9, "0")}`;
  }
  if (value instanceof CelDuration) return `D${value.nanoseconds}`;
  if (value instanceof CelOptional) return value.value === undefined ? "none" : `some(${show(value.value)})`;
  if (value instanceof CelList) return `[${value.items.map(show).join(", ")}]`;
  if (value instanceof CelMap) {
    const entries = value.keys().map((key) => `${show(key)}: ${show(value.get(key) ?? null)}`);
    return `{${entries.toSorted().join(", ")}}`;
  }
  return value instanceof CelTypeValue ? `type ${value.typeName}` : `<${value.typeName}>`;
}

const SHORT: { readonly [character: string]: string } = {
  "\x07": "\\a",
  "\b": "\\b",
  "\t": "\\t",
  "\n": "\\n",
  "\v": "\\v",
  "\f": "\\f",
  "\r": "\\r",
  '"': '\\"',
  "\\": "\\\\",
};

/** Go's strconv.QuoteToASCII. */
function asciiQuoted(text: string): string {
  const characters = [...text].map((character) => {
    const code = character.codePointAt(0) ?? 0;
    const hex = (digits: number): string => code.toString(16).padStart(digits, "0");
    if (SHORT[character] !== undefined) return SHORT[character];
    if (code >= 0x20 && code < 0x7f) return character;
    if (code < 0x80) return `\\x${hex(2)}`;
    return code < 0x10000 ? `\\u${hex(4)}` : `\\U${hex(8)}`;
  });
  return `"${characters.join("")}"`;
}

const file = new URL("testdata/recorded-expressions.json", import.meta.url);
const recorded = JSON.parse(await readFile(file, "utf8")) as readonly Recorded[];

describe("expressions are taken, refused and evaluated as by kube-apiserver", () => {
  it(`gives the recorded answer to each of ${recorded.length}`, () => {
    const different = recorded.flatMap(({ expression, ...expected }) => {
      const { max: ownMax, ...own } = answerTo(expression);
      const { type, max, ...rest } = expected;
      const wanted = { ...(type === undefined ? {} : { type: typeText(type) }), ...rest };
      // The largest costs are beyond the whole numbers of JavaScript.
      const isSame =
        Number(max ?? 0) === Number(ownMax ?? 0) && JSON.stringify(sorted(own)) === JSON.stringify(sorted(wanted));
      return isSame ? [] : [{ expression, wanted: { ...wanted, max }, own: { ...own, max: ownMax } }];
    });
    expect(different).toEqual([]);
  });
});

const sorted = (answer: object): readonly (readonly [string, unknown])[] =>
  Object.entries(answer).toSorted(([a], [b]) => a.localeCompare(b));
