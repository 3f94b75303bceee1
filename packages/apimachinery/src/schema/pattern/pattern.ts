// Matches patterns of schemas in time linear to the text, whatever the pattern: tenants may write both.
// It simulates the automaton of the pattern, as RE2 does, so that nothing is ever tried twice.
// Source: https://swtch.com/~rsc/regexp/regexp2.html

import { findOccurrences, type Occurrence } from "./find-occurrences.ts";
import { parsePattern } from "./parse-pattern.ts";
import { holds, type Instruction, MAX_STEPS, type Program } from "./pattern-program.ts";
import { type PatternNode, PatternSyntaxError } from "./pattern-syntax.ts";

export type Pattern = {
  /** Whether the pattern occurs anywhere in the text. */
  readonly test: (text: string) => boolean;
  /** Where it occurs, from the left and without overlaps, at most `limit` times unless that is negative. */
  readonly findAll: (text: string, limit: number) => readonly Occurrence[];
};

/** What is wrong with a pattern, in Go's words; undefined when it can be compiled. */
export function findPatternFault(source: string): string | undefined {
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

/** Throws PatternSyntaxError. */
export function compilePattern(source: string): Pattern {
  const program = compileProgram(parsePattern(source), source);
  return { test: (text) => runProgram(program, text), findAll: (text, limit) => findOccurrences(program, text, limit) };
}

/** Built from the end to the start, so that every instruction knows the next one. */
function compileProgram(root: PatternNode, source: string): Program {
  const instructions: Instruction[] = [];
  const emit = (instruction: Instruction): number => {
    if (instructions.length >= MAX_INSTRUCTIONS) throw new PatternSyntaxError("expression too large", source);
    return instructions.push(instruction) - 1;
  };
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
    let after = max === undefined ? compileLoop(item, isLazy, next) : next;
    for (let count = min; count < (max ?? min); count++) {
      const again = compile(item, after);
      after = emit({ kind: "fork", targets: isLazy ? [next, again] : [again, next] });
    }
    for (let count = 0; count < min; count++) after = compile(item, after);
    return after;
  };
  const compileLoop = (item: PatternNode, isLazy: boolean, next: number): number => {
    const targets: number[] = [];
    const loop = emit({ kind: "fork", targets });
    const again = compile(item, loop);
    targets.push(...(isLazy ? [next, again] : [again, next]));
    return loop;
  };
  const start = compile(root, emit({ kind: "match" }));
  return { instructions, start };
}

function runProgram({ instructions, start }: Program, text: string): boolean {
  let steps = 0;
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
    if (steps > MAX_STEPS) return false;
    threads = advanced;
  }
  return false;
}
