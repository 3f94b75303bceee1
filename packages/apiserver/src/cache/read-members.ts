// Reads selected members of a stored JSON object and skips the others, for reads of very many objects.

import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { BACKSLASH, CLOSE_BRACE, COMMA, endOfString, endOfValue, OPEN_BRACE, QUOTE } from "./end-of-value.ts";

/** Members to read: `true` selects a whole value, a selection part of an object. A value that is no object is read whole in either case. */
export type MemberSelection = { readonly [name: string]: true | MemberSelection };

export type MemberReader = {
  /**
   * Gives what parsing the JSON that fills `memory` from `start` to `end`, and taking the selected members out of it, would give, in
   * much less time. Made for JSON as JSON.stringify writes it, where no name comes twice: text with spaces in it is parsed as a whole.
   * Text behind the last selected member is not looked at.
   * @throws JsonSyntaxError where what is looked at is no JSON
   */
  read(memory: Buffer, start: number, end: number): JsonObject;
  /** The selected members of an object that has been parsed, shared with it. */
  select(object: JsonValue): JsonObject;
};

export function createMemberReader(selection: MemberSelection): MemberReader {
  const wanted = wantedOf(selection);
  return {
    read(memory, start, end) {
      // One character per byte, in one step: searching a string is faster than searching a buffer.
      const cursor: Cursor = { text: memory.toString("latin1", start, end), memory, start, at: 0 };
      const read = cursor.text.charCodeAt(0) === OPEN_BRACE ? readObject(cursor, wanted, false) : undefined;
      return read ?? select(parseJson(memory.subarray(start, end)), wanted);
    },
    select: (object) => select(object, wanted),
  };
}

/** The slow way, which the quick one must agree with. */
function select(value: JsonValue, { all }: WantedMembers): JsonObject {
  const selected: { [name: string]: JsonValue } = {};
  if (!isJsonObject(value)) return selected;
  for (const { name, part } of all) {
    const member = Object.hasOwn(value, name) ? value[name] : undefined;
    if (member === undefined) continue;
    selected[name] = part !== undefined && isJsonObject(member) ? select(member, part) : member;
  }
  return selected;
}

type Cursor = {
  /** The bytes of `memory` from `start` on. */
  readonly text: string;
  readonly memory: Buffer;
  readonly start: number;
  at: number;
};

type Wanted = {
  readonly name: string;
  /** Undefined: all of the value. */
  readonly part: WantedMembers | undefined;
  /** The last text read here. Many objects repeat it, and then share it. */
  last: string;
};

type WantedMembers = {
  readonly all: readonly Wanted[];
  /** By length: few names have the same length, so few are compared. */
  readonly byLength: readonly (readonly Wanted[])[];
};

function wantedOf(selection: MemberSelection): WantedMembers {
  const all = Object.entries(selection).map(
    ([name, part]): Wanted => ({ name, part: part === true ? undefined : wantedOf(part), last: "" }),
  );
  const byLength: Wanted[][] = [];
  for (const member of all) {
    while (byLength.length <= member.name.length) byLength.push([]);
    byLength[member.name.length]?.push(member);
  }
  return { all, byLength };
}

const COLON = 0x3a;
const FIRST_BEYOND_ASCII = 0x80;
const LITERALS = new Map([true, false, null].map((value) => [`${value}`, value]));
/** Numbers of more digits may need more than a double. */
const MAX_PLAIN_DIGITS = 15;

/**
 * Undefined for what is not written as JSON.stringify does. Begins at the brace, and ends behind the closing one or, unless it is to go
 * `toTheEnd`, behind the last wanted member.
 */
function readObject(cursor: Cursor, wanted: WantedMembers, toTheEnd: boolean): JsonObject | undefined {
  const { text } = cursor;
  const object: { [name: string]: JsonValue } = {};
  let missing = wanted.all.length;
  let at = cursor.at + 1;
  if (text.charCodeAt(at) === CLOSE_BRACE) {
    cursor.at = at + 1;
    return object;
  }
  while (at < text.length) {
    const nameEnd = text.charCodeAt(at) === QUOTE ? endOfString(text, at) : text.length;
    if (text.charCodeAt(nameEnd) !== COLON) return undefined;
    const member = missing === 0 ? undefined : wantedAt(wanted, text, at + 1, nameEnd - 1);
    cursor.at = nameEnd + 1;
    if (member === undefined) {
      cursor.at = endOfValue(text, cursor.at);
    } else {
      const value = readValue(cursor, member);
      if (value === undefined) return undefined;
      object[member.name] = value;
      if (--missing === 0 && !toTheEnd) return object;
    }
    at = cursor.at + 1;
    const after = text.charCodeAt(cursor.at);
    if (after === CLOSE_BRACE) {
      cursor.at = at;
      return object;
    }
    if (after !== COMMA) return undefined;
  }
  return undefined;
}

function wantedAt({ byLength }: WantedMembers, text: string, start: number, end: number): Wanted | undefined {
  const length = end - start;
  if (length >= byLength.length) return undefined;
  for (const member of byLength[length] ?? []) {
    if (text.startsWith(member.name, start)) return member;
  }
  return undefined;
}

/** Undefined as for objects. */
function readValue(cursor: Cursor, member: Wanted): JsonValue | undefined {
  const { text, at } = cursor;
  const first = text.charCodeAt(at);
  if (first === OPEN_BRACE && member.part !== undefined) return readObject(cursor, member.part, true);
  const end = endOfValue(text, at);
  cursor.at = end;
  if (first === QUOTE) {
    if (member.last.length === end - at - 2 && text.startsWith(member.last, at + 1)) return member.last;
    if (isPlainText(text, at + 1, end - 1)) {
      // A copy: a substring would keep the whole text in memory.
      member.last = cursor.memory.toString("latin1", cursor.start + at + 1, cursor.start + end - 1);
      return member.last;
    }
  } else if (end - at <= MAX_PLAIN_DIGITS) {
    const literal = LITERALS.get(text.slice(at, end));
    const plain = literal === undefined ? plainNumber(text, at, end) : literal;
    if (plain !== undefined) return plain;
  }
  return parseJson(cursor.memory.subarray(cursor.start + at, cursor.start + end));
}

/** Whether every byte is an unescaped ASCII character. */
function isPlainText(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code >= FIRST_BEYOND_ASCII || code === BACKSLASH) return false;
  }
  return true;
}

function plainNumber(text: string, start: number, end: number): number | undefined {
  if (start === end) return undefined;
  let number = 0;
  for (let at = start; at < end; at++) {
    const digit = text.charCodeAt(at) - 0x30;
    if (digit < 0 || digit > 9) return undefined;
    number = number * 10 + digit;
  }
  return number;
}
