// The named sets of characters that patterns know: Perl's letters, POSIX classes, Unicode categories and scripts.
// Source: https://pkg.go.dev/regexp/syntax

import type { CharacterSet } from "./pattern-syntax.ts";

export const inRange =
  (first: number, last: number): CharacterSet =>
  (codePoint) =>
    codePoint >= first && codePoint <= last;

export const single = (expected: number): CharacterSet => inRange(expected, expected);

export const complement =
  (set: CharacterSet): CharacterSet =>
  (codePoint) =>
    !set(codePoint);

export const union =
  (sets: readonly CharacterSet[]): CharacterSet =>
  (codePoint) =>
    sets.some((set) => set(codePoint));

/** Belongs when the character does in either case. */
export const ignoringCase =
  (set: CharacterSet): CharacterSet =>
  (codePoint) =>
    set(codePoint) || set(changeCase(codePoint, "lower")) || set(changeCase(codePoint, "upper"));

function changeCase(codePoint: number, to: "lower" | "upper"): number {
  const char = String.fromCodePoint(codePoint);
  const changed = to === "lower" ? char.toLowerCase() : char.toUpperCase();
  const first = changed.codePointAt(0) ?? codePoint;
  return changed.length === String.fromCodePoint(first).length ? first : codePoint;
}

const NEWLINE = 10;
export const anyCharacter: CharacterSet = () => true;
export const anyButNewline: CharacterSet = (codePoint) => codePoint !== NEWLINE;

const digit = inRange(48, 57);
const upper = inRange(65, 90);
const lower = inRange(97, 122);
const alpha = union([upper, lower]);
const alnum = union([digit, alpha]);
export const wordCharacter = union([alnum, single(95)]);
const oneOf = (chars: string): CharacterSet => union([...chars].map((char) => single(char.codePointAt(0) ?? 0)));

/** `\d`, `\W` and their like; undefined for other letters. */
export function perlSet(letter: string): CharacterSet | undefined {
  switch (letter) {
    case "d":
      return digit;
    case "D":
      return complement(digit);
    case "w":
      return wordCharacter;
    case "W":
      return complement(wordCharacter);
    case "s":
      return oneOf("\t\n\f\r ");
    case "S":
      return complement(oneOf("\t\n\f\r "));
    default:
      return undefined;
  }
}

const POSIX_SETS: ReadonlyMap<string, CharacterSet> = new Map([
  ["alnum", alnum],
  ["alpha", alpha],
  ["ascii", inRange(0, 127)],
  ["blank", oneOf("\t ")],
  ["cntrl", union([inRange(0, 31), single(127)])],
  ["digit", digit],
  ["graph", inRange(33, 126)],
  ["lower", lower],
  ["print", inRange(32, 126)],
  ["punct", union([inRange(33, 47), inRange(58, 64), inRange(91, 96), inRange(123, 126)])],
  ["space", oneOf("\t\n\v\f\r ")],
  ["upper", upper],
  ["word", wordCharacter],
  ["xdigit", union([digit, inRange(65, 70), inRange(97, 102)])],
]);

/** `alpha` or `^alpha`; undefined for names that are none. */
export function posixSet(name: string): CharacterSet | undefined {
  if (!name.startsWith("^")) return POSIX_SETS.get(name);
  const set = POSIX_SETS.get(name.slice(1));
  return set && complement(set);
}

/** A general category such as `Lu`, or a script such as `Greek`; undefined for names that are neither. */
export function unicodeSet(name: string): CharacterSet | undefined {
  if (name === "Any") return anyCharacter;
  if (!/^[A-Za-z_]+$/.test(name)) return undefined;
  const property = nativeProperty(name) ?? nativeProperty(`Script=${name}`);
  return property && ((codePoint) => property.test(String.fromCodePoint(codePoint)));
}

function nativeProperty(name: string): RegExp | undefined {
  try {
    // linear: one character
    return new RegExp(`^\\p{${name}}$`, "u");
  } catch {
    return undefined;
  }
}
