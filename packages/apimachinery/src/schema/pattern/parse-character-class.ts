// Reads a set of characters: `[a-z_]`, `[^[:space:]]`, `\d`, `\p{Greek}`.
// Source: https://pkg.go.dev/regexp/syntax

import { complement, type Fold, inRange, perlSet, posixSet, unicodeSet, union } from "./character-set.ts";
import { type Reader, readEscapedCharacter } from "./pattern-reader.ts";
import { type CharacterSet, PatternSyntaxError } from "./pattern-syntax.ts";

/** The set in brackets at the reader. */
export function parseClass(reader: Reader, fold: Fold): CharacterSet {
  const begin = reader.position;
  reader.position++;
  const negated = reader.source[reader.position] === "^";
  if (negated) reader.position++;
  const sets: CharacterSet[] = [];
  // A closing bracket at the start of a class is a literal.
  while (reader.source[reader.position] !== "]" || sets.length === 0) {
    if (reader.position >= reader.source.length) {
      throw new PatternSyntaxError("missing closing ]", reader.source.slice(begin));
    }
    sets.push(parsePosixSet(reader, fold) ?? parseEscapedSet(reader, fold) ?? fold(parseRange(reader)));
  }
  reader.position++;
  return negated ? complement(union(sets)) : union(sets);
}

function parsePosixSet(reader: Reader, fold: Fold): CharacterSet | undefined {
  const match = /^\[:(\^?[a-z]+):\]/.exec(reader.source.slice(reader.position, reader.position + 16));
  if (match === null) return undefined;
  const [text, name = ""] = match;
  const set = posixSet(name, fold);
  if (set === undefined) throw new PatternSyntaxError("invalid character class range", text);
  reader.position += text.length;
  return set;
}

/** `\d` or `\pL` at the reader; undefined for anything else. */
export function parseEscapedSet(reader: Reader, fold: Fold): CharacterSet | undefined {
  if (reader.source[reader.position] !== "\\") return undefined;
  const perl = perlSet(reader.source[reader.position + 1] ?? "", fold);
  if (perl !== undefined) {
    reader.position += 2;
    return perl;
  }
  const match = /^\\([pP])(?:\{(\^?)([^}]*)\}|(.))/su.exec(reader.source.slice(reader.position, reader.position + 64));
  if (match === null) return undefined;
  const [text, letter, caret, braced, short] = match;
  const set = unicodeSet(braced ?? short ?? "");
  if (set === undefined) throw new PatternSyntaxError("invalid character class range", text);
  reader.position += text.length;
  return (letter === "P") === (caret === "^") ? fold(set) : complement(fold(set));
}

function parseRange(reader: Reader): CharacterSet {
  const begin = reader.position;
  const first = readClassCharacter(reader);
  const { source, position } = reader;
  if (source[position] !== "-" || position + 1 >= source.length || source[position + 1] === "]") {
    return inRange(first, first);
  }
  reader.position++;
  const last = readClassCharacter(reader);
  if (last < first) {
    throw new PatternSyntaxError("invalid character class range", source.slice(begin, reader.position));
  }
  return inRange(first, last);
}

function readClassCharacter(reader: Reader): number {
  if (reader.source[reader.position] === "\\") return readEscapedCharacter(reader);
  const codePoint = reader.source.codePointAt(reader.position) ?? 0;
  reader.position += codePoint > 0xffff ? 2 : 1;
  return codePoint;
}
