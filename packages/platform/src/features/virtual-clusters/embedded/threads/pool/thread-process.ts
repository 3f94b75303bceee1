// One cluster thread as the front sees it: started with limits, watched, and ended when it stands still or takes too much memory.

import { Worker, type WorkerOptions } from "node:worker_threads";
import type { Clock, Scheduler } from "@postern/apiserver/runtime/clock";
import { BEAT_MS, type StallLimits, StallWatch } from "../../../../../foundation/stall-watch.ts";
import { withWholeYoungGeneration } from "../../../../../foundation/whole-young-generation.ts";
import type { ClusterThreadData } from "../inside/cluster-thread.ts";
import type { FrontCalls, FrontNotes, ThreadCalls, ThreadNotes } from "../messages/cluster-methods.ts";
import { type CallHandlers, createLink, type Link, type NoteHandlers } from "../messages/link.ts";
import { createThreadMemory, readThreadState, type ThreadReadings } from "../messages/thread-state.ts";

/** The built JavaScript, also where this file itself is run from its source: Node cannot start a thread from TypeScript. */
const SCRIPT = new URL(
  "../../../../../../dist/features/virtual-clusters/embedded/threads/inside/cluster-thread-main.js",
  import.meta.url,
);

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
/** Garbage, too, counts towards the limit: a small thread is collected more often. V8 makes each half a third as large, and rounds up. See docs/adr/0328. */
const YOUNG_MIB = 16;
const ROOMY_YOUNG_MIB = 48;
const ROOMY_BYTES = 256 * MIB;

const STALL: StallLimits = { stallMs: 2_000, processorMs: 1_000 };

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
    resourceLimits: {
      maxOldGenerationSizeMb: Math.ceil(limitBytes / MIB),
      maxYoungGenerationSizeMb: limitBytes < ROOMY_BYTES ? YOUNG_MIB : ROOMY_YOUNG_MIB,
    },
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

  const stalls = new StallWatch({ readings, limits: STALL, clock });
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

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && (error as NodeJS.ErrnoException).code === "ERR_WORKER_OUT_OF_MEMORY";
