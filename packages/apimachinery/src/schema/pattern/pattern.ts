// Matches patterns in time linear to the text, since tenants may write both. Simulates the automaton of the pattern, as RE2 does, without
// backtracking.
// Source: https://swtch.com/~rsc/regexp/regexp2.html

import { findOccurrences, type Occurrence } from "./find-occurrences.ts";
import { parsePattern } from "./parse-pattern.ts";
import { checkSteps, holds, type Instruction, type Program, type SpendSteps } from "./pattern-program.ts";
import { type PatternNode, PatternSyntaxError } from "./pattern-syntax.ts";

/** Searches throw PatternLimitError when they take too long. */
export type Pattern = {
  /** Whether the pattern occurs anywhere in the text. */
  readonly test: (text: string, spend?: SpendSteps) => boolean;
  /** The occurrences from the left, without overlaps, at most `limit` of them unless that is negative. */
  readonly findAll: (text: string, limit: number, spend?: SpendSteps) => readonly Occurrence[];
};

/** The fault of a pattern, in Go's words; undefined when it can be compiled. */
export function findPatternError(source: string): string | undefined {
  try {
    compilePattern(source);
    return undefined;
  } catch (error) {
    if (error instanceof PatternSyntaxError) return error.message;
    throw error;
  }
}

/** Counted repetitions are written out, so that a short pattern can become a large program. */
const MAX_INSTRUCTIONS = 10_000;
type Repetition = Extract<PatternNode, { readonly kind: "repetition" }>;

/** Larger programs are compiled again for each text: a schema may have thousands of such patterns that are never used. */
const MAX_KEPT = 200;

/** Parsing takes one step, whatever the pattern unfolds into. */
const MAX_CHARACTERS = 100_000;

/** Throws PatternSyntaxError. With `spend`, compiling the program is charged as well. */
export function compilePattern(source: string): Pattern {
  if (source.length > MAX_CHARACTERS) throw new PatternSyntaxError("expression too large", source);
  const root = parsePattern(source);
  const size = instructionsOf(root) + 1;
  if (size > MAX_INSTRUCTIONS) throw new PatternSyntaxError("expression too large", source);
  let kept: Program | undefined;
  const programFor = (spend: SpendSteps | undefined): Program => {
    if (kept !== undefined) return kept;
    spend?.(size);
    const made = compileProgram(root);
    if (size <= MAX_KEPT) kept = made;
    return made;
  };
  return {
    test: (text, spend) => runProgram(programFor(spend), text, spend),
    findAll: (text, limit, spend) => findOccurrences(programFor(spend), text, { limit, spend }),
  };
}

/** Number of instructions that `compileProgram` would emit, without the last one, and without emitting any. */
function instructionsOf(node: PatternNode): number {
  switch (node.kind) {
    case "character":
    case "assertion":
      return 1;
    case "sequence":
      return node.items.reduce((sum, item) => sum + instructionsOf(item), 0);
    case "alternation":
      return node.branches.reduce((sum, branch) => sum + instructionsOf(branch), 1);
    case "repetition": {
      const { item, min, max } = node;
      const size = instructionsOf(item);
      return size * min + (max === undefined ? size + 1 : (size + 1) * Math.max(0, max - min));
    }
  }
}

/** Built from the end to the start, so that every instruction knows the next one. */
function compileProgram(root: PatternNode): Program {
  const instructions: Instruction[] = [];
  const emit = (instruction: Instruction): number => instructions.push(instruction) - 1;
  const compile = (node: PatternNode, next: number): number => {
    switch (node.kind) {
      case "character":
        return emit({ kind: "character", set: node.set, next });
      case "assertion":
        return emit({ kind: "assertion", assertion: node.assertion, next });
      case "sequence":
        return node.items.reduceRight((after, item) => compile(item, after), next);
      case "alternation":
        return emit({ kind: "fork", targets: node.branches.map((branch) => compile(branch, next)) });
      case "repetition":
        return compileRepetition(node, next);
    }
  };
  const compileRepetition = ({ item, min, max, isLazy }: Repetition, next: number): number => {
    const orLeave = (again: number): number[] => (isLazy ? [next, again] : [again, next]);
    if (max === undefined) {
      const again = compileOnceOrMore(item, isLazy, next);
      // `x*` as `(x+)?`: an empty x would else be passed over, and a longer one preferred to it.
      if (min === 0) return emit({ kind: "fork", targets: orLeave(again) });
      return copies(item, min - 1, again);
    }
    let after = next;
    for (let count = min; count < max; count++) after = emit({ kind: "fork", targets: orLeave(compile(item, after)) });
    return copies(item, min, after);
  };
  const copies = (item: PatternNode, count: number, next: number): number => {
    let after = next;
    for (let left = count; left > 0; left--) after = compile(item, after);
    return after;
  };
  const compileOnceOrMore = (item: PatternNode, isLazy: boolean, next: number): number => {
    const targets: number[] = [];
    const loop = emit({ kind: "fork", targets });
    const again = compile(item, loop);
    targets.push(...(isLazy ? [next, again] : [again, next]));
    return again;
  };
  const start = compile(root, emit({ kind: "match" }));
  return { instructions, start };
}

function runProgram({ instructions, start }: Program, text: string, spend?: SpendSteps): boolean {
  let [steps, paid] = [0, 0];
  let threads: number[] = [];
  const lastSeen = new Int32Array(instructions.length).fill(-1);
  const pending: number[] = [];

  /** Follows everything that needs no character; true when the match is reached. */
  const follow = (from: number, position: number, reached: number[]): boolean => {
    pending.push(from);
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      const instruction = instructions[at];
      if (instruction === undefined || lastSeen[at] === position) continue;
      lastSeen[at] = position;
      steps++;
      if (instruction.kind === "match") return true;
      if (instruction.kind === "fork") pending.push(...instruction.targets);
      else if (instruction.kind === "character") reached.push(at);
      else if (holds(instruction.assertion, text, position)) pending.push(instruction.next);
    }
    return false;
  };

  for (let position = 0; position <= text.length; ) {
    if (follow(start, position, threads)) return true;
    const codePoint = text.codePointAt(position);
    if (codePoint === undefined) return false;
    position += codePoint > 0xffff ? 2 : 1;
    const advanced: number[] = [];
    for (const at of threads) {
      steps++;
      const instruction = instructions[at];
      if (instruction?.kind !== "character" || !instruction.set(codePoint)) continue;
      if (follow(instruction.next, position, advanced)) return true;
    }
    checkSteps(steps);
    spend?.(steps - paid);
    paid = steps;
    threads = advanced;
  }
  return false;
}
