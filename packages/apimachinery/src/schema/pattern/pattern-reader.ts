// The position of the parser in a pattern, and the escapes for one character.
// Source: https://pkg.go.dev/regexp/syntax

import { PatternSyntaxError } from "./pattern-syntax.ts";

/** Moves forward as the parser reads. */
export type Reader = { readonly source: string; position: number };

const CONTROL_ESCAPES: ReadonlyMap<string, number> = new Map([
  ["a", 7],
  ["f", 12],
  ["n", 10],
  ["r", 13],
  ["t", 9],
  ["v", 11],
]);

/** The code point that the escape at the reader means: `\n`, `\x41`, `\x{1F600}`, `\101`, `\.` */
export function readEscapedCharacter(reader: Reader): number {
  const rest = reader.source.slice(reader.position);
  if (rest.length < 2) throw new PatternSyntaxError("trailing backslash at end of expression", "");
  const numeric = /^\\(?:x\{([0-9A-Fa-f]{1,6})\}|x([0-9A-Fa-f]{2})|(0[0-7]{0,2}|[1-7][0-7]{1,2}))/.exec(rest);
  if (numeric !== null) {
    const [text, braced, hex, octal] = numeric;
    const codePoint = octal === undefined ? Number.parseInt(braced ?? hex ?? "0", 16) : Number.parseInt(octal, 8);
    if (codePoint > 0x10ffff) throw new PatternSyntaxError("invalid escape sequence", text);
    reader.position += text.length;
    return codePoint;
  }
  const char = String.fromCodePoint(rest.codePointAt(1) ?? 0);
  const control = CONTROL_ESCAPES.get(char);
  if (control === undefined && (/[A-Za-z0-9]/.test(char) || (char.codePointAt(0) ?? 0) > 127)) {
    throw new PatternSyntaxError("invalid escape sequence", `\\${char}`);
  }
  reader.position += 1 + char.length;
  return control ?? char.codePointAt(0) ?? 0;
}
