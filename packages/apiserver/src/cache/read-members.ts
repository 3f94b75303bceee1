// Reads some members of a stored JSON object and steps over the others: for what is read of very many objects.

import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";

/** What to read: `true` stands for a whole value, a selection for part of an object. What is no object is read whole in either case. */
export type MemberSelection = { readonly [name: string]: true | MemberSelection };

/** Reads an object from the JSON that fills `memory` from `start` to `end`. */
export type MemberReader = (memory: Buffer, start: number, end: number) => JsonObject;

/**
 * Gives what parsing the whole text and taking the selected members out of it would give, in much less time. Made for JSON as
 * JSON.stringify writes it, where no name comes twice: what has spaces in it is parsed as a whole. What is behind the last member that is
 * selected is not looked at.
 * @throws JsonSyntaxError where what is looked at is no JSON
 */
export function createMemberReader(selection: MemberSelection): MemberReader {
  const wanted = wantedOf(selection);
  return (memory, start, end) => {
    const cursor: Cursor = { memory, at: start, end };
    const read = memory[start] === OPEN_BRACE ? readObject(cursor, wanted, false) : undefined;
    return read ?? select(parseJson(memory.subarray(start, end)), selection);
  };
}

/** The slow way, which the quick one must agree with. */
export function select(value: JsonValue, selection: MemberSelection): JsonObject {
  const selected: { [name: string]: JsonValue } = {};
  if (!isJsonObject(value)) return selected;
  for (const [name, part] of Object.entries(selection)) {
    const member = Object.hasOwn(value, name) ? value[name] : undefined;
    if (member === undefined) continue;
    selected[name] = part !== true && isJsonObject(member) ? select(member, part) : member;
  }
  return selected;
}

type Cursor = { readonly memory: Buffer; at: number; readonly end: number };

type Wanted = {
  readonly name: string;
  /** Undefined: all of the value. */
  readonly part: readonly Wanted[] | undefined;
  /** The last text read here. Many objects repeat it, and then share it. */
  last: string;
};

const wantedOf = (selection: MemberSelection): readonly Wanted[] =>
  Object.entries(selection).map(([name, part]) => ({
    name,
    part: part === true ? undefined : wantedOf(part),
    last: "",
  }));

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d];
const FIRST_BEYOND_ASCII = 0x80;
/** Numbers of more digits may need more than a double. */
const MAX_PLAIN_DIGITS = 15;

/**
 * Undefined for what is not written as JSON.stringify does. Begins at the brace, and ends behind the closing one or, unless it is to go
 * `toTheEnd`, behind the last wanted member.
 */
function readObject(cursor: Cursor, wanted: readonly Wanted[], toTheEnd: boolean): JsonObject | undefined {
  const { memory } = cursor;
  const object: { [name: string]: JsonValue } = {};
  let missing = wanted.length;
  if (memory[++cursor.at] === CLOSE_BRACE) {
    cursor.at++;
    return object;
  }
  for (;;) {
    const nameStart = cursor.at + 1;
    if (!stepOverString(cursor) || memory[cursor.at] !== COLON) return undefined;
    const member = wantedAt(wanted, memory, nameStart, cursor.at - 1);
    cursor.at++;
    if (member === undefined) {
      if (!stepOver(cursor)) return undefined;
    } else {
      const value = readValue(cursor, member);
      if (value === undefined) return undefined;
      object[member.name] = value;
      if (--missing === 0 && !toTheEnd) return object;
    }
    const after = memory[cursor.at++];
    if (after === CLOSE_BRACE) return object;
    if (after !== COMMA || cursor.at >= cursor.end) return undefined;
  }
}

function wantedAt(wanted: readonly Wanted[], memory: Buffer, start: number, end: number): Wanted | undefined {
  for (const member of wanted) {
    if (isTextAt(member.name, memory, start, end)) return member;
  }
  return undefined;
}

/** Right for texts of ASCII. */
function isTextAt(text: string, memory: Buffer, start: number, end: number): boolean {
  if (text.length !== end - start) return false;
  for (let index = 0; index < text.length; index++) {
    if (text.charCodeAt(index) !== memory[start + index]) return false;
  }
  return true;
}

/** Undefined as for objects. */
function readValue(cursor: Cursor, member: Wanted): JsonValue | undefined {
  const { memory, at: start } = cursor;
  const first = memory[start];
  if (first === OPEN_BRACE && member.part !== undefined) return readObject(cursor, member.part, true);
  if (!stepOver(cursor)) return undefined;
  const end = cursor.at;
  if (first === QUOTE) {
    if (isTextAt(member.last, memory, start + 1, end - 1)) return member.last;
    if (isPlainText(memory, start + 1, end - 1)) {
      member.last = memory.toString("latin1", start + 1, end - 1);
      return member.last;
    }
  } else if (end - start <= MAX_PLAIN_DIGITS) {
    const number = plainNumber(memory, start, end);
    if (number !== undefined) return number;
  }
  return parseJson(memory.subarray(start, end));
}

/** Behind the value that begins here; false where it does not end. */
function stepOver(cursor: Cursor): boolean {
  const { memory, end } = cursor;
  const first = memory[cursor.at];
  if (first === QUOTE) return stepOverString(cursor);
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return stepOverScalar(cursor);
  let depth = 0;
  while (cursor.at < end) {
    const code = memory[cursor.at];
    if (code === QUOTE) {
      if (!stepOverString(cursor)) return false;
      continue;
    }
    cursor.at++;
    if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if ((code === CLOSE_BRACE || code === CLOSE_BRACKET) && --depth === 0) return true;
  }
  return false;
}

function stepOverString(cursor: Cursor): boolean {
  const { memory, end } = cursor;
  let at = cursor.at;
  if (memory[at++] !== QUOTE) return false;
  while (at < end) {
    const code = memory[at++];
    if (code === BACKSLASH) at++;
    else if (code === QUOTE) {
      cursor.at = at;
      return true;
    }
  }
  return false;
}

function stepOverScalar(cursor: Cursor): boolean {
  const { memory, end, at: start } = cursor;
  let at = start;
  while (at < end) {
    const code = memory[at];
    if (code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET) break;
    at++;
  }
  cursor.at = at;
  return at > start;
}

/** Whether every byte is a character by itself, and stands for itself. */
function isPlainText(memory: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const code = memory[at] ?? 0;
    if (code >= FIRST_BEYOND_ASCII || code === BACKSLASH) return false;
  }
  return true;
}

function plainNumber(memory: Buffer, start: number, end: number): number | undefined {
  let number = 0;
  for (let at = start; at < end; at++) {
    const digit = (memory[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) return undefined;
    number = number * 10 + digit;
  }
  return number;
}
