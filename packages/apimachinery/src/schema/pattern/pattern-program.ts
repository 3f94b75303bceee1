// The automaton of a pattern: instructions and assertions.

import { wordCharacter } from "./character-set.ts";
import type { Assertion, CharacterSet } from "./pattern-syntax.ts";

export type Instruction =
  | { readonly kind: "character"; readonly set: CharacterSet; readonly next: number }
  | { readonly kind: "assertion"; readonly assertion: Assertion; readonly next: number }
  /** The first of the targets is the one that the pattern prefers. */
  | { readonly kind: "fork"; readonly targets: readonly number[] }
  | { readonly kind: "match" };

export type Program = { readonly instructions: readonly Instruction[]; readonly start: number };

/** Called with how many steps were taken since it was called last; may throw to give up. About 40 of them take a microsecond. */
export type SpendSteps = (steps: number) => void;

/** A pattern takes too long for a text: whether it matches stays open, and neither answer may be assumed. */
export class PatternLimitError extends Error {
  override readonly name = "PatternLimitError";

  constructor() {
    super("the pattern takes too long for this text");
  }
}

/** About half a second: the limit of one search. */
const MAX_STEPS = 20_000_000;

/** Throws PatternLimitError. */
export function checkSteps(steps: number): void {
  if (steps > MAX_STEPS) throw new PatternLimitError();
}

export function holds(assertion: Assertion, text: string, position: number): boolean {
  switch (assertion) {
    case "text start":
      return position === 0;
    case "text end":
      return position === text.length;
    case "line start":
      return position === 0 || text[position - 1] === "\n";
    case "line end":
      return position === text.length || text[position] === "\n";
    case "word boundary":
      return isWordAt(text, position - 1) !== isWordAt(text, position);
    case "no word boundary":
      return isWordAt(text, position - 1) === isWordAt(text, position);
  }
}

const isWordAt = (text: string, index: number): boolean =>
  index >= 0 && index < text.length && wordCharacter(text.charCodeAt(index));
