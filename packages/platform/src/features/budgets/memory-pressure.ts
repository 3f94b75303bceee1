// Follows the resident memory of the process. Near its limit, the heap grows less between collections, and large request bodies are refused.

import type { Scheduler } from "@postern/apiserver/runtime/clock";

/** The heap of the process that the server runs in. */
export type ProcessHeap = {
  residentBytes(): number;
  /** Whether it collects garbage after little growth. */
  limitGrowth(isLittle: boolean): void;
  /** Collects all garbage, and gives pages back. */
  collect(): void;
};

export type MemoryPressure = Disposable & {
  /** Memory is short: what needs much of it has to be refused. */
  readonly isShort: boolean;
};

const PERIOD_MS = 250;
/** Parts of the limit. Between the first two, nothing changes, so that the heap does not go to and fro. */
const ROOMY = 0.65;
const TIGHT = 0.7;
const SHORT = 0.88;
/** Periods between two whole collections. Each holds up every request for a moment. */
const COLLECT_EVERY = 40;

export function followMemoryPressure(deps: {
  readonly limitBytes: number;
  readonly heap: ProcessHeap;
  readonly scheduler: Scheduler;
}): MemoryPressure {
  const { limitBytes, heap, scheduler } = deps;
  let isLittle = false;
  let isShort = false;
  let untilCollection = 0;
  let next: Disposable;

  function look(): void {
    const part = heap.residentBytes() / limitBytes;
    if (isLittle ? part < ROOMY : part > TIGHT) {
      isLittle = !isLittle;
      heap.limitGrowth(isLittle);
    }
    if (untilCollection > 0) untilCollection--;
    if (part > SHORT && untilCollection === 0) {
      untilCollection = COLLECT_EVERY;
      heap.collect();
      isShort = heap.residentBytes() / limitBytes > SHORT;
    } else isShort = part > SHORT;
    next = scheduler.schedule(PERIOD_MS, look);
  }

  next = scheduler.schedule(PERIOD_MS, look);
  return {
    get isShort() {
      return isShort;
    },
    [Symbol.dispose]() {
      next[Symbol.dispose]();
      if (isLittle) heap.limitGrowth(false);
    },
  };
}
