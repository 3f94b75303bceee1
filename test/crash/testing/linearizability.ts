// Checks whether a history of one key could have been made by one register with compare-and-swap, operation after operation.
// The search is that of Wing and Gong with Lowe's cache of what has been tried (Testing for linearizability, 2016).

/** Every write has an id of its own; a deleted or never written key holds nothing. */
export type WriteId = number | undefined;

export type Input =
  | { readonly type: "get" }
  | { readonly type: "create"; readonly id: number }
  /** Where `expected` is what the client believed to be there. */
  | { readonly type: "update"; readonly id: number; readonly expected: WriteId }
  | { readonly type: "delete"; readonly expected: WriteId };

/** Of a refusal that does not say what was there instead. */
export const UNTOLD = "untold";

export type Operation = {
  readonly input: Input;
  /** When it began and when it ended, on one clock. */
  readonly call: number;
  /** "unknown": the client never learned; it may have happened at any time since, or not at all. */
  readonly output:
    | { readonly type: "done"; readonly seen: WriteId; readonly return: number }
    | { readonly type: "refused"; readonly seen: WriteId | typeof UNTOLD; readonly return: number }
    | { readonly type: "unknown" };
};

export type Verdict = { readonly linearizable: true } | { readonly linearizable: false; readonly stuckAt: Operation };

/** An end of an operation in the order of time; unknown ones have no return. */
type Entry = {
  readonly index: number;
  readonly operation: Operation;
  readonly isCall: boolean;
  next: Entry | undefined;
  previous: Entry | undefined;
};

type Choice = { readonly call: Entry; readonly before: WriteId };

const IMPOSSIBLE = Symbol("impossible");

/** `operations` are those on one key. */
export function checkLinearizable(operations: readonly Operation[]): Verdict {
  const { head, returns } = timeline(operations);
  const fingerprint = new Fingerprint(operations.length);
  const tried = new Set<string>();
  const choices: Choice[] = [];
  let state: WriteId;
  let known = operations.filter(({ output }) => output.type !== "unknown").length;
  let deepest: Operation | undefined;
  let most = -1;
  let entry = head.next;
  // An operation with an unknown result need not have happened.
  while (known > 0) {
    if (entry?.isCall === true) {
      const after = apply(state, entry.operation);
      if (after !== IMPOSSIBLE && isNew(tried, fingerprint.with(entry.index), after)) {
        choices.push({ call: entry, before: state });
        fingerprint.flip(entry.index);
        state = after;
        known -= entry.operation.output.type === "unknown" ? 0 : 1;
        unlink(entry);
        unlink(returns[entry.index]);
        entry = head.next;
      } else entry = entry.next;
      continue;
    }
    // An operation has returned before anything that would explain it: the last choice was wrong.
    if (entry !== undefined && choices.length > most) {
      most = choices.length;
      deepest = entry.operation;
    }
    const wrong = choices.pop();
    if (wrong === undefined) return { linearizable: false, stuckAt: deepest ?? operations[0]! };
    state = wrong.before;
    known += wrong.call.operation.output.type === "unknown" ? 0 : 1;
    fingerprint.flip(wrong.call.index);
    relink(returns[wrong.call.index]);
    relink(wrong.call);
    entry = wrong.call.next;
  }
  return { linearizable: true };
}

function apply(state: WriteId, { input, output }: Operation): WriteId | typeof IMPOSSIBLE {
  if (output.type === "refused") {
    const wouldHaveWorked = state === (input.type === "create" || input.type === "get" ? undefined : input.expected);
    const isAsSeen = output.seen === UNTOLD || state === output.seen;
    return wouldHaveWorked || !isAsSeen ? IMPOSSIBLE : state;
  }
  switch (input.type) {
    case "get":
      return output.type === "unknown" || output.seen === state ? state : IMPOSSIBLE;
    case "create":
      return state === undefined ? input.id : IMPOSSIBLE;
    case "update":
      return state !== undefined && state === input.expected ? input.id : IMPOSSIBLE;
    case "delete":
      return state !== undefined && state === input.expected ? undefined : IMPOSSIBLE;
  }
}

function timeline(operations: readonly Operation[]): { head: Entry; returns: (Entry | undefined)[] } {
  const links = { next: undefined, previous: undefined };
  const calls = operations.map((operation, index): Entry => ({ index, operation, isCall: true, ...links }));
  const returns = operations.map((operation, index): Entry | undefined =>
    operation.output.type === "unknown" ? undefined : { index, operation, isCall: false, ...links },
  );
  const head: Entry = { index: -1, operation: operations[0]!, isCall: false, ...links };
  let last = head;
  for (const entry of [...calls, ...returns.filter((entry) => entry !== undefined)].sort((a, b) => at(a) - at(b))) {
    entry.previous = last;
    last.next = entry;
    last = entry;
  }
  return { head, returns };
}

function at({ isCall, operation: { call, output } }: Entry): number {
  return isCall || output.type === "unknown" ? call : output.return;
}

function unlink(entry: Entry | undefined): void {
  if (entry?.previous === undefined) return;
  entry.previous.next = entry.next;
  if (entry.next !== undefined) entry.next.previous = entry.previous;
}

function relink(entry: Entry | undefined): void {
  if (entry?.previous === undefined) return;
  entry.previous.next = entry;
  if (entry.next !== undefined) entry.next.previous = entry;
}

function isNew(tried: Set<string>, fingerprint: string, state: WriteId): boolean {
  const before = tried.size;
  tried.add(`${fingerprint}/${state}`);
  return tried.size > before;
}

/** A set of operations as 64 bits: each has random ones of its own, so that a collision is beyond expectation. */
class Fingerprint {
  readonly #bits: BigUint64Array;
  #value = 0n;

  constructor(size: number) {
    this.#bits = new BigUint64Array(size);
    let state = 0x9e3779b97f4a7c15n;
    for (let index = 0; index < size; index++) {
      state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
      this.#bits[index] = state ^ (state >> 29n);
    }
  }

  with(index: number): string {
    return (this.#value ^ this.#bits[index]!).toString(36);
  }

  flip(index: number): void {
    this.#value ^= this.#bits[index]!;
  }
}
