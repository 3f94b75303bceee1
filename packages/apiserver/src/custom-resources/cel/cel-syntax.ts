// The expressions of the Common Expression Language that validation rules are written in, parsed.
// Grammar: https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax

export type CelExpression =
  | { readonly type: "literal"; readonly value: string | number | bigint | boolean | null }
  | { readonly type: "identifier"; readonly name: string }
  | { readonly type: "select"; readonly operand: CelExpression; readonly field: string }
  | { readonly type: "index"; readonly operand: CelExpression; readonly index: CelExpression }
  | {
      readonly type: "call";
      readonly name: string;
      readonly target: CelExpression | undefined;
      readonly args: readonly CelExpression[];
    }
  | { readonly type: "unary"; readonly operator: "!" | "-"; readonly operand: CelExpression }
  | { readonly type: "binary"; readonly operator: string; readonly left: CelExpression; readonly right: CelExpression }
  | {
      readonly type: "conditional";
      readonly test: CelExpression;
      readonly then: CelExpression;
      readonly otherwise: CelExpression;
    }
  | { readonly type: "list"; readonly items: readonly CelExpression[] }
  | { readonly type: "map"; readonly entries: readonly (readonly [key: CelExpression, value: CelExpression])[] };

export class CelSyntaxError extends Error {
  override readonly name = "CelSyntaxError";
}

const TOKEN =
  /\s+|\/\/[^\n]*|(?<number>\d+\.\d+(?:[eE][+-]?\d+)?|0x[\da-fA-F]+u?|\d+(?:[eE][+-]?\d+|u)?)|(?<text>[rR]?(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))|(?<name>[A-Za-z_]\w*)|(?<sign>&&|\|\||[=!<>]=|[-+*/%!<>?:.,()[\]{}])/y;

type Token = { readonly kind: "number" | "text" | "name" | "sign" | "end"; readonly text: string };

function* tokensOf(source: string): Generator<Token> {
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < source.length) {
    const at = TOKEN.lastIndex;
    const groups = TOKEN.exec(source)?.groups;
    if (groups === undefined) throw new CelSyntaxError(`unexpected ${JSON.stringify(source[at])} at ${at}`);
    for (const kind of ["number", "text", "name", "sign"] as const) {
      const text = groups[kind];
      if (text !== undefined) yield { kind, text };
    }
  }
  yield { kind: "end", text: "" };
}

/** From the loosest to the tightest. */
const LEVELS: readonly (readonly string[])[] = [
  ["||"],
  ["&&"],
  ["==", "!=", "<", "<=", ">", ">=", "in"],
  ["+", "-"],
  ["*", "/", "%"],
];

/** Throws CelSyntaxError. */
export function parseCel(source: string): CelExpression {
  const parser = new Parser([...tokensOf(source)]);
  const expression = parser.expression();
  parser.expect("");
  return expression;
}

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  expression(): CelExpression {
    const test = this.#binary(0);
    if (!this.#take("?")) return test;
    const then = this.#binary(0);
    this.expect(":");
    return { type: "conditional", test, then, otherwise: this.expression() };
  }

  expect(text: string): void {
    const token = this.#peek();
    if (token.text !== text || token.kind === "text") {
      throw new CelSyntaxError(`found ${JSON.stringify(token.text)}, expected ${JSON.stringify(text)}`);
    }
    this.#at++;
  }

  #binary(level: number): CelExpression {
    const operators = LEVELS[level];
    if (operators === undefined) return this.#unary();
    let left = this.#binary(level + 1);
    for (let token = this.#peek(); operators.includes(token.text) && token.kind !== "text"; token = this.#peek()) {
      this.#at++;
      left = { type: "binary", operator: token.text, left, right: this.#binary(level + 1) };
    }
    return left;
  }

  #unary(): CelExpression {
    for (const operator of ["!", "-"] as const) {
      if (this.#take(operator)) return { type: "unary", operator, operand: this.#unary() };
    }
    return this.#member();
  }

  #member(): CelExpression {
    let operand = this.#primary();
    for (;;) {
      if (this.#take(".")) {
        const name = this.#name();
        operand = this.#take("(")
          ? { type: "call", name, target: operand, args: this.#list(")") }
          : { type: "select", operand, field: name };
      } else if (this.#take("[")) {
        const index = this.expression();
        this.expect("]");
        operand = { type: "index", operand, index };
      } else {
        return operand;
      }
    }
  }

  #primary(): CelExpression {
    const { kind, text } = this.#peek();
    this.#at++;
    if (kind === "number") return { type: "literal", value: numberOf(text) };
    if (kind === "text") return { type: "literal", value: textOf(text) };
    if (kind === "name") return this.#named(text);
    if (text === "(") {
      const inner = this.expression();
      this.expect(")");
      return inner;
    }
    if (text === "[") return { type: "list", items: this.#list("]") };
    if (text === "{") return { type: "map", entries: this.#entries() };
    throw new CelSyntaxError(`unexpected ${JSON.stringify(text)}`);
  }

  #named(name: string): CelExpression {
    if (name === "true" || name === "false") return { type: "literal", value: name === "true" };
    if (name === "null") return { type: "literal", value: null };
    if (this.#take("(")) return { type: "call", name, target: undefined, args: this.#list(")") };
    return { type: "identifier", name };
  }

  #list(end: string): readonly CelExpression[] {
    const items: CelExpression[] = [];
    while (!this.#take(end)) {
      if (items.length > 0) this.expect(",");
      if (this.#take(end)) break;
      items.push(this.expression());
    }
    return items;
  }

  #entries(): readonly (readonly [CelExpression, CelExpression])[] {
    const entries: (readonly [CelExpression, CelExpression])[] = [];
    while (!this.#take("}")) {
      if (entries.length > 0) this.expect(",");
      const key = this.expression();
      this.expect(":");
      entries.push([key, this.expression()]);
    }
    return entries;
  }

  #name(): string {
    const { kind, text } = this.#peek();
    if (kind !== "name") throw new CelSyntaxError(`found ${JSON.stringify(text)}, expected a name`);
    this.#at++;
    return text;
  }

  #take(text: string): boolean {
    const token = this.#peek();
    if (token.text !== text || token.kind === "text" || token.kind === "end") return false;
    this.#at++;
    return true;
  }

  #peek(): Token {
    return this.#tokens[this.#at] ?? { kind: "end", text: "" };
  }
}

function numberOf(text: string): number | bigint {
  if (/[.eE]/.test(text) && !text.startsWith("0x")) return Number(text);
  const value = BigInt(text.replace(/u$/, ""));
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
}

const ESCAPES: { readonly [letter: string]: string } = {
  n: "\n",
  r: "\r",
  t: "\t",
  a: "\x07",
  b: "\b",
  f: "\f",
  v: "\v",
};

function textOf(token: string): string {
  if (/^[rR]/.test(token)) return token.slice(2, -1);
  return token.slice(1, -1).replace(/\\(?:u([\da-fA-F]{4})|x([\da-fA-F]{2})|(.))/g, (_all, unicode, hex, letter) => {
    if (letter !== undefined) return ESCAPES[letter] ?? letter;
    return String.fromCodePoint(Number.parseInt(unicode ?? hex, 16));
  });
}
