import { EventEmitter } from "node:events";
import type { Worker } from "node:worker_threads";
import { manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { expect, it, vi } from "vitest";
import { defaultConfiguration } from "../foundation/config/configuration.ts";
import { BEAT_MS, type ReadThreadWork } from "../foundation/stall-watch.ts";
import { beat, type FurtherFrontData, isMemoryShort, setThreadId } from "./front-methods.ts";
import { startFront } from "./front-thread.ts";

/** A thread that runs until `exit` is emitted, by its own end or by `terminate`. */
class FakeThread extends EventEmitter {
  readonly calls: string[] = [];
  terminated = 0;
  data: FurtherFrontData | undefined;
  postMessage(): void {}
  heap = { used_heap_size: 89, heap_size_limit: 100 };
  async getHeapStatistics() {
    return this.heap;
  }
  async terminate(): Promise<void> {
    this.terminated++;
    this.calls.push("terminate");
  }
}

/** As the thread sends it: one note in a batch. */
const READY = [4, 0, "ready", undefined];
const settle = () => new Promise(setImmediate);

function start({ isShort = false, readWork }: { isShort?: boolean; readWork?: ReadThreadWork } = {}) {
  const time = manualTime();
  const worker = new FakeThread();
  const onEnd = vi.fn();
  const empty = new SharedArrayBuffer(8);
  const front = startFront({
    startThread(options) {
      worker.data = options.workerData;
      return worker as unknown as Worker;
    },
    data: {
      ...{
        isFront: true,
        number: 1,
        id: "front",
        port: 1,
        first: 2,
        share: empty,
        ticketKeys: new Uint8Array(48),
        table: empty,
      },
      configuration: defaultConfiguration("/"),
      secrets: { present: new Uint8Array(32), previous: [] },
      serving: {
        tls: { key: "", cert: "" },
        ...{ certificateAuthorityPem: undefined, caPath: "", renewAt: undefined, validFrom: undefined },
      },
    },
    calls: {
      audit: () => ({ version: 0, lines: [] }),
      isLinkValid: () => false,
      takeLink: () => false,
      takeProof: () => true,
      scrape: () => "",
      gatherUses: () => undefined,
      holdLimits: () => 0,
      activity: never,
    },
    notes: { releaseLimits: never, activity: never },
    isMemoryShort: () => isShort,
    clock: time.clock,
    scheduler: time.scheduler,
    ...(readWork === undefined ? {} : { readWork }),
    onLastMetrics: never,
    onEnd,
    onError: never,
    stopReading: async () => void worker.calls.push("stopReading"),
  });
  const beats = (count: number, withBeat: boolean): void => {
    for (let at = 0; at < count; at++) {
      if (withBeat && worker.data !== undefined) beat(worker.data.state);
      time.advance(BEAT_MS);
    }
  };
  return { time, worker, onEnd, front, beats };
}

const never = (): never => {
  throw new Error("not expected");
};

it("one that stands still for ten seconds is ended, and is gone when its thread has exited", async () => {
  const { worker, onEnd, front, beats } = start();
  worker.emit("message", READY);
  await front.ready;
  expect(front.isReady).toBe(true);
  beats(100, true);
  beats(49, false);
  expect(worker.terminated).toBe(0);
  beats(3, false);
  expect(front.isReady).toBe(false);
  await settle();
  // Node aborts where a thread that ends reads once more.
  expect(worker.calls).toEqual(["stopReading", "terminate"]);
  // It may still work on a request: revocations wait for it until then.
  expect(onEnd).not.toHaveBeenCalled();
  worker.emit("exit", 1);
  await settle();
  expect(onEnd).toHaveBeenCalledTimes(1);
  expect(onEnd.mock.calls[0]?.[0]).toBe("stalled");
});

it.each([
  ["waits for a processor", undefined, { perSecond: 50, isRunnable: true }],
  ["works all the time", 10, { perSecond: 1_000, isRunnable: true }],
  ["works on a tenth of a processor", 50, { perSecond: 100, isRunnable: true }],
  ["waits in a system call that does not return", 10, { perSecond: 0, isRunnable: false }],
])("one that %s is ended after %s seconds", async (_, seconds, { perSecond, isRunnable }) => {
  let asked = 0;
  const { time, worker, front, beats } = start({
    readWork(threadId) {
      asked = threadId;
      return { processorMs: (perSecond * time.clock.elapsed()) / 1_000, isRunnable };
    },
  });
  if (worker.data !== undefined) setThreadId(worker.data.state, 4_711);
  worker.emit("message", READY);
  await front.ready;
  beats(1, true);
  const perSecondOfTime = 1_000 / BEAT_MS;
  beats(((seconds ?? 90) - 1) * perSecondOfTime, false);
  expect(front.isReady).toBe(true);
  expect(asked).toBe(4_711);
  beats(2 * perSecondOfTime, false);
  expect(front.isReady).toBe(seconds === undefined);
});

it("an error ends it, and calls in progress fail with it", async () => {
  const { worker, onEnd, front } = start();
  worker.emit("message", READY);
  const asked = front.link.call("metrics", undefined);
  const failure = new Error("the heap is full");
  worker.emit("error", failure);
  await expect(asked).rejects.toBe(failure);
  worker.emit("exit", 1);
  await settle();
  expect(onEnd.mock.calls).toEqual([["crashed", failure]]);
});

it("one whose heap becomes full is ended before V8 ends it, also while it stands still", async () => {
  for (const doesBeat of [true, false]) {
    const { worker, onEnd, front, beats } = start();
    worker.emit("message", READY);
    await front.ready;
    for (let second = 0; second < 3; second++) {
      beats(5, doesBeat);
      await settle();
    }
    expect(worker.calls).toEqual([]);
    worker.heap = { used_heap_size: 91, heap_size_limit: 100 };
    beats(5, doesBeat);
    await settle();
    expect(worker.calls).toEqual(["stopReading", "terminate"]);
    worker.emit("exit", 1);
    await settle();
    expect(onEnd.mock.calls).toEqual([["crashed", new Error("the heap of a front was full")]]);
  }
});

it("one that does not start is ended after three minutes, without the time in which it waits for a processor", async () => {
  const { time, worker, front, beats } = start({
    // It waits for ten minutes, and then in a system call.
    readWork: () => ({ processorMs: 0, isRunnable: time.clock.elapsed() < 600_000 }),
  });
  const perSecond = 1_000 / BEAT_MS;
  beats(778 * perSecond, true);
  await settle();
  expect(worker.terminated).toBe(0);
  beats(4 * perSecond, true);
  await settle();
  expect(worker.terminated).toBe(1);
  await expect(front.ready).rejects.toThrow("did not start");
});

it("one that answers reads no more by itself: a session of the inspector would attach to threads that end beside it", async () => {
  for (const [answer, calls] of [
    // The result of the first call, its error, and no answer in time.
    [[1, 1, undefined, undefined], ["terminate"]],
    [
      [2, 1, undefined, { type: "other", message: "" }],
      ["stopReading", "terminate"],
    ],
    [undefined, ["stopReading", "terminate"]],
  ] as const) {
    const { time, worker, front } = start();
    worker.emit("message", READY);
    await front.ready;
    const ended = front.terminate();
    if (answer === undefined) time.advance(1_000);
    else worker.emit("message", answer);
    await settle();
    expect(worker.calls).toEqual(calls);
    worker.emit("exit", 1);
    await ended;
  }
});

it("one that has not started has no connections, and one that has failed has ended", async () => {
  const [starting, failed] = [start(), start()];
  void starting.front.close();
  failed.worker.emit("message", READY);
  failed.worker.emit("error", new Error("it failed"));
  await settle();
  for (const { worker } of [starting, failed]) expect(worker.calls).toEqual(["terminate"]);
});

it("hears that memory is short", () => {
  const { worker, beats } = start({ isShort: true });
  worker.emit("message", READY);
  beats(1, true);
  expect(worker.data && isMemoryShort(worker.data.state)).toBe(true);
});
