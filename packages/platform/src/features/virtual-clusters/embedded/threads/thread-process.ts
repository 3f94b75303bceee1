// One cluster thread as the front sees it: started with limits, watched, and ended when it stands still or takes too much memory.

import { readFileSync } from "node:fs";
import { Worker } from "node:worker_threads";
import type { Clock, Scheduler } from "@postern/apiserver/runtime/clock";
import type { FrontCalls, FrontNotes, ThreadCalls, ThreadNotes } from "./cluster-methods.ts";
import type { ClusterThreadData } from "./cluster-thread.ts";
import { type CallHandlers, createLink, type Link, type NoteHandlers } from "./link.ts";
import { BEAT_MS, createThreadMemory, readThreadState, type ThreadReadings } from "./thread-state.ts";

/** The built JavaScript, also where this file itself is run from its source: Node cannot start a thread from TypeScript. */
const SCRIPT = new URL(
  "../../../../../dist/features/virtual-clusters/embedded/threads/cluster-thread-main.js",
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
  /** Of heap and buffers. */
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

export function startThread(deps: ClusterThreadDeps): ClusterThread {
  const { name, data, limits, script = SCRIPT, clock, scheduler, handlers, onEnd, onError } = deps;
  const { limitBytes } = limits;
  const state = createThreadMemory();
  const readings = readThreadState(state);
  const worker = new Worker(script, {
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

  const startedAt = clock.elapsed();
  let beats = 0;
  let lookedAt = startedAt;
  let still = { ms: 0, processorMs: undefined as number | undefined };
  /** The reason to end it now. */
  function fault(): EndReason | undefined {
    const now = clock.elapsed();
    const passed = Math.min(now - lookedAt, MOST_PER_LOOK_MS);
    lookedAt = now;
    const { threadId } = readings;
    if (readings.beats !== beats) {
      beats = readings.beats;
      still = { ms: 0, processorMs: processorMsOf(threadId) };
    } else if (beats > 0) {
      still.ms += passed;
      if (isStalled(still, threadId)) return "stalled";
    } else if (now - startedAt > START_MS) return "stalled";
    return readings.memoryBytes > limitBytes ? "memory" : undefined;
  }
  const look = (): void => {
    const reason = fault();
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

function isStalled(
  still: { readonly ms: number; readonly processorMs: number | undefined },
  threadId: number,
): boolean {
  if (still.ms < STALL_MS) return false;
  const used = processorMsOf(threadId);
  if (used === undefined || still.processorMs === undefined || still.ms >= LONGEST_STALL_MS) return true;
  return used - still.processorMs >= STALL_PROCESSOR_MS;
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
