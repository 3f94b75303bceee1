import { manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { expect, it } from "vitest";
import { FrontPlace } from "./front-place.ts";
import type { FrontEnd, FrontThread } from "./front-thread.ts";

const settle = () => new Promise(setImmediate);

/** A thread that starts, fails and exits when a test says so. Told to end, it exits later. */
class FakeThread implements FrontThread {
  readonly link = undefined as never;
  readonly ready: Promise<void>;
  isReady = false;
  wasReady = false;
  readonly told: string[] = [];
  readonly sums = { busyMs: 0, connections: 0 };
  #serve = () => {};
  #fail = (_error: unknown) => {};
  readonly #onEnd: (reason: FrontEnd, error: unknown) => void;
  readonly #exited: Promise<void>;
  #exit = () => {};

  constructor(onEnd: (reason: FrontEnd, error: unknown) => void) {
    this.#onEnd = onEnd;
    this.ready = new Promise((resolve, reject) => {
      this.#serve = resolve;
      this.#fail = reject;
    });
    this.ready.catch(() => {});
    this.#exited = new Promise((resolve) => {
      this.#exit = resolve;
    });
  }

  serves(): void {
    this.isReady = true;
    this.wasReady = true;
    this.#serve();
  }
  /** It will exit. */
  fails(error: unknown): void {
    this.isReady = false;
    this.#fail(error);
  }
  exits(error: unknown = new Error("exited"), reason: FrontEnd = "crashed"): void {
    this.fails(error);
    this.#exit();
    this.#onEnd(reason, error);
  }
  retire(): Promise<void> {
    this.told.push("retire");
    return this.#exited;
  }
  close(): Promise<void> {
    this.told.push("close");
    return this.#exited;
  }
  terminate(): Promise<void> {
    this.told.push("terminate");
    return this.#exited;
  }
}

function setUp() {
  const time = manualTime();
  const threads: FakeThread[] = [];
  const reports: string[] = [];
  const failing: { error?: Error } = {};
  const place = new FrontPlace({
    begin(onEnd) {
      if (failing.error !== undefined) throw failing.error;
      const thread = new FakeThread(onEnd);
      threads.push(thread);
      return thread;
    },
    onEmpty: () => {},
    onLost: (reason) => void reports.push(reason),
    onFailure: (error) => void reports.push(String(error)),
    ...time,
  });
  const last = () => threads.at(-1) as FakeThread;
  const serve = async () => {
    const started = place.start();
    last().serves();
    await started;
  };
  return { time, threads, reports, place, failing, last, serve };
}

it("of three threads that end while they start, none before the next one begins, the last one's error is that of the start", async () => {
  const { time, threads, reports, place, last } = setUp();
  const started = place.start();
  for (const count of [1, 2, 3]) {
    last().fails(new Error(`no memory ${count}`));
    time.advance(60_000);
    expect([threads.length, place.isStarting]).toEqual([count, true]);
    last().exits(new Error(`no memory ${count}`));
    if (count < 3) time.advance(200);
  }
  await expect(started).rejects.toThrow("no memory 3");
  expect(place.isEmpty).toBe(true);
  time.advance(60_000);
  expect([threads.length, reports]).toEqual([3, ["Error: no memory 1", "Error: no memory 2"]]);
});

it("a start goes on with another thread where one ends, and that is a thread like any other", async () => {
  const { time, threads, reports, place, last } = setUp();
  const started = place.start();
  last().exits();
  time.advance(100);
  last().serves();
  await started;
  expect([place.isServing, threads.length]).toEqual([true, 2]);
  for (const count of [3, 4, 5, 6]) {
    last().exits();
    time.advance(30_000);
    expect(threads.length).toBe(count);
  }
  expect(reports[1]).toBe("crashed");
});

it("a thread that took its three minutes to start is not tried again", async () => {
  const { time, threads, place, last } = setUp();
  const started = place.start();
  last().exits(new Error("a front did not start"), "stalled");
  await expect(started).rejects.toThrow("did not start");
  time.advance(60_000);
  expect([threads.length, place.isEmpty]).toEqual([1, true]);
});

it("a start that waits for its next try is given up when the place is closed", async () => {
  const { time, threads, place, last } = setUp();
  const started = place.start();
  last().exits();
  await place.close();
  await expect(started).rejects.toThrow("ended before");
  time.advance(60_000);
  expect([threads.length, place.isEmpty, time.waiting]).toEqual([1, true, 0]);
});

it("a thread that served is started again, and never before the one before it has exited", async () => {
  const { time, threads, reports, place, last, serve } = setUp();
  await serve();
  expect(place.isServing).toBe(true);
  last().fails(new Error("stalled"));
  time.advance(60_000);
  expect([place.isServing, threads.length]).toEqual([false, 1]);
  last().exits();
  time.advance(100);
  expect(reports).toEqual(["crashed"]);
  expect(threads.length).toBe(2);
  last().serves();
  expect(place.isServing).toBe(true);
});

it("restarts that fail come later and later, and soon again after one that was sound", async () => {
  const { time, threads, reports, last, serve } = setUp();
  await serve();
  time.advance(1_000);
  const pauses: number[] = [];
  for (let round = 0; round < 11; round++) {
    const before = threads.length;
    if (round === 5) {
      // The new thread fails while it starts, and is slow to exit.
      last().fails(new Error("no file"));
      time.advance(40_000);
      expect(threads.length).toBe(before);
    }
    last().exits(new Error("no file"));
    let pause = 0;
    for (; threads.length === before; pause += 100) time.advance(100);
    pauses.push(pause);
  }
  expect(pauses).toEqual([100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]);
  expect(reports).toEqual(["crashed", ...Array(10).fill("Error: no file")]);
  last().serves();
  time.advance(60_001);
  last().exits();
  const before = threads.length;
  time.advance(100);
  expect(threads.length).toBe(before + 1);
});

it("one that is closed finishes its requests first, and is not started again", async () => {
  const { time, threads, reports, place, last, serve } = setUp();
  await serve();
  const closed = place.close();
  expect(last().told).toEqual(["close"]);
  // It still answers calls, and takes no new connections.
  expect([place.isServing, place.thread, place.isEmpty]).toEqual([false, last(), false]);
  last().exits();
  await closed;
  time.advance(60_000);
  expect([place.isEmpty, threads.length, reports]).toEqual([true, 1, []]);
  await serve();
  expect([place.isServing, threads.length]).toEqual([true, 2]);
});

it("one that dies while it finishes its requests is not started again", async () => {
  const { time, threads, reports, place, last, serve } = setUp();
  await serve();
  const closed = place.close();
  last().exits(new Error("the heap is full"));
  await closed;
  time.advance(60_000);
  expect([place.isEmpty, threads.length, reports]).toEqual([true, 1, []]);
});

it("one that is closed or terminated while it starts ends, and its start is rejected", async () => {
  for (const how of ["close", "terminate"] as const) {
    const { time, threads, reports, place, last } = setUp();
    const started = place.start();
    const ended = place[how]();
    last().exits(new Error("ended"));
    await expect(started).rejects.toThrow("ended");
    await ended;
    time.advance(60_000);
    expect([place.isEmpty, threads.length, reports]).toEqual([true, 1, []]);
  }
});

it("one that begins to serve while it is terminated does not count as serving", async () => {
  const { place, last } = setUp();
  const started = place.start();
  void place.terminate();
  last().serves();
  await started;
  expect(place.isServing).toBe(false);
  last().exits();
  expect(place.isEmpty).toBe(true);
});

it("a restart that waits is given up when the place is closed", async () => {
  const { time, threads, place, last, serve } = setUp();
  await serve();
  last().exits();
  expect(time.waiting).toBe(1);
  await place.close();
  expect([time.waiting, place.isEmpty]).toEqual([0, true]);
  await settle();
  time.advance(60_000);
  expect(threads.length).toBe(1);
});

it("a thread for which there is no room is like one that does not start", async () => {
  const { time, threads, reports, place, failing, last, serve } = setUp();
  failing.error = new Error("no room");
  const started = place.start();
  time.advance(300);
  await expect(started).rejects.toThrow("no room");
  expect(place.isEmpty).toBe(true);
  delete failing.error;
  await serve();
  last().exits();
  failing.error = new Error("no room");
  time.advance(300);
  expect(reports).toEqual(["Error: no room", "Error: no room", "crashed", "Error: no room", "Error: no room"]);
  delete failing.error;
  time.advance(400);
  expect(threads.length).toBe(2);
});
