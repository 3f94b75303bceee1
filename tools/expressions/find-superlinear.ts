// Finds the texts on which a backtracking engine takes more than linear time for a regular expression.
// Source: A. Weber, H. Seidl, On the degree of ambiguity of finite automata (1991)

import { type Automaton, automataOf, END, type Expression, START } from "./automaton.ts";

export type Attack = {
  readonly degree: "polynomial" | "exponential";
  readonly prefix: string;
  readonly pump: string;
  readonly suffix: string;
};

/**
 * A text `prefix pump…pump suffix` that takes more than linear time; undefined if there is none. The engine tries every start, so that
 * `/0+$/` is polynomial although it is not ambiguous. Throws RangeError for a backreference.
 */
export function findSuperlinear(expression: Expression): Attack | undefined {
  for (const automaton of automataOf(expression)) {
    if (automaton.matchesNothing) continue;
    const attack = attackOn(automaton);
    if (attack !== undefined) return attack;
  }
  return undefined;
}

function attackOn(automaton: Automaton): Attack | undefined {
  const components = componentsOf(automaton);
  const reachable = wordsTo(automaton);
  const cyclic = automaton.states.flatMap((_, state) =>
    reachable.has(state) && isCyclic(automaton, components, state) ? [state] : [],
  );
  for (const state of cyclic) {
    const pump = twoWaysAround(automaton, components, state);
    const attack = pump === undefined ? undefined : failing(automaton, reachable.get(state) ?? [], pump);
    if (attack !== undefined) return { degree: "exponential", ...attack };
  }
  for (const from of cyclic) {
    for (const to of cyclic) {
      if (from === to) continue;
      const pump = pumpBetween(automaton, components, from, to);
      const attack = pump === undefined ? undefined : failing(automaton, reachable.get(from) ?? [], pump);
      if (attack !== undefined) return { degree: "polynomial", ...attack };
    }
  }
  return undefined;
}

type Word = readonly number[];

const stepsFrom = ({ states }: Automaton, state: number, symbol: number): readonly number[] =>
  [...(states[state]?.next.keys() ?? [])].filter((next) => states[next]?.accepts(symbol) === true);

/** Breadth-first search from `start`: the word to the first node for which `isGoal` is true. Takes at least one step. */
function search<Node>(
  start: Node,
  key: (node: Node) => number | string,
  next: (node: Node, emit: (node: Node, symbol: number) => void) => void,
  isGoal: (node: Node) => boolean,
): Word | undefined {
  const seen = new Set<number | string>();
  let level: { readonly node: Node; readonly word: Word }[] = [{ node: start, word: [] }];
  while (level.length > 0) {
    const following: typeof level = [];
    let found: Word | undefined;
    for (const { node, word } of level) {
      next(node, (target, symbol) => {
        if (found !== undefined || seen.has(key(target))) return;
        seen.add(key(target));
        if (isGoal(target)) found = [...word, symbol];
        following.push({ node: target, word: [...word, symbol] });
      });
      if (found !== undefined) return found;
    }
    level = following;
  }
  return undefined;
}

/** A shortest word to every reachable state. */
function wordsTo(automaton: Automaton): ReadonlyMap<number, Word> {
  const words = new Map<number, Word>([[automaton.initial, []]]);
  let level = [automaton.initial];
  while (level.length > 0) {
    const following: number[] = [];
    for (const state of level) {
      const symbols = state === automaton.initial ? [START] : automaton.symbols;
      for (const symbol of symbols) {
        for (const target of stepsFrom(automaton, state, symbol)) {
          if (words.has(target)) continue;
          words.set(target, [...(words.get(state) ?? []), symbol]);
          following.push(target);
        }
      }
    }
    level = following;
  }
  return words;
}

/** The number of the strongly connected component of each state (Tarjan, with two walks). */
function componentsOf({ states }: Automaton): readonly number[] {
  const order: number[] = [];
  const seen = new Set<number>();
  const visit = (state: number): void => {
    if (seen.has(state)) return;
    seen.add(state);
    for (const next of states[state]?.next.keys() ?? []) visit(next);
    order.push(state);
  };
  for (let state = 0; state < states.length; state++) visit(state);
  const back = states.map((): number[] => []);
  for (const [state, { next }] of states.entries()) for (const target of next.keys()) back[target]?.push(state);
  const component = new Array<number>(states.length).fill(-1);
  let count = 0;
  const mark = (state: number, number: number): void => {
    if (component[state] !== -1) return;
    component[state] = number;
    for (const before of back[state] ?? []) mark(before, number);
  };
  for (const state of order.reverse()) if (component[state] === -1) mark(state, count++);
  return component;
}

const isCyclic = ({ states }: Automaton, components: readonly number[], state: number): boolean =>
  [...(states[state]?.next.keys() ?? [])].some((next) => components[next] === components[state]);

const texts = ({ symbols }: Automaton): readonly number[] => symbols.filter((symbol) => symbol >= 0);

/** A word that leads from a state back to itself in two ways. */
function twoWaysAround(automaton: Automaton, components: readonly number[], state: number): Word | undefined {
  const { states } = automaton;
  const within = components[state];
  const width = states.length;
  type Node = readonly [left: number, right: number, parted: boolean];
  return search<Node>(
    [state, state, false],
    ([left, right, parted]) => (left * width + right) * 2 + (parted ? 1 : 0),
    ([left, right, parted], emit) => {
      for (const symbol of texts(automaton)) {
        for (const one of stepsFrom(automaton, left, symbol)) {
          if (components[one] !== within) continue;
          for (const other of stepsFrom(automaton, right, symbol)) {
            if (components[other] !== within) continue;
            const twice = left === right && one === other && (states[left]?.next.get(one) ?? 0) > 1;
            emit([one, other, parted || one !== other || twice], symbol);
          }
        }
      }
    },
    ([left, right, parted]) => parted && left === state && right === state,
  );
}

/** A word that leads from `from` to `from`, from `to` to `to`, and from one to the other. */
function pumpBetween(automaton: Automaton, components: readonly number[], from: number, to: number): Word | undefined {
  const width = automaton.states.length;
  type Node = readonly [stays: number, moves: number, waits: number];
  return search<Node>(
    [from, from, to],
    ([stays, moves, waits]) => (stays * width + moves) * width + waits,
    ([stays, moves, waits], emit) => {
      for (const symbol of texts(automaton)) {
        const ends = stepsFrom(automaton, waits, symbol).filter((state) => components[state] === components[to]);
        const starts = stepsFrom(automaton, stays, symbol).filter((state) => components[state] === components[from]);
        if (ends.length === 0 || starts.length === 0) continue;
        for (const middle of stepsFrom(automaton, moves, symbol))
          for (const start of starts) for (const end of ends) emit([start, middle, end], symbol);
      }
    },
    ([stays, moves, waits]) => stays === from && moves === to && waits === to,
  );
}

const PUMPS = 4;
/** Above this number of state sets, the search stops: the expression counts as one that can fail. */
const MAX_SETS = 2_000;

/** The attack, unless the expression matches before or whatever follows. */
function failing(
  automaton: Automaton,
  prefix: Word,
  pump: Word,
): { readonly prefix: string; readonly pump: string; readonly suffix: string } | undefined {
  let set: ReadonlySet<number> = new Set([automaton.initial]);
  for (const symbol of [...prefix, ...Array.from({ length: PUMPS }, () => pump).flat()]) {
    set = stepSet(automaton, set, symbol);
    if (isMatch(automaton, set)) return undefined;
  }
  const suffix = unmatched(automaton, set);
  return suffix === undefined ? undefined : { prefix: textOf(prefix), pump: textOf(pump), suffix: textOf(suffix) };
}

const stepSet = (automaton: Automaton, set: ReadonlySet<number>, symbol: number): ReadonlySet<number> =>
  new Set([...set].flatMap((state) => stepsFrom(automaton, state, symbol)));

const isMatch = ({ final }: Automaton, set: ReadonlySet<number>): boolean => [...set].some((state) => final.has(state));

/** A continuation with which nothing matches. */
function unmatched(automaton: Automaton, set: ReadonlySet<number>): Word | undefined {
  const fails = (states: ReadonlySet<number>): boolean => !isMatch(automaton, stepSet(automaton, states, END));
  if (fails(set)) return [];
  let sets = 0;
  return search<ReadonlySet<number>>(
    set,
    (states) => [...states].sort((a, b) => a - b).join(),
    (states, emit) => {
      if (sets++ > MAX_SETS) return;
      for (const symbol of texts(automaton)) {
        const next = stepSet(automaton, states, symbol);
        if (!isMatch(automaton, next)) emit(next, symbol);
      }
    },
    fails,
  );
}

const textOf = (word: Word): string => word.map((symbol) => (symbol < 0 ? "" : String.fromCodePoint(symbol))).join("");
