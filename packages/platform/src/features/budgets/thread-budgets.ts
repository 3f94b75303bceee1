// The memory of cluster threads: each has a share, and none can touch that of another, or that of the front.

import { ALONE_THREADS, type MemoryBudgets, THREAD_IDLE_BYTES } from "./memory-limit.ts";

export type ThreadBudget = {
  /** Heap and buffers at which the thread is ended. */
  readonly limitBytes: number;
  /** For what its clusters store. */
  readonly clustersBytes: number;
  /** Recent events for watches. */
  readonly historyBytes: number;
  /** Events that wait to be sent to slow watches. */
  readonly backlogBytes: number;
};

export type ThreadBudgets = {
  readonly shared: ThreadBudget;
  /** The budget of a thread for one cluster alone: one that has stopped the thread it shared. */
  readonly alone: ThreadBudget;
};

/** The share of such a thread, as a part of a shared one's. */
const ALONE_PART = 1 / 3;

/** All threads share what the budgets leave for clusters. */
export function threadBudgets(memory: MemoryBudgets): ThreadBudgets {
  const parts = memory.clusterThreads + ALONE_THREADS * ALONE_PART;
  const budgetOf = (part: number): ThreadBudget => {
    const clustersBytes = Math.floor((memory.clustersBytes * part) / parts);
    const historyBytes = Math.floor((memory.historyBytes * part) / parts);
    const backlogBytes = Math.floor((memory.threadBacklogBytes * part) / parts);
    const garbage = Math.floor((memory.threadMarginBytes * part) / parts);
    return {
      limitBytes: THREAD_IDLE_BYTES + clustersBytes + historyBytes + backlogBytes + garbage,
      clustersBytes,
      historyBytes,
      backlogBytes,
    };
  };
  return { shared: budgetOf(1), alone: budgetOf(ALONE_PART) };
}
