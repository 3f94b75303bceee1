// The syntax tree of a pattern, and syntax errors.
// Source: https://pkg.go.dev/regexp/syntax

/** Tells whether a code point belongs. */
export type CharacterSet = (codePoint: number) => boolean;

export type Assertion = "text start" | "text end" | "line start" | "line end" | "word boundary" | "no word boundary";

export type PatternNode =
  | { readonly kind: "character"; readonly set: CharacterSet }
  | { readonly kind: "assertion"; readonly assertion: Assertion }
  | { readonly kind: "sequence"; readonly items: readonly PatternNode[] }
  | { readonly kind: "alternation"; readonly branches: readonly PatternNode[] }
  /** `max` absent: any number. A lazy one stops as soon as it may. */
  | {
      readonly kind: "repetition";
      readonly item: PatternNode;
      readonly min: number;
      readonly max?: number;
      readonly isLazy: boolean;
    };

const MAX_EXCERPT = 1_024;

/** A pattern that is not one. The message is Go's: `error parsing regexp: missing closing ): ...`. */
export class PatternSyntaxError extends Error {
  override readonly name = "PatternSyntaxError";

  /** A long excerpt is cut: a definition may have as many faults as patterns. */
  constructor(fault: string, excerpt: string) {
    const shown = excerpt.length > MAX_EXCERPT ? `${excerpt.slice(0, MAX_EXCERPT)}...` : excerpt;
    super(`error parsing regexp: ${fault}: \`${shown}\``);
  }
}
