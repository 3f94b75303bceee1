// Parses JSON as Kubernetes does: exact 64-bit integers, a depth limit, Go's fault texts, no way to a prototype.
// Source: sigs.k8s.io/json

import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  type JsonCursor,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  readScalar,
  readString,
  skipSpace,
} from "./json-cursor.ts";
import { unexpectedCharacter } from "./json-syntax-error.ts";
import { type JsonValue, type MutableJsonObject, setMember } from "./json-value.ts";

const BACKSLASH = 0x5c;

/**
 * How deep arrays and objects may nest. kube-apiserver's limit is 10,000, but from about 4,000 on JSON.stringify and
 * any recursive walk overflow the stack; no real object comes near either.
 */
export const MAX_JSON_DEPTH = 1_000;

/**
 * Numbers that a double may round or overflow. Matches inside strings only cost the slower path: hashes and uids are full of digits, so that it
 * looks only where a number may begin.
 */
// linear: what follows a separator is digits and points, and ends before the next one
const NEEDS_EXACT_NUMBERS = /(?:^|[\s:,[])-?(?:\d{16}|\d[\d.]*[eE]\+?\d{3})/;

// A byte order mark is kept, so that it is refused as upstream refuses it.
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * The value of a JSON text. Integers outside ±2^53 come back as `bigint` within int64, as float beyond.
 * Of duplicate members the last one wins. `__proto__` is an ordinary own member.
 * @throws JsonSyntaxError worded as Go's encoding/json
 */
export function parseJson(input: string | Uint8Array, options: { readonly maxDepth?: number } = {}): JsonValue {
  const text = typeof input === "string" ? input : utf8.decode(input);
  const maxDepth = options.maxDepth ?? MAX_JSON_DEPTH;
  if (NEEDS_EXACT_NUMBERS.test(text) || textNestsDeeper(text, maxDepth)) return parseExactly(text, maxDepth);
  return parseNatively(text, maxDepth);
}

/** Numbers that `stringifyJson` writes and a double may round: there is no white space, and what overflows was refused. Half the time of the above. */
// linear: what follows a separator has a bounded length
const LONG_INTEGER = /[:,[]-?\d{16}/;

/** The value of an object or list as `stringifyJson` writes it, at any depth. Takes less time than `parseJson`. */
export const parseWrittenJson = (text: string): JsonValue =>
  LONG_INTEGER.test(text)
    ? parseExactly(text, Number.POSITIVE_INFINITY)
    : parseNatively(text, Number.POSITIVE_INFINITY);

function parseNatively(text: string, maxDepth: number): JsonValue {
  try {
    // JSON.parse returns `any`; every value it can make is a JsonValue.
    return JSON.parse(text) as JsonValue;
  } catch {
    // The native fault text is V8's; the exact parser finds the same fault and words it as Go does.
    return parseExactly(text, maxDepth);
  }
}

/** Whether brackets outside strings nest deeper than the limit. Right for JSON; for other texts any answer will do. */
function textNestsDeeper(text: string, maxDepth: number): boolean {
  if (!hasMoreBrackets(text, maxDepth)) return false;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) i = endOfString(text, i + 1);
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (++depth > maxDepth) return true;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
  }
  return false;
}

/** Where the quote of a string's end is, or the end of the text. Most of a text is in strings, and is skipped. */
function endOfString(text: string, from: number): number {
  let end = text.indexOf('"', from);
  while (end !== -1 && isEscaped(text, end, from)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

function isEscaped(text: string, at: number, from: number): boolean {
  let first = at;
  while (first > from && text.charCodeAt(first - 1) === BACKSLASH) first--;
  return (at - first) % 2 === 1;
}

/** Most texts have fewer than may nest, and are not walked through a character at a time. */
function hasMoreBrackets(text: string, count: number): boolean {
  if (text.length <= count) return false;
  let left = count;
  for (const bracket of ["{", "["]) {
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1)) if (--left < 0) return true;
  }
  return false;
}

type Frame =
  | { readonly array: JsonValue[]; readonly object?: undefined }
  | { readonly object: MutableJsonObject; member: string; readonly array?: undefined };

/** A loop with its own stack: recursion would overflow long before the depth limit. */
function parseExactly(text: string, maxDepth: number): JsonValue {
  const cursor: JsonCursor = { text, offset: 0 };
  const stack: Frame[] = [];
  for (;;) {
    const code = skipSpace(cursor);
    let value: JsonValue;
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (stack.length >= maxDepth) throw unexpectedCharacter(text, cursor.offset, "exceeded max depth");
      cursor.offset++;
      const next = skipSpace(cursor);
      if (code === OPEN_BRACE) {
        if (next !== CLOSE_BRACE) {
          stack.push({ object: {}, member: readMemberName(cursor) });
          continue;
        }
        value = {};
      } else {
        if (next !== CLOSE_BRACKET) {
          stack.push({ array: [] });
          continue;
        }
        value = [];
      }
      cursor.offset++;
    } else value = readScalar(cursor);

    // Puts the value where it belongs, and closes every container that ends behind it.
    for (;;) {
      const frame = stack.at(-1);
      const after = skipSpace(cursor);
      if (frame === undefined) {
        if (cursor.offset < text.length) throw unexpectedCharacter(text, cursor.offset, "after top-level value");
        return value;
      }
      if (frame.array !== undefined) {
        frame.array.push(value);
        if (after !== COMMA && after !== CLOSE_BRACKET) {
          throw unexpectedCharacter(text, cursor.offset, "after array element");
        }
      } else {
        setMember(frame.object, frame.member, value);
        if (after !== COMMA && after !== CLOSE_BRACE) {
          throw unexpectedCharacter(text, cursor.offset, "after object key:value pair");
        }
      }
      cursor.offset++;
      if (after === COMMA) {
        if (frame.array === undefined) {
          skipSpace(cursor);
          frame.member = readMemberName(cursor);
        }
        break;
      }
      value = frame.array ?? frame.object;
      stack.pop();
    }
  }
}

/** Reads `"name":` and returns the name. */
function readMemberName(cursor: JsonCursor): string {
  const { text } = cursor;
  if (text.charCodeAt(cursor.offset) !== QUOTE) {
    throw unexpectedCharacter(text, cursor.offset, "looking for beginning of object key string");
  }
  const name = readString(cursor);
  if (skipSpace(cursor) !== COLON) throw unexpectedCharacter(text, cursor.offset, "after object key");
  cursor.offset++;
  return name;
}
