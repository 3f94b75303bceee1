// Cuts the source of an expression into tokens, and reads its literals.
// Grammar: https://github.com/google/cel-spec/blob/master/doc/langdef.md#syntax

import { CelSyntaxError } from "./cel-expression.ts";
import { CelBytes, CelUint, type CelValue } from "./cel-value.ts";

export type CelToken = {
  readonly kind: "number" | "text" | "name" | "sign" | "end";
  readonly text: string;
  readonly at: number;
};

const NUMBER = String.raw`\d+\.\d+(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|0x[\da-fA-F]+[uU]?|\d+[uU]?`;
const QUOTED = String.raw`"""(?:[^\\]|\\[^])*?"""|'''(?:[^\\]|\\[^])*?'''|"(?:[^"\\\r\n]|\\[^])*"|'(?:[^'\\\r\n]|\\[^])*'`;
const RAW = String.raw`"""[^]*?"""|'''[^]*?'''|"[^"\r\n]*"|'[^'\r\n]*'`;
const SIGN = String.raw`&&|\|\||[=!<>]=|[-+*/%!<>?:.,()[\]{}]`;
const TOKEN = new RegExp(
  `\\s+|//[^\\n]*|(?<number>${NUMBER})|(?<text>(?:[rR][bB]?|[bB][rR])(?:${RAW})|[bB]?(?:${QUOTED}))|(?<name>[A-Za-z_]\\w*)|(?<sign>${SIGN})`,
  "y",
);

const KINDS = ["number", "text", "name", "sign"] as const;

/** Throws CelSyntaxError. */
export function* celTokensOf(source: string): Generator<CelToken> {
  const token = new RegExp(TOKEN);
  while (token.lastIndex < source.length) {
    const at = token.lastIndex;
    const groups = token.exec(source)?.groups;
    if (groups === undefined) {
      throw new CelSyntaxError(`Syntax error: token recognition error at: '${source[at]}'`, at);
    }
    for (const kind of KINDS) {
      const text = groups[kind];
      if (text !== undefined) yield { kind, text, at };
    }
  }
  yield { kind: "end", text: "", at: source.length };
}

const [MIN_INT, MAX_INT, MAX_UINT] = [-(2n ** 63n), 2n ** 63n - 1n, 2n ** 64n - 1n];

/** `sign` is that of a number with a minus before it: the least int has no positive. */
export function readNumber({ text, at }: CelToken, sign: 1n | -1n): CelValue {
  if (/[.eE]/.test(text) && !text.startsWith("0x")) {
    if (!Number.isFinite(Number(text))) throw new CelSyntaxError("invalid double literal", at);
    return Number(text) * Number(sign);
  }
  const isUnsigned = /[uU]$/.test(text);
  const value = BigInt(text.replace(/[uU]$/, "")) * sign;
  if (isUnsigned) {
    if (value < 0n || value > MAX_UINT) throw new CelSyntaxError("invalid uint literal", at);
    return new CelUint(value);
  }
  if (value < MIN_INT || value > MAX_INT) throw new CelSyntaxError("invalid int literal", at);
  return value;
}

/** A string, or bytes where a `b` stands before it. */
export function readText({ text, at }: CelToken): CelValue {
  const [, prefix = "", rest = ""] = /^([rRbB]*)(.*)$/s.exec(text) ?? [];
  const width = /^("""|''')/.test(rest) ? 3 : 1;
  const inner = rest.slice(width, -width);
  const isBytes = /[bB]/.test(prefix);
  if (/[rR]/.test(prefix)) return isBytes ? new CelBytes(Buffer.from(inner)) : inner;
  const parts: Uint8Array[] = [];
  let plain = "";
  const pattern = new RegExp(ESCAPE);
  for (let position = 0; position < inner.length; ) {
    if (inner[position] !== "\\") {
      plain += inner[position];
      position++;
      continue;
    }
    pattern.lastIndex = position;
    const match = pattern.exec(inner);
    if (match === null) throw new CelSyntaxError("unable to unescape string", at);
    position = pattern.lastIndex;
    const number = codeOf(match);
    if (isBytes && number !== undefined && match[2] === undefined) {
      parts.push(Buffer.from(plain), Uint8Array.of(number & 0xff));
      plain = "";
    } else {
      if (number !== undefined && !isScalar(number)) throw new CelSyntaxError("invalid unicode code point", at);
      plain += number === undefined ? (LETTERS[match[4] ?? ""] ?? match[4] ?? "") : String.fromCodePoint(number);
    }
  }
  return isBytes ? new CelBytes(Buffer.concat([...parts, Buffer.from(plain)])) : plain;
}

const ESCAPE = /\\(?:[xX]([\da-fA-F]{2})|(u[\da-fA-F]{4}|U[\da-fA-F]{8})|([0-3][0-7]{2})|([abfnrtv\\?"'`]))/y;
const LETTERS: { readonly [letter: string]: string } = {
  n: "\n",
  r: "\r",
  t: "\t",
  a: "\x07",
  b: "\b",
  f: "\f",
  v: "\v",
};

/** Code point of a numeric escape; undefined for an escape by letter. */
function codeOf([, hex, unicode, octal]: RegExpExecArray): number | undefined {
  if (octal !== undefined) return Number.parseInt(octal, 8);
  const digits = hex ?? unicode?.slice(1);
  return digits === undefined ? undefined : Number.parseInt(digits, 16);
}

const isScalar = (code: number): boolean => code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
