// Parses expressions, and expands nothing: macros and operators are kept as what they are.
// Grammar: https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax

import {
  type CelEntry,
  type CelExpression,
  type CelItem,
  type CelMessageField,
  CelSyntaxError,
  codePointsIn,
  depthOf,
} from "./cel-expression.ts";
import { type CelToken, celTokensOf, readNumber, readText } from "./cel-tokens.ts";

/** Names with a meaning of their own, without variables: functions with a dot in them, and types. */
export type CelNames = {
  readonly functions: ReadonlySet<string>;
  readonly types: ReadonlySet<string>;
  /** `cel.bind(x, value, expression)` names a value. Default: it is no macro. Such an expression can be checked, and not evaluated. */
  readonly hasBind?: boolean;
};

export const BIND = "cel.bind";

/** From the loosest to the tightest. */
const LEVELS: readonly (readonly string[])[] = [
  ["==", "!=", "<", "<=", ">", ">=", "in"],
  ["+", "-"],
  ["*", "/", "%"],
];

/** As deep as cel-go goes. */
const MAX_DEPTH = 250;
export const TOO_DEEP = `expression recursion limit exceeded: ${MAX_DEPTH}`;

/** Words that no variable has as its name. */
export const RESERVED_WORDS: ReadonlySet<string> = new Set(
  "as break const continue else false for function if import in let loop package namespace null return true var void while".split(
    " ",
  ),
);

/** Whether a name can be used for a variable. */
export const isCelIdentifier = (name: string): boolean =>
  /^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) && !RESERVED_WORDS.has(name);

/** How many variables a macro has, and how many bodies. */
type MacroForm = readonly [variables: number, bodies: number];

const ONE: MacroForm = [1, 1];
const ONE_WITH_TEST: MacroForm = [1, 2];
const TWO: MacroForm = [2, 1];
const TWO_WITH_TEST: MacroForm = [2, 2];

/** Source: cel-go/parser/macro.go, ext/{comprehensions,lists}.go, cel/library.go */
const MACROS: ReadonlyMap<string, readonly MacroForm[]> = new Map<string, readonly MacroForm[]>([
  ["all", [ONE, TWO]],
  ["exists", [ONE, TWO]],
  ["exists_one", [ONE, TWO]],
  ["existsOne", [ONE, TWO]],
  ["filter", [ONE]],
  ["map", [ONE, ONE_WITH_TEST]],
  ["transformList", [TWO, TWO_WITH_TEST]],
  ["transformMap", [TWO, TWO_WITH_TEST]],
  ["transformMapEntry", [TWO, TWO_WITH_TEST]],
  ["sortBy", [ONE]],
  ["optMap", [ONE]],
  ["optFlatMap", [ONE]],
]);

/** The message for what should be the name of a variable, by macro. */
const NO_NAMES: { readonly [macro: string]: string } = {
  map: "argument is not an identifier",
  filter: "argument is not an identifier",
  sortBy: "argument is not an identifier",
  optMap: "optMap() variable name must be a simple identifier",
  optFlatMap: "optFlatMap() variable name must be a simple identifier",
};
const NO_NAME = "argument must be a simple name";
const NO_SORTING = "sortBy can only be applied to a list, identifier, comprehension, call or select expression";

/** The limit of cel-go: an expression is parsed and checked in one step. Source: cel-go/parser/parser.go */
const MAX_CODE_POINTS = 100_000;

/** Throws CelSyntaxError. */
export function parseCel(source: string, names: CelNames): CelExpression {
  const size = source.length > MAX_CODE_POINTS ? codePointsIn(source) : 0;
  if (size > MAX_CODE_POINTS) {
    throw new CelSyntaxError(`expression code point size exceeds limit: size: ${size}, limit ${MAX_CODE_POINTS}`, 0);
  }
  const parser = new Parser([...celTokensOf(source)], names);
  const expression = parser.expression();
  parser.end();
  if (depthOf(expression) > MAX_TREE_DEPTH + 1) throw new CelSyntaxError(TOO_DEEP, expression.at);
  return expression;
}

/** Tokens with which a part of an expression begins. */
const OPERAND =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

/** A deeper expression could exhaust the stack of a function that walks over it. */
export const MAX_TREE_DEPTH = 1_000;

class Parser {
  readonly #tokens: readonly CelToken[];
  readonly #names: CelNames;
  #position = 0;
  #depth = 0;

  constructor(tokens: readonly CelToken[], names: CelNames) {
    this.#tokens = tokens;
    this.#names = names;
  }

  expression(): CelExpression {
    this.#depth++;
    if (this.#depth > MAX_DEPTH) this.#fail(TOO_DEEP);
    const test = this.#logic("||");
    const { at } = this.#peek();
    if (!this.#take("?")) {
      this.#depth--;
      return test;
    }
    const then = this.#logic("||");
    this.expect(":");
    const otherwise = this.expression();
    this.#depth--;
    return { type: "conditional", at, test, then, otherwise };
  }

  end(): void {
    const { kind, text, at } = this.#peek();
    if (kind !== "end") throw new CelSyntaxError(`Syntax error: extraneous input '${text}' expecting <EOF>`, at);
  }

  expect(text: string): CelToken {
    const token = this.#peek();
    if (token.text !== text || token.kind === "text") this.#unexpected(token);
    this.#position++;
    return token;
  }

  #logic(operator: "||" | "&&"): CelExpression {
    const next = (): CelExpression => (operator === "||" ? this.#logic("&&") : this.#binary(0));
    let left = next();
    for (let { at } = this.#peek(); this.#take(operator); { at } = this.#peek()) {
      left = { type: "logic", at, operator, sides: [left, next()] };
    }
    return left;
  }

  #binary(level: number): CelExpression {
    const operators = LEVELS[level];
    if (operators === undefined) return this.#unary();
    let left = this.#binary(level + 1);
    for (let token = this.#peek(); operators.includes(token.text) && token.kind !== "text"; token = this.#peek()) {
      this.#position++;
      const name = token.text === "in" ? "@in" : `_${token.text}_`;
      left = { type: "call", at: token.at, name, target: undefined, args: [left, this.#binary(level + 1)] };
    }
    return left;
  }

  #unary(): CelExpression {
    // Two of the same have no effect. There may be thousands.
    while (this.#takeTwice("!") || this.#takeTwice("-"));
    const { at } = this.#peek();
    for (const [operator, name] of [
      ["!", "!_"],
      ["-", "-_"],
    ] as const) {
      if (!this.#take(operator)) continue;
      const token = this.#peek();
      if (operator === "-" && token.kind === "number") {
        this.#position++;
        return this.#member({ type: "literal", at, value: readNumber(token, -1n) });
      }
      this.#depth++;
      if (this.#depth > MAX_DEPTH) this.#fail(TOO_DEEP);
      const operand = this.#unary();
      this.#depth--;
      return { type: "call", at, name, target: undefined, args: [operand] };
    }
    return this.#member(this.#primary());
  }

  #member(first: CelExpression): CelExpression {
    let operand = first;
    for (let length = 0; ; length++) {
      if (length > MAX_DEPTH) this.#fail(TOO_DEEP);
      const { at } = this.#peek();
      if (this.#take(".")) {
        const isOptional = this.#take("?");
        const field = this.#name();
        const call = this.#peek();
        if (isOptional || !this.#take("(")) {
          operand = this.#selected({ type: "select", at, operand, field, isOptional });
        } else {
          operand = this.#called(call.at, field, operand, this.#arguments());
        }
      } else if (this.#take("[")) {
        const isOptional = this.#take("?");
        const index = this.expression();
        this.expect("]");
        operand = { type: "index", at, operand, index, isOptional };
      } else {
        const name = dottedName(operand);
        if (name === undefined || !this.#take("{")) return operand;
        return this.#member({ type: "message", at, name, fields: this.#sequence("}", () => this.#messageField()) });
      }
    }
  }

  /** Names of types may have dots in them. */
  #selected(expression: CelExpression): CelExpression {
    const name = dottedName(expression);
    return name !== undefined && this.#names.types.has(name)
      ? { type: "identifier", at: expression.at, name }
      : expression;
  }

  #called(at: number, name: string, target: CelExpression, args: readonly CelExpression[]): CelExpression {
    const namespace = dottedName(target);
    const qualified = `${namespace}.${name}`;
    if (namespace !== undefined && this.#names.functions.has(qualified)) {
      return { type: "call", at, name: qualified, target: undefined, args };
    }
    if (qualified === BIND && this.#names.hasBind === true && args.length === 3) return bound(at, args);
    const form = MACROS.get(name)?.find(([variables, bodies]) => variables + bodies === args.length);
    if (form === undefined) return { type: "call", at, name, target, args };
    const variables = args.slice(0, form[0]).map((arg) => {
      if (arg.type === "identifier") return arg.name;
      throw new CelSyntaxError(NO_NAMES[name] ?? NO_NAME, arg.at);
    });
    const [first, second] = variables;
    if (second !== undefined && first === second) {
      throw new CelSyntaxError(`duplicate variable name: ${second}`, args[1]?.at ?? at);
    }
    if (name === "sortBy" && ["literal", "map", "message"].includes(target.type)) {
      throw new CelSyntaxError(NO_SORTING, target.at);
    }
    return { type: "macro", at, name, target, variables, bodies: args.slice(form[0]) };
  }

  #primary(): CelExpression {
    const token = this.#peek();
    const { kind, text, at } = token;
    this.#position++;
    if (kind === "number") return { type: "literal", at, value: readNumber(token, 1n) };
    if (kind === "text") return { type: "literal", at, value: readText(token) };
    if (kind === "name") return this.#named(token);
    if (text === "(") {
      const inner = this.expression();
      this.expect(")");
      return inner;
    }
    if (text === "[") return { type: "list", at, items: this.#sequence("]", () => this.#item()) };
    if (text === "{") return { type: "map", at, entries: this.#sequence("}", () => this.#entry()) };
    // A name may be said to be that of the outermost scope.
    if (text === "." && this.#peek().kind === "name") return this.#primary();
    return this.#unexpected(token, ` expecting ${OPERAND}`);
  }

  #named({ text, at }: CelToken): CelExpression {
    if (text === "true" || text === "false") return { type: "literal", at, value: text === "true" };
    if (text === "null") return { type: "literal", at, value: null };
    if (RESERVED_WORDS.has(text)) throw new CelSyntaxError(`reserved identifier: ${text}`, at);
    const call = this.#peek();
    if (!this.#take("(")) return { type: "identifier", at, name: text };
    const args = this.#arguments();
    if (text !== "has" || args.length !== 1) return { type: "call", at: call.at, name: text, target: undefined, args };
    const [arg] = args;
    if (arg?.type !== "select" || arg.isOptional) {
      throw new CelSyntaxError("invalid argument to has() macro", arg?.at ?? call.at);
    }
    return { type: "has", at: call.at, operand: arg.operand, field: arg.field };
  }

  #arguments(): readonly CelExpression[] {
    return this.#sequence(")", () => this.expression());
  }

  #item(): CelItem {
    const isOptional = this.#take("?");
    return { isOptional, value: this.expression() };
  }

  #entry(): CelEntry {
    const isOptional = this.#take("?");
    const key = this.expression();
    this.expect(":");
    return { isOptional, key, value: this.expression() };
  }

  #messageField(): CelMessageField {
    const isOptional = this.#take("?");
    const field = this.#name();
    const { at } = this.expect(":");
    return { isOptional, field, at, value: this.expression() };
  }

  /** Lists and maps may end with a comma, arguments may not. */
  #sequence<T>(end: string, read: () => T): readonly T[] {
    const items: T[] = [];
    while (!this.#take(end)) {
      if (items.length > 0) this.expect(",");
      if (items.length > 0 && end !== ")" && this.#take(end)) break;
      items.push(read());
    }
    return items;
  }

  #name(): string {
    const token = this.#peek();
    if (token.kind !== "name" || ["in", "true", "false", "null"].includes(token.text)) {
      this.#unexpected(token, " expecting IDENTIFIER");
    }
    this.#position++;
    return token.text;
  }

  #take(text: string): boolean {
    const token = this.#peek();
    if (token.text !== text || token.kind === "text" || token.kind === "end") return false;
    this.#position++;
    return true;
  }

  #takeTwice(text: "!" | "-"): boolean {
    const isTwice = this.#peek().text === text && this.#tokens[this.#position + 1]?.text === text;
    if (isTwice) this.#position += 2;
    return isTwice;
  }

  #peek(): CelToken {
    return this.#tokens[this.#position] ?? { kind: "end", text: "", at: this.#tokens.at(-1)?.at ?? 0 };
  }

  #unexpected({ kind, text, at }: CelToken, expected = ""): never {
    throw new CelSyntaxError(`Syntax error: mismatched input '${kind === "end" ? "<EOF>" : text}'${expected}`, at);
  }

  #fail(message: string): never {
    throw new CelSyntaxError(message, this.#peek().at);
  }
}

/** Source: cel-go/ext/bindings.go */
function bound(at: number, [variable, value, body]: readonly CelExpression[]): CelExpression {
  if (variable?.type !== "identifier" || value === undefined || body === undefined) {
    throw new CelSyntaxError("cel.bind() variable names must be simple identifiers", variable?.at ?? at);
  }
  return { type: "macro", at, name: BIND, target: value, variables: [variable.name], bodies: [body] };
}

/** `a.b.c` of names and nothing else. */
function dottedName(expression: CelExpression): string | undefined {
  if (expression.type === "identifier") return expression.name;
  if (expression.type !== "select" || expression.isOptional) return undefined;
  const operand = dottedName(expression.operand);
  return operand === undefined ? undefined : `${operand}.${expression.field}`;
}
