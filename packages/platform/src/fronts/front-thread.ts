// One further front as the first one sees it: a thread with a watchdog.

import type { MessagePort, Worker } from "node:worker_threads";
import type { Clock, Scheduler } from "@postern/apiserver/runtime/clock";
import {
  type CallHandlers,
  createLink,
  type Link,
  type NoteHandlers,
} from "../features/virtual-clusters/embedded/threads/messages/link.ts";
import { BEAT_MS, type ReadThreadWork, type StallLimits, StallWatch, StartWatch } from "../foundation/stall-watch.ts";
import {
  beatsOf,
  createFrontState,
  type FirstCalls,
  type FirstNotes,
  type FrontSums,
  type FurtherCalls,
  type FurtherFrontData,
  type FurtherNotes,
  setMemoryShort,
  sumsOf,
} from "./front-methods.ts";
import { endStill } from "./stop-reading.ts";
import type { FrontMetrics } from "./sum-metrics.ts";

/** Starts the thread that runs `runFurtherFront` with the data. */
export type StartFrontThread = (options: {
  readonly workerData: FurtherFrontData;
  readonly transferList: MessagePort[];
  readonly name: string;
}) => Worker;

export type FrontEnd = "stalled" | "crashed";

export type FrontThread = {
  readonly link: Link<FurtherCalls, FurtherNotes>;
  /** Resolves when it serves requests. Rejects with the reason where it ends before. */
  readonly ready: Promise<void>;
  readonly isReady: boolean;
  /** Whether it was ready once. */
  readonly wasReady: boolean;
  /** At its last beat. */
  readonly sums: FrontSums;
  /** Its connections end behind their requests, as far as these end in time; then it is closed. */
  retire(): Promise<void>;
  /** Its requests are finished first. */
  close(): Promise<void>;
  terminate(): Promise<void>;
};

/** Watches, uploads and streams of a front that is not needed may go on for so long: most watches end by themselves before. */
const RETIRE_MS = 300_000;
/** As long as a server may be without news of the store, and half of that with work. */
const STALL: StallLimits = { stallMs: 10_000, processorMs: 5_000 };
/** The heap is looked at so often, and with each look while a front stands still: one that is full ends the thread, or the process, while it reads. */
const HEAP_MS = 1_000;
const HEAP_LOOKS = HEAP_MS / BEAT_MS;
/** One that stands still does not answer. */
const ANSWER_MS = 1_000;
/** V8 collects at three quarters of what a heap may have, as long as half of it is in use. */
const FULL = 0.9;

/** Since Node 24. It is answered while the thread stands still in JavaScript. */
type HeapOf = { getHeapStatistics?(): Promise<{ readonly used_heap_size: number; readonly heap_size_limit: number }> };

export function startFront(deps: {
  readonly startThread: StartFrontThread;
  readonly data: Omit<FurtherFrontData, "state">;
  readonly calls: CallHandlers<FirstCalls>;
  readonly notes: NoteHandlers<Omit<FirstNotes, "ready">>;
  readonly isMemoryShort: () => boolean;
  readonly clock: Pick<Clock, "elapsed">;
  readonly scheduler: Scheduler;
  /** Called with its counts when its requests are finished. */
  readonly onLastMetrics: (metrics: FrontMetrics) => void;
  /** Called once, when nothing of it runs any more. */
  readonly onEnd: (reason: FrontEnd, error: unknown) => void;
  readonly onError: (error: unknown) => void;
  /** Resolves once the thread reads from no connection, as far as it can be reached. */
  readonly stopReading?: (thread: Pick<Worker, "threadId">) => Promise<void>;
  /** Default: as the operating system has it. */
  readonly readWork?: ReadThreadWork;
}): FrontThread {
  const { startThread, data, calls, notes, isMemoryShort, clock, scheduler, onLastMetrics, onEnd, onError } = deps;
  const { stopReading, readWork } = deps;
  const state = createFrontState();
  const worker = startThread({
    workerData: { ...data, state },
    transferList: data.connection === undefined ? [] : [data.connection.port],
    name: `front-${data.number}`,
  });
  let settle = { resolve: (): void => {}, reject: (_error: unknown): void => {} };
  const ready = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject };
  });
  // One that is closed before is waited for by none.
  ready.catch(() => {});
  let isReady = false;
  let wasReady = false;
  let isOver = false;
  let isAsked = false;
  let watching: Disposable;
  const link = createLink<FirstCalls, FirstNotes, FurtherCalls, FurtherNotes>({
    port: worker,
    calls,
    notes: {
      ...notes,
      ready() {
        isReady = true;
        wasReady = true;
        settle.resolve();
        watching[Symbol.dispose]();
        watch();
      },
    },
    onError,
  });

  /** `isAlive`: it may have connections, and read from them. */
  function end(reason: FrontEnd, error: unknown, isAlive = false): void {
    if (isOver) return;
    isOver = true;
    isReady = false;
    watching[Symbol.dispose]();
    settle.reject(error);
    link.close(error instanceof Error ? error : new Error(`a front has ${reason}`));
    void (isAlive ? endStill(worker, stopReading) : worker.terminate());
    void exited.then(() => onEnd(reason, error));
  }
  const exited = new Promise<void>((resolve) => worker.once("exit", () => resolve()));
  worker.on("error", (error) => end("crashed", error));
  worker.on("messageerror", (error) => end("crashed", error, true));
  worker.on("exit", (code) => end("crashed", new Error(`the thread ended with code ${code}`)));

  const starting = new StartWatch({ readings: beatsOf(state), clock, read: readWork });
  function lookAtStart(): void {
    if (starting.isOver()) end("stalled", new Error("a front did not start within three minutes"));
    else watching = scheduler.schedule(BEAT_MS, lookAtStart);
  }
  watching = scheduler.schedule(BEAT_MS, lookAtStart);

  function watch(): void {
    const stalls = new StallWatch({ readings: beatsOf(state), limits: STALL, clock, read: readWork });
    let looks = 0;
    const look = (): void => {
      const isStalled = stalls.isStalled();
      if (++looks % HEAP_LOOKS === 0 || stalls.stillMs >= HEAP_MS) lookAtHeap();
      setMemoryShort(state, isMemoryShort());
      if (isStalled) end("stalled", new Error("a front stood still for ten seconds"), true);
      else watching = scheduler.schedule(BEAT_MS, look);
    };
    look();
  }

  function lookAtHeap(): void {
    if (isAsked) return;
    isAsked = true;
    (worker as HeapOf)
      .getHeapStatistics?.()
      .then(({ used_heap_size: used, heap_size_limit: limit }) => {
        isAsked = false;
        if (used > FULL * limit) end("crashed", new Error("the heap of a front was full"), true);
      })
      // It has ended.
      .catch(() => undefined);
  }
  /** One that is not ready has no connections, and one that answers reads from none any more. */
  async function endBehind(answer: () => Promise<void>): Promise<void> {
    const isStill =
      isReady &&
      (await answer().then(
        () => false,
        () => !isOver,
      ));
    if (isStill) void endStill(worker, stopReading);
    else void worker.terminate();
    await exited;
  }
  async function callWithin(limitMs: number, method: "retire" | "stopReading"): Promise<void> {
    const limit = new AbortController();
    const timer = scheduler.schedule(limitMs, () => limit.abort());
    try {
      await link.call(method, undefined, limit);
    } finally {
      timer[Symbol.dispose]();
    }
  }
  const close = () => endBehind(() => link.call("close", undefined).then(onLastMetrics));
  return {
    link,
    ready,
    get isReady() {
      return isReady;
    },
    get wasReady() {
      return wasReady;
    },
    get sums() {
      return sumsOf(state);
    },
    async retire() {
      if (isReady) await callWithin(RETIRE_MS, "retire").catch(() => undefined);
      await close();
    },
    close,
    terminate: () => endBehind(() => callWithin(ANSWER_MS, "stopReading")),
  };
}
