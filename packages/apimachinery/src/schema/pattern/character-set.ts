// Named sets of characters in patterns: Perl classes, POSIX classes, Unicode categories and scripts.
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

/** Belongs when the character does in any case, by Unicode's simple case folding. */
export const ignoringCase =
  (set: CharacterSet): CharacterSet =>
  (codePoint) =>
    set(codePoint) || otherCases(codePoint).some(set);

/** Characters that fold to one, where upper and lower case of a single one do not lead to all of them. */
const FOLDED_TOGETHER = [
  ..."KkK Ssſ µΜμ ÅåÅ Ǆǅǆ Ǉǈǉ Ǌǋǌ Ǳǲǳ \u0345Ιι\u1fbe Ββϐ Εεϵ Θθϑϴ Κκϰ Ππϖ Ρρϱ Σςσ Φφϕ ΩωΩ Ввᲀ Ддᲁ Ооᲂ Ссᲃ Ттᲄᲅ Ъъᲆ Ѣѣᲇ ᲈꙊꙋ Ṡṡẛ ßẞ ᾳᾼ ῃῌ ῳῼ".split(
    " ",
  ),
  // ᾀ to ᾯ: their upper case is two characters, their title case is one.
  ...[0x1f80, 0x1f90, 0x1fa0].flatMap((row) =>
    Array.from({ length: 8 }, (_, at) => String.fromCodePoint(row + at, row + 8 + at)),
  ),
].map((text) => [...text].map((char) => char.codePointAt(0) ?? 0));
const FOLDED: ReadonlyMap<number, readonly number[]> = new Map(
  FOLDED_TOGETHER.flatMap((all) => all.map((one) => [one, all.filter((other) => other !== one)])),
);
/** The Turkish i with and without a dot have no other case but in Turkish. */
const CASELESS: ReadonlySet<number> = new Set([0x130, 0x131]);

function otherCases(codePoint: number): readonly number[] {
  const folded = FOLDED.get(codePoint);
  if (folded !== undefined) return folded;
  return CASELESS.has(codePoint) ? [] : [changeCase(codePoint, "lower"), changeCase(codePoint, "upper")];
}

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

/** Maps a set before it is negated: to itself, or to the set with all cases of its characters. */
export type Fold = (set: CharacterSet) => CharacterSet;

const perlSpace = oneOf("\t\n\f\r ");

/** `\d`, `\W` and their like; undefined for other letters. */
export function perlSet(letter: string, fold: Fold): CharacterSet | undefined {
  switch (letter) {
    case "d":
      return fold(digit);
    case "D":
      return complement(fold(digit));
    case "w":
      return fold(wordCharacter);
    case "W":
      return complement(fold(wordCharacter));
    case "s":
      return fold(perlSpace);
    case "S":
      return complement(fold(perlSpace));
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

/** `alpha` or `^alpha`; undefined for unknown names. */
export function posixSet(name: string, fold: Fold): CharacterSet | undefined {
  const isNegated = name.startsWith("^");
  const set = POSIX_SETS.get(isNegated ? name.slice(1) : name);
  if (set === undefined) return undefined;
  return isNegated ? complement(fold(set)) : fold(set);
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
