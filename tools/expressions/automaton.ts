// Builds the position automaton of a regular expression: one state per character in the expression.
// Source: V. M. Glushkov, The abstract theory of automata (1961)

import type { AST } from "@eslint-community/regexpp";
import { RegExpParser } from "@eslint-community/regexpp";

/** Symbols: sample characters, and the two ends of the text. */
export const START = -1;
export const END = -2;

type State = {
  /** Where a match of this state can continue, with the number of ways to get there. */
  readonly next: Map<number, number>;
  readonly accepts: (symbol: number) => boolean;
};

export type Automaton = {
  readonly states: readonly State[];
  /** A sample of each set of characters that the expression does not distinguish. */
  readonly symbols: readonly number[];
  /** Requires the start of the text. */
  readonly initial: number;
  /** A match is complete. */
  readonly final: ReadonlySet<number>;
  /** The empty text matches anywhere. */
  readonly matchesNothing: boolean;
};

/** Larger repeats count as unlimited: that many attempts at every position are not a small constant. */
const LARGE_REPEAT = 256;
/** How often a counted repeat is unrolled: more copies add states but no new kind of ambiguity. */
const COPIES = 2;

type Piece = {
  readonly nullable: boolean;
  readonly first: readonly number[];
  readonly last: readonly number[];
};
const EMPTY: Piece = { nullable: true, first: [], last: [] };

const SAMPLES = [
  ...Array.from({ length: 128 }, (_, code) => code),
  ...[0xa0, 0xb5, 0xdf, 0xe9, 0x130, 0x17f, 0x2028, 0x212a, 0x3b1, 0x4e2d, 0xfeff, 0xfffd],
];
/** Two characters for an expression without code points. */
const BEYOND_16_BITS = 0x1f600;

export type Expression = { readonly source: string; readonly flags: string };

/**
 * All automata of an expression: its own, and one for each lookaround. Assertions are left out, so that an automaton
 * accepts more than the expression. Throws for a backreference, which is not regular.
 */
export function automataOf(expression: Expression): readonly Automaton[] {
  const { source, flags } = expression;
  const pattern = new RegExpParser().parsePattern(source, 0, source.length, {
    unicode: flags.includes("u"),
    unicodeSets: flags.includes("v"),
  });
  const lookarounds: (readonly AST.Alternative[])[] = [];
  const own = build(pattern.alternatives, expression, flags.includes("y"), lookarounds);
  const result = [own];
  for (let alternatives = lookarounds.shift(); alternatives !== undefined; alternatives = lookarounds.shift()) {
    result.push(build(alternatives, expression, false, lookarounds));
  }
  return result;
}

function build(
  alternatives: readonly AST.Alternative[],
  { flags }: Expression,
  sticky: boolean,
  lookarounds: (readonly AST.Alternative[])[],
): Automaton {
  const states: State[] = [];
  const sets: string[] = [];
  const addState = (accepts: State["accepts"]): number => states.push({ next: new Map(), accepts }) - 1;
  const setFlags = flags.replace(/[gymd]/g, "");

  const characters = (raw: string): Piece => {
    const set = new RegExp(`^(?:${raw})$`, setFlags);
    const known = new Map<number, boolean>();
    const state = addState((symbol) => {
      if (symbol < 0) return false;
      const found = known.get(symbol) ?? set.test(String.fromCodePoint(symbol));
      known.set(symbol, found);
      return found;
    });
    sets.push(raw);
    return { nullable: false, first: [state], last: [state] };
  };
  const edge = (symbol: number): Piece => {
    const state = addState((given) => given === symbol);
    return { nullable: false, first: [state], last: [state] };
  };
  const connect = (from: readonly number[], to: readonly number[]): void => {
    for (const source of from) {
      const next = states[source]?.next;
      for (const target of to) next?.set(target, (next.get(target) ?? 0) + 1);
    }
  };

  const sequence = (pieces: readonly Piece[]): Piece =>
    pieces.reduce((left, right) => {
      connect(left.last, right.first);
      return {
        nullable: left.nullable && right.nullable,
        first: left.nullable ? left.first.concat(right.first) : left.first,
        last: right.nullable ? left.last.concat(right.last) : right.last,
      };
    }, EMPTY);
  const choice = (pieces: readonly Piece[]): Piece => ({
    nullable: pieces.some(({ nullable }) => nullable),
    first: pieces.flatMap(({ first }) => first),
    last: pieces.flatMap(({ last }) => last),
  });
  const optional = (piece: Piece): Piece => ({ ...piece, nullable: true });
  const repeated = (piece: Piece): Piece => {
    connect(piece.last, piece.first);
    return piece;
  };

  const quantified = ({ element, min, max }: AST.Quantifier): Piece => {
    const required = Array.from({ length: Math.min(min, COPIES) }, () => piece(element));
    if (max - min >= LARGE_REPEAT || max === Number.POSITIVE_INFINITY) {
      return sequence([...required, optional(repeated(piece(element)))]);
    }
    const more = Array.from({ length: Math.min(max - min, COPIES) }, () => piece(element));
    // Each optional copy only follows the one before: `a?` inside `a?`.
    return sequence([...required, more.reduceRight((rest, one) => optional(sequence([one, rest])), EMPTY)]);
  };

  const piece = (element: AST.Element): Piece => {
    switch (element.type) {
      case "Character":
      case "CharacterSet":
      case "CharacterClass":
      case "ExpressionCharacterClass":
        return characters(element.raw);
      case "Group":
      case "CapturingGroup":
        return choice(element.alternatives.map(alternative));
      case "Quantifier":
        return quantified(element);
      case "Assertion":
        if (element.kind === "lookahead" || element.kind === "lookbehind") lookarounds.push(element.alternatives);
        if (element.kind === "start" && !flags.includes("m")) return edge(START);
        if (element.kind === "end" && !flags.includes("m")) return edge(END);
        return EMPTY;
      case "Backreference":
        throw new RangeError(`${element.raw} is no part of a regular language`);
    }
  };
  const alternative = ({ elements }: AST.Alternative): Piece => sequence(elements.map(piece));
  /** At the ends of an expression, an assertion is equivalent to a part of it. */
  const outermost = (element: AST.Element, index: number, elements: readonly AST.Element[]): Piece => {
    if (
      element.type === "Assertion" &&
      element.kind === "lookahead" &&
      !element.negate &&
      index === elements.length - 1
    )
      return choice(element.alternatives.map(alternative));
    if (index === 0 && element.type === "Assertion" && element.kind === "start")
      return flags.includes("m") ? choice([edge(START), characters("[\\n\\r\\u2028\\u2029]")]) : edge(START);
    const unwanted = index === 0 ? unwantedBefore(element) : undefined;
    return unwanted === undefined ? piece(element) : choice([edge(START), characters(`(?!${unwanted})[^]`)]);
  };

  const whole = choice(alternatives.map(({ elements }) => sequence(elements.map(outermost))));
  const isAny = (symbol: number): boolean => symbol >= 0;
  const initial = addState(() => false);
  const search = addState((symbol) => symbol === START || (isAny(symbol) && !sticky));
  connect([initial], [search, ...whole.first]);
  connect([search], sticky ? whole.first : [search, ...whole.first]);
  return {
    states,
    symbols: [...alike(states, /[uv]/.test(flags)), END],
    initial,
    final: new Set(whole.last),
    matchesNothing: whole.nullable,
  };
}

/** The one character that a lookbehind such as `(?<!\d)` refuses. */
function unwantedBefore(element: AST.Element): string | undefined {
  if (element.type !== "Assertion" || element.kind !== "lookbehind" || !element.negate) return undefined;
  const [only, more] = element.alternatives.flatMap(({ elements }) => elements);
  const isCharacter = only !== undefined && /^Character/.test(only.type) && element.alternatives.length === 1;
  return isCharacter && more === undefined ? only.raw : undefined;
}

/** One sample of characters that no state distinguishes. */
function alike(states: readonly State[], readsCodePoints: boolean): readonly number[] {
  const samples = new Map<string, number>();
  for (const sample of readsCodePoints ? [...SAMPLES, BEYOND_16_BITS] : SAMPLES) {
    const key = states.map(({ accepts }) => (accepts(sample) ? "1" : "0")).join("");
    const known = samples.get(key);
    // Visible characters make readable attacks.
    if (known === undefined || (known < 0x21 && sample >= 0x21)) samples.set(key, sample);
  }
  return [...samples.values()];
}
