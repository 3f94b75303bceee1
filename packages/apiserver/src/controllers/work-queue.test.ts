import { describe, expect, it } from "vitest";
import type { Scheduler } from "../runtime/clock.ts";
import { WorkQueue } from "./work-queue.ts";

/** Runs what is due when the test says so. */
function manualScheduler(): Scheduler & { readonly delays: number[]; runAll(): void } {
  const tasks = new Map<object, { readonly delayMs: number; readonly task: () => void }>();
  return {
    schedule(delayMs, task) {
      const handle = { [Symbol.dispose]: () => void tasks.delete(handle) };
      tasks.set(handle, { delayMs, task });
      return handle;
    },
    get delays() {
      return [...tasks.values()].map(({ delayMs }) => delayMs);
    },
    runAll() {
      const due = [...tasks.values()];
      tasks.clear();
      for (const { task } of due) task();
    },
  };
}

describe("WorkQueue", () => {
  it("works on a key once however often it was added, and again when it was added meanwhile", async () => {
    const done: string[] = [];
    let release: () => void = () => {};
    const queue = new WorkQueue({
      scheduler: manualScheduler(),
      onError: () => {},
      process: async (key) => {
        done.push(key);
        if (done.length === 1) await new Promise<void>((resolve) => (release = resolve));
      },
    });
    queue.add("a");
    queue.add("a");
    queue.add("b");
    expect(done).toEqual([]);
    await Promise.resolve();
    queue.add("a");
    release();
    await queue.idle();
    expect(done).toEqual(["a", "b", "a"]);
  });

  it("never works on more keys at once than it may", async () => {
    let running = 0;
    let most = 0;
    const queue = new WorkQueue({
      scheduler: manualScheduler(),
      onError: () => {},
      concurrency: 2,
      process: async () => {
        most = Math.max(most, ++running);
        await Promise.resolve();
        running--;
      },
    });
    for (const key of ["a", "b", "c", "d", "e"]) queue.add(key);
    await queue.idle();
    expect(most).toBe(2);
  });

  it("tries failed work again after delays that double, until it succeeds", async () => {
    const scheduler = manualScheduler();
    const errors: unknown[] = [];
    let failures = 3;
    const queue = new WorkQueue({
      scheduler,
      onError: (error) => errors.push(error),
      baseDelayMs: 10,
      maxDelayMs: 30,
      process: async () => {
        if (failures-- > 0) throw new Error("not yet");
      },
    });
    queue.add("a");
    const delays: number[] = [];
    for (let round = 0; round < 4; round++) {
      await queue.idle();
      delays.push(...scheduler.delays);
      scheduler.runAll();
    }
    expect(delays).toEqual([10, 20, 30]);
    expect(errors).toHaveLength(3);
    failures = 1;
    queue.add("a");
    await queue.idle();
    expect(scheduler.delays).toEqual([10]);
  });

  it("does nothing more once disposed, and tells the work that runs", async () => {
    const scheduler = manualScheduler();
    let aborted = false;
    const queue = new WorkQueue({
      scheduler,
      onError: () => {},
      process: (_key, signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            aborted = true;
            reject(signal.reason);
          });
        }),
    });
    queue.add("a");
    queue.addAfter("b", 5);
    await Promise.resolve();
    queue[Symbol.dispose]();
    queue.add("c");
    await queue.idle();
    expect(aborted).toBe(true);
    expect(scheduler.delays).toEqual([]);
    expect(queue.length).toBe(0);
  });
});
