// Whether a cluster thread stands still, by the beats that it counts, its processor time, and whether it waits for a processor.

import { readFileSync } from "node:fs";
import type { Clock } from "@postern/apiserver/runtime/clock";
import { BEAT_MS, type ThreadReadings } from "../messages/thread-state.ts";

/** A thread may stand still for this long. */
const STALL_MS = 2_000;
/** Processor time of the thread in this time. One that waits for a processor does not stand still. */
const STALL_PROCESSOR_MS = 1_000;
/** Also without processor time, as in a system call that does not return. */
const LONGEST_STALL_MS = 10_000;
/** A process that was stopped, or a machine that slept, is no stall: each look counts this much at most. */
const MOST_PER_LOOK_MS = 2 * BEAT_MS;
/** The start of a thread loads modules. A machine with much else to do needs as long as for one that serves requests. */
const START_MS = 180_000;

/** Of a thread, as the operating system has it. */
export type ThreadWork = {
  readonly processorMs: number;
  /** It runs, or waits for a processor. */
  readonly isRunnable: boolean;
};

/** `read`: undefined where the operating system does not say. */
export type StallWatchDeps = {
  readonly readings: Pick<ThreadReadings, "beats" | "threadId">;
  readonly clock: Pick<Clock, "elapsed">;
  readonly read?: (threadId: number) => ThreadWork | undefined;
};

export class StallWatch {
  readonly #deps: Required<StallWatchDeps>;
  #lookedAt: number;
  #beats = 0;
  /** Since the last beat: how long, and the processor time of the thread at that beat. */
  #stillMs = 0;
  #processorMs: number | undefined;

  constructor(deps: StallWatchDeps) {
    this.#deps = { read: workOf, ...deps };
    this.#lookedAt = deps.clock.elapsed();
  }

  /** To be called at each beat. */
  isStalled(): boolean {
    const { readings, clock, read } = this.#deps;
    const now = clock.elapsed();
    const passed = Math.min(now - this.#lookedAt, MOST_PER_LOOK_MS);
    this.#lookedAt = now;
    const { beats, threadId } = readings;
    if (beats !== this.#beats) {
      this.#beats = beats;
      this.#stillMs = 0;
      this.#processorMs = read(threadId)?.processorMs;
      return false;
    }
    this.#stillMs += passed;
    if (beats === 0) return this.#stillMs > START_MS;
    if (this.#stillMs < STALL_MS) return false;
    const work = read(threadId);
    if (work === undefined || this.#processorMs === undefined) return true;
    if (work.processorMs - this.#processorMs >= STALL_PROCESSOR_MS) return true;
    return !work.isRunnable && this.#stillMs >= LONGEST_STALL_MS;
  }
}

/** Ticks of the clock in a second, on Linux. */
const TICKS = 100;

/** A thread of this process. */
function workOf(threadId: number): ThreadWork | undefined {
  if (threadId === 0) return undefined;
  try {
    const text = readFileSync(`/proc/self/task/${threadId}/stat`, "utf8");
    // The name of the thread may have spaces and parentheses.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const processorMs = ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS;
    return { processorMs, isRunnable: fields[0] === "R" };
  } catch {
    return undefined;
  }
}
