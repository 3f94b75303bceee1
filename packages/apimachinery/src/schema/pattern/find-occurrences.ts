// Finds the occurrences of a pattern in a text: the leftmost, and there the preferred one, as Go does in its regexp package.
// Source: https://swtch.com/~rsc/regexp/regexp2.html (Pike's VM)

import { checkSteps, holds, type Program, type SpendSteps } from "./pattern-program.ts";

/** From where to where, in UTF-16 units. */
export type Occurrence = readonly [begin: number, end: number];

/** Like Go's FindAllString: an empty occurrence right behind another one does not count. */
export function findOccurrences(
  program: Program,
  text: string,
  { limit, spend }: { readonly limit: number; readonly spend: SpendSteps | undefined },
): readonly Occurrence[] {
  const found: Occurrence[] = [];
  const lastSeen = new Int32Array(program.instructions.length);
  const search: Search = { steps: 0, paid: 0, stamp: 0, lastSeen, spend };
  let [position, previousEnd] = [0, -1];
  while (position <= text.length && (limit < 0 || found.length < limit)) {
    const occurrence = findFrom(program, text, position, search);
    if (occurrence === undefined) break;
    const [begin, end] = occurrence;
    const isEmpty = begin === end;
    if (!isEmpty || end !== previousEnd) found.push(occurrence);
    previousEnd = end;
    position = isEmpty ? end + widthAt(text, end) : end;
  }
  return found;
}

const widthAt = (text: string, position: number): number => ((text.codePointAt(position) ?? 0) > 0xffff ? 2 : 1);

/** State that several searches share: the steps that they took, and when an instruction was reached last. */
type Search = {
  steps: number;
  paid: number;
  stamp: number;
  readonly lastSeen: Int32Array;
  readonly spend: SpendSteps | undefined;
};

type Thread = { readonly at: number; readonly begin: number };

/** Threads are in the order of preference: one that matches ends all after it. */
function findFrom(
  { instructions, start }: Program,
  text: string,
  from: number,
  search: Search,
): Occurrence | undefined {
  let threads: Thread[] = [];
  let found: Occurrence | undefined;
  const { lastSeen } = search;

  /** Adds the states reachable without a character; true if one of them matches. */
  const follow = (thread: Thread, position: number, reached: Thread[]): boolean => {
    const pending = [thread.at];
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      const instruction = instructions[at];
      if (instruction === undefined || lastSeen[at] === search.stamp) continue;
      lastSeen[at] = search.stamp;
      search.steps++;
      if (instruction.kind === "match") {
        found = [thread.begin, position];
        return true;
      }
      if (instruction.kind === "fork") pending.push(...instruction.targets.toReversed());
      else if (instruction.kind === "character") reached.push({ at, begin: thread.begin });
      else if (holds(instruction.assertion, text, position)) pending.push(instruction.next);
    }
    return false;
  };

  search.stamp++;
  for (let position = from; position <= text.length; ) {
    // Once there is a match, what begins later can only be worse.
    if (found === undefined) follow({ at: start, begin: position }, position, threads);
    if (threads.length === 0 && found !== undefined) return found;
    const codePoint = text.codePointAt(position);
    if (codePoint === undefined) break;
    checkSteps(search.steps);
    position += codePoint > 0xffff ? 2 : 1;
    search.stamp++;
    const advanced: Thread[] = [];
    for (const { at, begin } of threads) {
      search.steps++;
      const instruction = instructions[at];
      if (instruction?.kind !== "character" || !instruction.set(codePoint)) continue;
      if (follow({ at: instruction.next, begin }, position, advanced)) break;
    }
    search.spend?.(search.steps - search.paid);
    search.paid = search.steps;
    threads = advanced;
  }
  return found;
}
