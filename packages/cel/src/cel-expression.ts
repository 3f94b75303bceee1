// The expressions of the Common Expression Language, parsed.
// Grammar: https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax

import type { CelValue } from "./cel-value.ts";

/** `at` is where the part stands in the source, in characters from 0: its operator, its dot, its parenthesis, or its first. */
export type CelExpression = { readonly at: number } & (
  | { readonly type: "literal"; readonly value: CelValue }
  | { readonly type: "identifier"; readonly name: string }
  | { readonly type: "select"; readonly operand: CelExpression; readonly field: string; readonly isOptional: boolean }
  | {
      readonly type: "index";
      readonly operand: CelExpression;
      readonly index: CelExpression;
      readonly isOptional: boolean;
    }
  | { readonly type: "has"; readonly operand: CelExpression; readonly field: string }
  | {
      /** Operators are calls as well, by the names that cel-go has for them: `_+_`, `!_`, `@in`. */
      readonly type: "call";
      readonly name: string;
      readonly target: CelExpression | undefined;
      readonly args: readonly CelExpression[];
    }
  | { readonly type: "logic"; readonly operator: "&&" | "||"; readonly sides: readonly [CelExpression, CelExpression] }
  | {
      readonly type: "conditional";
      readonly test: CelExpression;
      readonly then: CelExpression;
      readonly otherwise: CelExpression;
    }
  | { readonly type: "list"; readonly items: readonly CelItem[] }
  | { readonly type: "map"; readonly entries: readonly CelEntry[] }
  /** An object of a named type: `Object.spec{replicas: 1}`. */
  | { readonly type: "message"; readonly name: string; readonly fields: readonly CelMessageField[] }
  | CelMacro
);

export type CelItem = { readonly value: CelExpression; readonly isOptional: boolean };
export type CelEntry = CelItem & { readonly key: CelExpression };
export type CelMessageField = CelItem & { readonly field: string; readonly at: number };

/** A call that binds variables: `list.all(x, x > 0)`, `optional.optMap(x, x + 1)`. */
export type CelMacro = {
  readonly type: "macro";
  readonly at: number;
  readonly name: string;
  readonly target: CelExpression;
  readonly variables: readonly string[];
  readonly bodies: readonly CelExpression[];
};

/** The parts that an expression is made of. */
export function childrenOf(expression: CelExpression): readonly CelExpression[] {
  switch (expression.type) {
    case "literal":
    case "identifier":
      return [];
    case "select":
    case "has":
      return [expression.operand];
    case "index":
      return [expression.operand, expression.index];
    case "call":
      return expression.target === undefined ? expression.args : [expression.target, ...expression.args];
    case "logic":
      return expression.sides;
    case "conditional":
      return [expression.test, expression.then, expression.otherwise];
    case "list":
      return expression.items.map(({ value }) => value);
    case "map":
      return expression.entries.flatMap(({ key, value }) => [key, value]);
    case "message":
      return expression.fields.map(({ value }) => value);
    case "macro":
      return [expression.target, ...expression.bodies];
  }
}

const depths = new WeakMap<CelExpression, number>();

/** How many parts are in each other. Counted once, level by level: counting must not need the stack that it is to spare. */
export function depthOf(root: CelExpression): number {
  const known = depths.get(root);
  if (known !== undefined) return known;
  let depth = 0;
  for (let level: readonly CelExpression[] = [root]; level.length > 0; level = level.flatMap(childrenOf)) depth++;
  depths.set(root, depth);
  return depth;
}

/** A rule that does not parse, or whose parts do not go together. The message is upstream's first line. */
export class CelSyntaxError extends Error {
  override readonly name = "CelSyntaxError";
  /** Where in the source, in characters from 0. */
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.at = at;
  }
}

/** Longer lines are not shown. */
const MAX_LINE_SHOWN = 4_096;
/** Below characters of several bytes. */
const [WIDE_DOT, WIDE_MARK] = ["\uff0e", "\uff3e"];
/** Characters of all errors of one expression: each shows its line, and a line can have thousands of errors. */
const MAX_TEXT = 16_384;

/** `ERROR: <input>:1:6: undefined field 'x'` and the line with a mark below. Source: cel-go/common/error.go */
export function textOfSyntaxError({ message, at }: CelSyntaxError, source: string): string {
  const before = source.slice(0, at);
  const begin = before.lastIndexOf("\n") + 1;
  const end = source.indexOf("\n", begin);
  const text = source.slice(begin, end === -1 ? undefined : end).replaceAll("\t", " ");
  const column = codePointsIn(before.slice(begin));
  const place = `ERROR: <input>:${before.split("\n").length}:${column + 1}: ${message}`;
  if (text.length > MAX_LINE_SHOWN) return place;
  const dots = text.slice(0, at - begin).replaceAll(/./gu, (character) => (character < "\x80" ? "." : WIDE_DOT));
  const mark = (text[at - begin] ?? "") < "\x80" ? "^" : WIDE_MARK;
  return `${place}\n | ${text}\n | ${dots}${mark}`;
}

/** The first errors of an expression, and that there are more. */
export function textOfSyntaxErrors(errors: readonly CelSyntaxError[], source: string): string {
  const texts: string[] = [];
  let length = 0;
  for (const error of errors) {
    if (length > MAX_TEXT) {
      texts.push("and further errors");
      break;
    }
    const text = textOfSyntaxError(error, source);
    length += text.length;
    texts.push(text);
  }
  return texts.join("\n");
}

/** Counted without an array of the characters, which may be many. */
export function codePointsIn(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) if ((text.charCodeAt(at) & 0xfc00) !== 0xdc00) count++;
  return count;
}
