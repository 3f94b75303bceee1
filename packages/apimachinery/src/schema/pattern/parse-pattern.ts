// Reads a regular expression as Go's regexp package does, with its faults. Captures are read and forgotten.
// Source: https://pkg.go.dev/regexp/syntax

import { anyButNewline, anyCharacter, type Fold, ignoringCase, single } from "./character-set.ts";
import { parseClass, parseEscapedSet } from "./parse-character-class.ts";
import { type Reader, readEscapedCharacter } from "./pattern-reader.ts";
import { type Assertion, type CharacterSet, type PatternNode, PatternSyntaxError } from "./pattern-syntax.ts";

const MAX_REPEAT = 1000;
const MAX_DEPTH = 250;

type Flags = {
  readonly ignoreCase: boolean;
  readonly multiLine: boolean;
  readonly dotAll: boolean;
  /** Repetitions are lazy where they do not say so, and greedy where they do. */
  readonly ungreedy: boolean;
};

const NO_FLAGS: Flags = { ignoreCase: false, multiLine: false, dotAll: false, ungreedy: false };

const EMPTY: PatternNode = { kind: "sequence", items: [] };

/** Throws PatternSyntaxError. */
export function parsePattern(source: string): PatternNode {
  const reader: Reader = { source, position: 0 };
  const { node } = parseAlternation(reader, NO_FLAGS, 0);
  if (reader.position < source.length) throw new PatternSyntaxError("unexpected )", source);
  return node;
}

type Parsed = { readonly node: PatternNode; readonly flags: Flags };

/** Up to the end or the closing parenthesis. Flags set on the way hold to that end, across the branches. */
function parseAlternation(reader: Reader, flags: Flags, depth: number): Parsed {
  if (depth > MAX_DEPTH) throw new PatternSyntaxError("expression nests too deeply", reader.source);
  const branches: PatternNode[] = [];
  let current = flags;
  while (true) {
    const branch = parseSequence(reader, current, depth);
    branches.push(branch.node);
    current = branch.flags;
    if (reader.source[reader.position] !== "|") break;
    reader.position++;
  }
  const [only = EMPTY] = branches;
  return { node: branches.length === 1 ? only : { kind: "alternation", branches }, flags: current };
}

function parseSequence(reader: Reader, flags: Flags, depth: number): Parsed {
  const items: PatternNode[] = [];
  let current = flags;
  while (reader.position < reader.source.length && !"|)".includes(reader.source[reader.position] ?? "")) {
    const changed = parseFlagsOnly(reader, current);
    if (changed !== undefined) {
      current = changed;
      continue;
    }
    const repeat = repeatAt(reader);
    if (repeat === undefined) items.push(...parseAtom(reader, current, depth));
    else items.push(parseRepetition(reader, repeat, items.pop(), current));
  }
  return { node: { kind: "sequence", items }, flags: current };
}

/** `(?i)`: the flags; undefined if there are none here. */
function parseFlagsOnly(reader: Reader, flags: Flags): Flags | undefined {
  const match = /^\(\?([imsU]*(?:-[imsU]+)?)\)/.exec(reader.source.slice(reader.position, reader.position + 16));
  if (match === null || match[1] === "") return undefined;
  reader.position += match[0].length;
  return withFlags(flags, match[1] ?? "");
}

function withFlags(flags: Flags, text: string): Flags {
  const [set = "", clear = ""] = text.split("-");
  const value = (letter: string, before: boolean): boolean =>
    (before || set.includes(letter)) && !clear.includes(letter);
  return {
    ignoreCase: value("i", flags.ignoreCase),
    multiLine: value("m", flags.multiLine),
    dotAll: value("s", flags.dotAll),
    ungreedy: value("U", flags.ungreedy),
  };
}

/** Parses one item at the reader, or as many as `\Q...\E` has characters. An operator behind it repeats the last. */
function parseAtom(reader: Reader, flags: Flags, depth: number): readonly PatternNode[] {
  if (reader.source.startsWith("\\Q", reader.position)) return parseQuoted(reader, flags);
  return [parseSingle(reader, flags, depth)];
}

function parseSingle(reader: Reader, flags: Flags, depth: number): PatternNode {
  const char = String.fromCodePoint(reader.source.codePointAt(reader.position) ?? 0);
  switch (char) {
    case "(":
      return parseGroup(reader, flags, depth);
    case "[":
      return { kind: "character", set: parseClass(reader, foldOf(flags)) };
    case "\\":
      return parseEscape(reader, flags);
  }
  reader.position += char.length;
  if (char === ".") return { kind: "character", set: flags.dotAll ? anyCharacter : anyButNewline };
  if (char === "^") return assertion(flags.multiLine ? "line start" : "text start");
  if (char === "$") return assertion(flags.multiLine ? "line end" : "text end");
  return character(single(char.codePointAt(0) ?? 0), flags);
}

/** Sets are folded before they are negated: `(?i)[^a]` does not match `A`. */
const foldOf = ({ ignoreCase }: Flags): Fold => (ignoreCase ? ignoringCase : (set) => set);

const character = (set: CharacterSet, flags: Flags): PatternNode => ({ kind: "character", set: foldOf(flags)(set) });

const assertion = (name: Assertion): PatternNode => ({ kind: "assertion", assertion: name });

const GROUP_START = /^\((?:\?(?:P?<[A-Za-z_][A-Za-z0-9_]*>|([imsU]*(?:-[imsU]+)?):))?/;

function parseGroup(reader: Reader, flags: Flags, depth: number): PatternNode {
  const rest = reader.source.slice(reader.position);
  const [start = "", groupFlags] = GROUP_START.exec(rest) ?? [];
  if (start === "(" && rest[1] === "?")
    throw new PatternSyntaxError("invalid or unsupported Perl syntax", rest.slice(0, 3));
  reader.position += start.length;
  const { node } = parseAlternation(reader, groupFlags ? withFlags(flags, groupFlags) : flags, depth + 1);
  if (reader.source[reader.position] !== ")") throw new PatternSyntaxError("missing closing )", reader.source);
  reader.position++;
  return node;
}

const ESCAPED_ASSERTIONS: ReadonlyMap<string, Assertion> = new Map([
  ["A", "text start"],
  ["z", "text end"],
  ["b", "word boundary"],
  ["B", "no word boundary"],
]);

function parseEscape(reader: Reader, flags: Flags): PatternNode {
  const letter = reader.source[reader.position + 1] ?? "";
  const asserted = ESCAPED_ASSERTIONS.get(letter);
  if (asserted !== undefined) {
    reader.position += 2;
    return assertion(asserted);
  }
  const set = parseEscapedSet(reader, foldOf(flags));
  if (set !== undefined) return { kind: "character", set };
  return character(single(readEscapedCharacter(reader)), flags);
}

/** `\Q...\E`: everything between is literal. */
function parseQuoted(reader: Reader, flags: Flags): readonly PatternNode[] {
  const end = reader.source.indexOf("\\E", reader.position);
  const text = reader.source.slice(reader.position + 2, end === -1 ? undefined : end);
  reader.position = end === -1 ? reader.source.length : end + 2;
  return [...text].map((char) => character(single(char.codePointAt(0) ?? 0), flags));
}

/** Repeats the item before the operator at the reader. A second operator in a row is a fault, except for the `?` of laziness. */
function parseRepetition(
  reader: Reader,
  repeat: Repeat,
  item: PatternNode | undefined,
  { ungreedy }: Flags,
): PatternNode {
  const { min, max, text } = repeat;
  if (isTooLarge(repeat)) throw new PatternSyntaxError("invalid repeat count", text);
  const begin = reader.position;
  const isMarked = skipRepeat(reader, repeat);
  if (item === undefined) {
    throw new PatternSyntaxError(
      "missing argument to repetition operator",
      reader.source.slice(begin, reader.position),
    );
  }
  const next = repeatAt(reader);
  if (next !== undefined) {
    if (isTooLarge(next)) throw new PatternSyntaxError("invalid repeat count", next.text);
    skipRepeat(reader, next);
    const operators = reader.source.slice(begin, reader.position);
    throw new PatternSyntaxError("invalid nested repetition operator", operators);
  }
  return { kind: "repetition", item, min, ...(max === undefined ? {} : { max }), isLazy: isMarked !== ungreedy };
}

const isTooLarge = ({ min, max = min }: Repeat): boolean => min > MAX_REPEAT || max > MAX_REPEAT || max < min;

/** Moves behind the operator; true when a `?` follows, which belongs to it. */
function skipRepeat(reader: Reader, { text }: Repeat): boolean {
  reader.position += text.length;
  const isMarked = reader.source[reader.position] === "?";
  if (isMarked) reader.position++;
  return isMarked;
}

type Repeat = { readonly text: string; readonly min: number; readonly max: number | undefined };

/** The repetition operator at the reader. Any other brace is literal. */
function repeatAt({ source, position }: Reader): Repeat | undefined {
  switch (source[position]) {
    case "*":
      return { text: "*", min: 0, max: undefined };
    case "+":
      return { text: "+", min: 1, max: undefined };
    case "?":
      return { text: "?", min: 0, max: 1 };
    case "{": {
      const match = /^\{(0|[1-9]\d*)(,(0|[1-9]\d*)?)?\}/.exec(source.slice(position, position + 24));
      if (match === null) return undefined;
      const [text, min = "0", comma, max = ""] = match;
      if (comma === undefined) return { text, min: Number(min), max: Number(min) };
      return { text, min: Number(min), max: max === "" ? undefined : Number(max) };
    }
    default:
      return undefined;
  }
}
