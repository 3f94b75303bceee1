// One cluster thread as the front sees it: started with limits, watched, and ended when it stands still or takes too much memory.

import { readFileSync } from "node:fs";
import { Worker, type WorkerOptions } from "node:worker_threads";
import type { Clock, Scheduler } from "@postern/apiserver/runtime/clock";
import { withWholeYoungGeneration } from "../../../../../foundation/whole-young-generation.ts";
import type { ClusterThreadData } from "../inside/cluster-thread.ts";
import type { FrontCalls, FrontNotes, ThreadCalls, ThreadNotes } from "../messages/cluster-methods.ts";
import { type CallHandlers, createLink, type Link, type NoteHandlers } from "../messages/link.ts";
import { BEAT_MS, createThreadMemory, readThreadState, type ThreadReadings } from "../messages/thread-state.ts";

/** The built JavaScript, also where this file itself is run from its source: Node cannot start a thread from TypeScript. */
const SCRIPT = new URL(
  "../../../../../../dist/features/virtual-clusters/embedded/threads/inside/cluster-thread-main.js",
  import.meta.url,
);

/** A thread may stand still for this long. */
const STALL_MS = 2_000;
/** Processor time of the thread in this time. One that waits for a processor does not stand still. */
const STALL_PROCESSOR_MS = 1_000;
/** Also without processor time, as in a system call that does not return. */
const LONGEST_STALL_MS = 10_000;
/** A process that was stopped, or a machine that slept, is no stall: each look counts this much at most. */
const MOST_PER_LOOK_MS = 2 * BEAT_MS;
/** The start of a thread loads modules. */
const START_MS = 30_000;

export type EndReason = "stalled" | "memory" | "crashed" | "stopped";

export type ThreadLimits = {
  /** The limit of heap and buffers together. */
  readonly limitBytes: number;
};

export type ClusterThread = {
  readonly name: string;
  readonly link: Link<ThreadCalls, ThreadNotes>;
  readonly readings: ThreadReadings;
  readonly limitBytes: number;
  /** Milliseconds that the event loop worked. */
  readonly busyMs: number;
  /** Ends it; `onEnd` is called. */
  end(reason: EndReason): void;
};

export type ClusterThreadDeps = {
  readonly name: string;
  readonly data: Omit<ClusterThreadData, "state">;
  readonly limits: ThreadLimits;
  /** Default: the one that serves clusters. */
  readonly script?: URL;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly handlers: { readonly calls: CallHandlers<FrontCalls>; readonly notes: NoteHandlers<FrontNotes> };
  /** Called once, with the slot of the cluster for which it worked; 0 for none. */
  readonly onEnd: (reason: EndReason, slot: number, error: unknown) => void;
  readonly onError: (error: unknown) => void;
};

const MIB = 1 << 20;

const startWorker = withWholeYoungGeneration(
  ({ script, ...options }: WorkerOptions & { readonly script: URL }) => new Worker(script, options),
);

export function startThread(deps: ClusterThreadDeps): ClusterThread {
  const { name, data, limits, script = SCRIPT, clock, scheduler, handlers, onEnd, onError } = deps;
  const { limitBytes } = limits;
  const state = createThreadMemory();
  const readings = readThreadState(state);
  const worker = startWorker({
    script,
    name,
    env: {},
    execArgv: [],
    // Buffers are outside of the heap, and are counted by the thread.
    resourceLimits: { maxOldGenerationSizeMb: Math.ceil(limitBytes / MIB), maxYoungGenerationSizeMb: 16 },
    workerData: { ...data, state, limitBytes },
  });
  worker.unref();
  const link = createLink<FrontCalls, FrontNotes, ThreadCalls, ThreadNotes>({ port: worker, ...handlers, onError });
  let isOver = false;
  let watching: Disposable | undefined;

  function end(reason: EndReason, error?: unknown, slot = readings.slot): void {
    if (isOver) return;
    isOver = true;
    watching?.[Symbol.dispose]();
    void worker.terminate();
    onEnd(reason, slot, error);
  }

  worker.on("error", (error) => end(isOutOfMemory(error) ? "memory" : "crashed", error));
  worker.on("messageerror", (error) => end("crashed", error));
  // From outside: no cluster is to blame.
  worker.on("exit", (code) => end("crashed", new Error(`the thread exited with code ${code}`), 0));

  const stalls = new StallWatch(readings, clock);
  const look = (): void => {
    const reason = stalls.isStalled() ? "stalled" : readings.memoryBytes > limitBytes ? "memory" : undefined;
    if (reason === undefined) watching = scheduler.schedule(BEAT_MS, look);
    else end(reason);
  };
  watching = scheduler.schedule(BEAT_MS, look);

  return {
    name,
    link,
    readings,
    limitBytes,
    get busyMs() {
      return worker.performance.eventLoopUtilization().active;
    },
    end: (reason) => end(reason),
  };
}

/** Whether a thread stands still, by the beats that it counts. */
class StallWatch {
  readonly #readings: ThreadReadings;
  readonly #clock: Pick<Clock, "elapsed">;
  readonly #startedAt: number;
  #lookedAt: number;
  #beats = 0;
  /** Since the last beat: how long, and the processor time of the thread at that beat. */
  #stillMs = 0;
  #processorMs: number | undefined;

  constructor(readings: ThreadReadings, clock: Pick<Clock, "elapsed">) {
    this.#readings = readings;
    this.#clock = clock;
    this.#startedAt = clock.elapsed();
    this.#lookedAt = this.#startedAt;
  }

  /** To be called at each beat. */
  isStalled(): boolean {
    const now = this.#clock.elapsed();
    const passed = Math.min(now - this.#lookedAt, MOST_PER_LOOK_MS);
    this.#lookedAt = now;
    const { beats, threadId } = this.#readings;
    if (beats !== this.#beats) {
      this.#beats = beats;
      this.#stillMs = 0;
      this.#processorMs = processorMsOf(threadId);
      return false;
    }
    if (beats === 0) return now - this.#startedAt > START_MS;
    this.#stillMs += passed;
    if (this.#stillMs < STALL_MS) return false;
    const used = processorMsOf(threadId);
    if (used === undefined || this.#processorMs === undefined || this.#stillMs >= LONGEST_STALL_MS) return true;
    return used - this.#processorMs >= STALL_PROCESSOR_MS;
  }
}

/** Ticks of the clock in a second, on Linux. */
const TICKS = 100;

/** Processor time of a thread of this process; undefined where the operating system does not say. */
function processorMsOf(threadId: number): number | undefined {
  if (threadId === 0) return undefined;
  try {
    const text = readFileSync(`/proc/self/task/${threadId}/stat`, "utf8");
    // The name of the thread may have spaces and parentheses.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS;
  } catch {
    return undefined;
  }
}

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && (error as NodeJS.ErrnoException).code === "ERR_WORKER_OUT_OF_MEMORY";
