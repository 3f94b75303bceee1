// Whether a thread of this process stands still, by the beats that it counts, its processor time, and whether it waits for a processor.

import { readFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";
import type { Clock } from "@postern/apiserver/runtime/clock";

/** How often a thread shows that its event loop turns, and its watchdog looks. */
export const BEAT_MS = 200;

export type StallLimits = {
  /** A thread may stand still for this long, */
  readonly stallMs: number;
  /** and until it has used this much processor time meanwhile: one that waits for a processor does not stand still. */
  readonly processorMs: number;
};

/** In system calls that do not return, which use no processor time. */
const LONGEST_WAIT_MS = 10_000;
/** A process that was stopped, or a machine that slept, is no stall: each look counts this much at most. */
const MOST_PER_LOOK_MS = 2 * BEAT_MS;
/** The start of a thread loads modules, and may wait for etcd or for a disk. */
const START_MS = 180_000;

/** In shared memory, so that they are readable while the thread stands still. */
export type ThreadBeats = {
  readonly beats: number;
  /** As `ownThreadId` gives it. */
  readonly threadId: number;
};

/** The work of a thread, as the operating system has it. */
export type ThreadWork = {
  readonly processorMs: number;
  /** It runs, or waits for a processor. */
  readonly isRunnable: boolean;
};

/** Undefined where the operating system does not say. */
export type ReadThreadWork = (threadId: number) => ThreadWork | undefined;

export type StartWatchDeps = {
  readonly readings: Pick<ThreadBeats, "threadId">;
  readonly clock: Pick<Clock, "elapsed">;
  readonly read?: ReadThreadWork | undefined;
};

export type StallWatchDeps = StartWatchDeps & { readonly readings: ThreadBeats; readonly limits: StallLimits };

/** The time since the last look, as far as it counts. */
function createLooks(clock: Pick<Clock, "elapsed">): () => number {
  let lookedAt = clock.elapsed();
  return () => {
    const now = clock.elapsed();
    const passed = Math.min(now - lookedAt, MOST_PER_LOOK_MS);
    lookedAt = now;
    return passed;
  };
}

/** The start of a thread. The time in which it waits for a processor does not count. */
export class StartWatch {
  readonly #readings: Pick<ThreadBeats, "threadId">;
  readonly #passed: () => number;
  readonly #read: ReadThreadWork;
  #usedMs = 0;
  #processorMs: number | undefined;

  constructor({ readings, clock, read = workOf }: StartWatchDeps) {
    this.#readings = readings;
    this.#passed = createLooks(clock);
    this.#read = read;
  }

  /** To be called at each beat until it has started. */
  isOver(): boolean {
    const passed = this.#passed();
    const work = this.#read(this.#readings.threadId);
    const before = this.#processorMs;
    this.#processorMs = work?.processorMs;
    this.#usedMs += work?.isRunnable && before !== undefined ? work.processorMs - before : passed;
    return this.#usedMs > START_MS;
  }
}

export class StallWatch {
  readonly #readings: ThreadBeats;
  readonly #limits: StallLimits;
  readonly #passed: () => number;
  readonly #read: ReadThreadWork;
  readonly #start: StartWatch;
  #beats = 0;
  /** Since the last beat: how long, for how much of it in system calls, and the processor time of the thread at that beat. */
  #stillMs = 0;
  #waitedMs = 0;
  #processorMs: number | undefined;

  constructor({ readings, limits, clock, read = workOf }: StallWatchDeps) {
    this.#readings = readings;
    this.#limits = limits;
    this.#passed = createLooks(clock);
    this.#read = read;
    this.#start = new StartWatch({ readings, clock, read });
  }

  /** For how many milliseconds it has not beaten, as far as looks have seen. */
  get stillMs(): number {
    return this.#stillMs;
  }

  /** To be called at each beat. */
  isStalled(): boolean {
    const passed = this.#passed();
    const { beats, threadId } = this.#readings;
    if (beats !== this.#beats) {
      this.#beats = beats;
      this.#stillMs = 0;
      this.#waitedMs = 0;
      this.#processorMs = this.#read(threadId)?.processorMs;
      return false;
    }
    this.#stillMs += passed;
    if (beats === 0) return this.#start.isOver();
    const work = this.#read(threadId);
    // One that works waits now and then as well, as for threads that collect garbage with it.
    if (work?.isRunnable === false) this.#waitedMs += passed;
    if (this.#stillMs < this.#limits.stallMs) return false;
    if (work === undefined || this.#processorMs === undefined) return true;
    return work.processorMs - this.#processorMs >= this.#limits.processorMs || this.#waitedMs >= LONGEST_WAIT_MS;
  }
}

/** The id that the operating system gave the calling thread; 0 where it does not say. */
export function ownThreadId(): number {
  try {
    return Number(basename(readlinkSync("/proc/thread-self"))) || 0;
  } catch {
    return 0;
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
