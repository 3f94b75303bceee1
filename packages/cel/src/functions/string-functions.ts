// Functions of strings. Places and lengths count characters, not UTF-16 units.
// Source: github.com/google/cel-go/ext/strings.go (version 2)

import { compilePattern } from "@postern/apimachinery/schema/pattern/pattern";
import { PatternLimitError } from "@postern/apimachinery/schema/pattern/pattern-program";
import { PatternSyntaxError } from "@postern/apimachinery/schema/pattern/pattern-syntax";
import { CelLimitError } from "../cel-budget.ts";
import { type CelList, failCel, listOf } from "../cel-value.ts";
import {
  type CelOverload,
  celFunction,
  celMethod,
  costingFunction,
  costingMethod,
  inSteps,
  type SpendCost,
} from "./overload.ts";
import { formatCelText } from "./string-format.ts";

export const stringFunctions: readonly CelOverload[] = [
  celMethod("startsWith", ["string", "string"], "bool", (text, begin) => text.startsWith(begin)),
  celMethod("endsWith", ["string", "string"], "bool", (text, end) => text.endsWith(end)),
  celMethod("contains", ["string", "string"], "bool", (text, part) => text.includes(part)),
  costingMethod("matches", ["string", "string"], "bool", matches),
  costingFunction("matches", ["string", "string"], "bool", matches),
  celMethod("charAt", ["string", "int"], "string", charAt),
  celMethod("indexOf", ["string", "string"], "int", (text, part) => indexOf(text, part, 0n)),
  celMethod("indexOf", ["string", "string", "int"], "int", indexOf),
  celMethod("lastIndexOf", ["string", "string"], "int", (text, part) => lastIndexOf(text, part, undefined)),
  celMethod("lastIndexOf", ["string", "string", "int"], "int", lastIndexOf),
  celMethod("lowerAscii", ["string"], "string", (text) =>
    inPieces(text, (piece) => piece.replace(/[A-Z]+/g, (part) => part.toLowerCase())),
  ),
  celMethod("upperAscii", ["string"], "string", (text) =>
    inPieces(text, (piece) => piece.replace(/[a-z]+/g, (part) => part.toUpperCase())),
  ),
  // A key as a part of a JSON pointer.
  celFunction("jsonpatch.escapeKey", ["string"], "string", (text) =>
    inPieces(text, (piece) => piece.replaceAll("~", "~0").replaceAll("/", "~1")),
  ),
  celMethod("replace", ["string", "string", "string"], "string", (text, from, to) => replace(text, from, to, -1n)),
  celMethod("replace", ["string", "string", "string", "int"], "string", replace),
  celMethod("split", ["string", "string"], "list<string>", (text, separator) => split(text, separator, -1n)),
  celMethod("split", ["string", "string", "int"], "list<string>", split),
  celMethod("substring", ["string", "int"], "string", (text, begin) => substring(text, begin, undefined)),
  celMethod("substring", ["string", "int", "int"], "string", substring),
  celMethod("trim", ["string"], "string", trim),
  celMethod("join", ["list<string>"], "string", (list) => join(list, "")),
  celMethod("join", ["list<string>", "string"], "string", join),
  celMethod("format", ["string", "list<dyn>"], "string", formatCelText),
  celFunction("strings.quote", ["string"], "string", quote),
];

/** In time linear to the text: rule and text may belong to two tenants. */
function matches(spend: SpendCost, text: string, pattern: string): boolean {
  try {
    return compilePattern(pattern).test(text, inSteps(spend));
  } catch (error) {
    if (error instanceof PatternSyntaxError) return failCel(error.message);
    if (error instanceof PatternLimitError) throw new CelLimitError(error.message);
    throw error;
  }
}

/** Characters are looked at so many at a time: an array of all, or a list of all matches, is more than the heap of a thread may have left (ADR 366). */
const PIECE = 16 * 1024;

function inPieces(text: string, change: (piece: string) => string): string {
  if (text.length <= PIECE) return change(text);
  let changed = "";
  for (let at = 0; at < text.length; at += PIECE) changed += change(text.slice(at, at + PIECE));
  return changed;
}

/** The place in UTF-16 units behind so many characters from `from` on. */
function behind(text: string, characters: number, from = 0): number {
  let at = from;
  for (let left = characters; left > 0 && at < text.length; left--) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return at;
}

/** In characters. */
function lengthOf(text: string, end = text.length): number {
  let count = 0;
  for (let at = 0; at < end; count++) at = behind(text, 1, at);
  return count;
}

function charAt(text: string, index: bigint): string {
  if (index < 0n || index > lengthOf(text)) return failCel(`index out of range: ${index}`);
  const at = behind(text, Number(index));
  return text.slice(at, behind(text, 1, at));
}

/** The same place, counted in characters. */
const characterIndex = (text: string, at: number): bigint => BigInt(at === -1 ? -1 : lengthOf(text, at));

function indexOf(text: string, part: string, offset: bigint): bigint {
  if (part === "") return offset;
  if (offset < 0n) return failCel(`index out of range: ${offset}`);
  return offset >= lengthOf(text) ? -1n : characterIndex(text, text.indexOf(part, behind(text, Number(offset))));
}

function lastIndexOf(text: string, part: string, offset: bigint | undefined): bigint {
  const length = BigInt(lengthOf(text));
  if (part === "") return offset ?? length;
  if (offset === undefined) return characterIndex(text, text.lastIndexOf(part));
  if (offset < 0n) return failCel(`index out of range: ${offset}`);
  return offset >= length ? -1n : characterIndex(text, text.lastIndexOf(part, behind(text, Number(offset))));
}

function substring(text: string, begin: bigint, end: bigint | undefined): string {
  const length = lengthOf(text);
  const last = end ?? BigInt(length);
  if (end !== undefined && begin > end) {
    return failCel(`invalid substring range. start: ${begin}, end: ${end}`);
  }
  for (const index of [begin, last]) {
    if (index < 0n || index > length) return failCel(`index out of range: ${index}`);
  }
  return text.slice(behind(text, Number(begin)), behind(text, Number(last)));
}

/** Before each character, and at the end. */
function insert(text: string, part: string, limit: number): string {
  let inserted = "";
  let at = 0;
  let left = limit;
  while (left > 0 && at < text.length) {
    const pieces: string[] = [];
    for (let count = 0; count < PIECE && left > 0 && at < text.length; count++, left--) {
      const next = behind(text, 1, at);
      pieces.push(part, text.slice(at, next));
      at = next;
    }
    inserted += pieces.join("");
  }
  return `${inserted}${left > 0 ? part : ""}${text.slice(at)}`;
}

/** As often as `limit` says; a negative one is no limit. */
function replace(text: string, from: string, to: string, limit: bigint): string {
  if (from === "") return insert(text, to, limit < 0n ? Number.POSITIVE_INFINITY : Number(limit));
  let replaced = "";
  let pieces: string[] = [];
  let at = 0;
  // Not replaceAll, which makes several objects for each place in one call.
  for (let left = limit; left !== 0n; left--) {
    const next = text.indexOf(from, at);
    if (next === -1) break;
    pieces.push(text.slice(at, next), to);
    at = next + from.length;
    if (pieces.length < PIECE) continue;
    replaced += pieces.join("");
    pieces = [];
  }
  return `${replaced}${pieces.join("")}${text.slice(at)}`;
}

/** Into `limit` parts at most, of which the last is the rest. */
function split(text: string, separator: string, limit: bigint): CelList {
  if (limit === 0n) return listOf([]);
  const parts = separator === "" ? [...text] : text.split(separator);
  if (limit < 0n || limit >= parts.length) return listOf(parts);
  const first = parts.slice(0, Number(limit) - 1);
  return listOf([...first, parts.slice(first.length).join(separator)]);
}

/** White space as Unicode has it. JavaScript would take U+FEFF for some, and U+0085 for none. */
function trim(text: string): string {
  let [begin, end] = [0, text.length];
  // A pattern would look at every space again from each space before it.
  while (begin < end && isSpace(text[begin])) begin++;
  while (end > begin && isSpace(text[end - 1])) end--;
  return text.slice(begin, end);
}

const isSpace = (character: string | undefined): boolean =>
  character !== undefined && /\p{White_Space}/u.test(character);

function join(list: CelList, separator: string): string {
  return list.items.map((item) => (typeof item === "string" ? item : failCel("no such overload"))).join(separator);
}

const ESCAPES: { readonly [character: string]: string } = {
  "\x07": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
  '"': '\\"',
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is escaped.
const ESCAPED = /[\x07\b\f\n\r\t\v\\"]/g;

function quote(text: string): string {
  return `"${inPieces(text, (piece) => piece.replace(ESCAPED, (character) => ESCAPES[character] ?? character))}"`;
}
