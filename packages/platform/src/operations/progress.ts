// Progress of long operations on a store.

import type { CountEntries } from "./read-store.ts";

export type ProgressStep = {
  /** Such as `copying`. */
  readonly phase: string;
  readonly unit: "entries" | "bytes";
  readonly done: number;
  /** Undefined if unknown. */
  readonly total?: number | undefined;
};

/** Called often: must neither throw nor block. */
export type ReportProgress = (step: ProgressStep) => void;

/** Reports the beginning of a phase, and then all that it has counted. */
export function entryCounter(phase: string, total: number | undefined, report: ReportProgress): CountEntries {
  let done = 0;
  return (count) => {
    done += count;
    report({ phase, unit: "entries", done, total });
  };
}
