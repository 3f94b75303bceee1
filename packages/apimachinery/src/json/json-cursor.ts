// Reads the tokens of a JSON text one by one, with Go's error messages.
// Source: https://go.dev/src/encoding/json/scanner.go

import { JsonSyntaxError, unexpectedCharacter } from "./json-syntax-error.ts";

/** A position in a text. Every reader below moves `offset` past what it read. */
export type JsonCursor = { readonly text: string; offset: number };

export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;

const MAX_INT64 = 2n ** 63n - 1n;
const MIN_INT64 = -(2n ** 63n);
/** `-9223372036854775808` is the longest exact integer. */
const MAX_EXACT_LENGTH = 20;

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
const isHex = (code: number): boolean => isDigit(code) || ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x66);

/** Moves to the next character that is not white space and returns its code, NaN at the end. */
export function skipSpace(cursor: JsonCursor): number {
  const { text } = cursor;
  for (;;) {
    const code = text.charCodeAt(cursor.offset);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return code;
    cursor.offset++;
  }
}

/** Reads a string, from its opening quote to behind the closing one. */
export function readString(cursor: JsonCursor): string {
  const { text } = cursor;
  const start = cursor.offset;
  let offset = start + 1;
  let escaped = false;
  for (;;) {
    const code = text.charCodeAt(offset);
    if (code === QUOTE) break;
    if (code === BACKSLASH) {
      escaped = true;
      offset = skipEscape(text, offset);
    } else if (code >= 0x20) offset++;
    else throw unexpectedCharacter(text, offset, "in string literal");
  }
  cursor.offset = offset + 1;
  if (!escaped) return text.slice(start + 1, offset);
  const decoded: unknown = JSON.parse(text.slice(start, offset + 1));
  return String(decoded);
}

function skipEscape(text: string, offset: number): number {
  const code = text.charCodeAt(offset + 1);
  if (code !== 0x75) {
    if ('"\\/bfnrt'.includes(text.charAt(offset + 1)) && offset + 1 < text.length) return offset + 2;
    throw unexpectedCharacter(text, offset + 1, "in string escape code");
  }
  for (let i = offset + 2; i < offset + 6; i++) {
    if (!isHex(text.charCodeAt(i))) throw unexpectedCharacter(text, i, "in \\u hexadecimal character escape");
  }
  return offset + 6;
}

/** Reads a number, `true`, `false` or `null`; anything else is refused. */
export function readScalar(cursor: JsonCursor): string | number | bigint | boolean | null {
  const { text, offset } = cursor;
  const code = text.charCodeAt(offset);
  if (code === QUOTE) return readString(cursor);
  if (code === MINUS || isDigit(code)) return readNumber(cursor);
  if (code === 0x74) return readLiteral(cursor, "true", true);
  if (code === 0x66) return readLiteral(cursor, "false", false);
  if (code === 0x6e) return readLiteral(cursor, "null", null);
  throw unexpectedCharacter(text, offset, "looking for beginning of value");
}

function readLiteral<T>(cursor: JsonCursor, word: string, value: T): T {
  const { text, offset } = cursor;
  for (let i = 1; i < word.length; i++) {
    if (text.charCodeAt(offset + i) !== word.charCodeAt(i)) {
      throw unexpectedCharacter(text, offset + i, `in literal ${word} (expecting '${word.charAt(i)}')`);
    }
  }
  cursor.offset = offset + word.length;
  return value;
}

function readNumber(cursor: JsonCursor): number | bigint {
  const { text } = cursor;
  const start = cursor.offset;
  let offset = start;
  if (text.charCodeAt(offset) === MINUS) offset++;
  if (text.charCodeAt(offset) === ZERO) offset++;
  else offset = skipDigits(text, offset, "in numeric literal");
  const integerEnd = offset;
  if (text.charCodeAt(offset) === DOT) {
    offset = skipDigits(text, offset + 1, "after decimal point in numeric literal");
  }
  if ((text.charCodeAt(offset) | 0x20) === 0x65) {
    offset++;
    const sign = text.charAt(offset);
    if (sign === "+" || sign === "-") offset++;
    offset = skipDigits(text, offset, "in exponent of numeric literal");
  }
  cursor.offset = offset;
  const literal = text.slice(start, offset);
  return offset === integerEnd ? integerOf(literal) : floatOf(literal);
}

function skipDigits(text: string, offset: number, context: string): number {
  let end = offset;
  while (isDigit(text.charCodeAt(end))) end++;
  if (end === offset) throw unexpectedCharacter(text, offset, context);
  return end;
}

/** An integer literal as an exact value within int64, and as the nearest float beyond it. */
function integerOf(literal: string): number | bigint {
  const rounded = Number(literal);
  if (Number.isSafeInteger(rounded)) return rounded;
  // BigInt takes quadratic time, so a text of a million digits must not reach it.
  if (literal.length > MAX_EXACT_LENGTH) return floatOf(literal);
  const exact = BigInt(literal);
  return exact >= MIN_INT64 && exact <= MAX_INT64 ? exact : rounded;
}

function floatOf(literal: string): number {
  const value = Number(literal);
  if (Number.isFinite(value)) return value;
  const shown = literal.length > 40 ? `${literal.slice(0, 40)}...` : literal;
  throw new JsonSyntaxError(`json: cannot unmarshal number ${shown} into Go value of type float64`);
}
