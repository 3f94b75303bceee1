// Breaks one thing after the other while clients work, and mends it again: there is always a quorum, and a server that answers.

export type Fault = {
  readonly name: string;
  readonly begin: () => Promise<void> | void;
  readonly end: () => Promise<void> | void;
};

export type RandomFaults = {
  /** To be told after each operation how many there have been. */
  onOperation(count: number): void;
  /** Mends what is broken; rejects when a fault could not be made or mended. */
  end(): Promise<void>;
  /** How often each was made. */
  readonly counts: Readonly<Record<string, number>>;
};

export type RandomFaultsOptions = {
  readonly next: (bound: number) => number;
  /** Each lasts for, and is away for, at most so many operations, and some for longer than servers take to give something up. */
  readonly operations: number;
};

const SHORT_MS = 1_500;
const LONG_MS = 12_000;
/** One in so many is long. */
const LONG_SHARE = 10;

export function createFaults(faults: readonly Fault[], { next, operations }: RandomFaultsOptions): RandomFaults {
  const counts: Record<string, number> = {};
  let broken: Fault | undefined;
  let due = 1 + next(operations);
  let dueAt = 0;
  let running: Promise<void> | undefined;
  let failure: unknown;

  const turn = async (): Promise<void> => {
    if (broken !== undefined) {
      const mended = broken;
      broken = undefined;
      await mended.end();
      return;
    }
    const fault = faults[next(faults.length)];
    if (fault === undefined) return;
    broken = fault;
    dueAt = performance.now() + (next(LONG_SHARE) === 0 ? LONG_MS : next(SHORT_MS));
    counts[fault.name] = (counts[fault.name] ?? 0) + 1;
    await fault.begin();
  };
  return {
    counts,
    onOperation(count) {
      const now = performance.now();
      // Where hardly any operation ends, time ends the fault.
      if (running !== undefined || now < dueAt || (count < due && now < dueAt + LONG_MS / 3)) return;
      due = count + 1 + next(operations);
      running = turn()
        .catch((error: unknown) => {
          failure ??= error;
        })
        .finally(() => {
          running = undefined;
        });
    },
    async end() {
      await running;
      if (broken !== undefined) await turn();
      if (failure !== undefined) throw failure;
    },
  };
}
