import { expect, test } from "vitest";
import { startCompactionSchedule } from "./compaction-schedule.ts";
import { createMemoryStorage } from "./memory/memory-storage.ts";

const turnOfTheLoop = () => new Promise<void>((resolve) => setImmediate(resolve));

/** One timer at a time, run by hand. */
function manualScheduler() {
  let planned: { task: () => void; delayMs: number } | undefined;
  return {
    schedule(delayMs: number, task: () => void): Disposable {
      planned = { task, delayMs };
      return {
        [Symbol.dispose]: () => {
          planned = undefined;
        },
      };
    },
    get delayMs() {
      return planned?.delayMs;
    },
    async run() {
      planned?.task();
      await turnOfTheLoop();
    },
  };
}

async function start(options: { keepRevisions?: number; keepBytes?: number } = {}) {
  const storage = createMemoryStorage();
  const scheduler = manualScheduler();
  const errors: unknown[] = [];
  const schedule = startCompactionSchedule({
    storage,
    scheduler,
    keepMs: 1_000,
    onError: (error) => errors.push(error),
    ...options,
  });
  let written = 0;
  const write = () => storage.create(`/${written++}`, Buffer.from("x"));
  return { storage, scheduler, errors, schedule, write };
}

test("history is kept for the time that is asked for, and forgotten step by step afterwards", async () => {
  const { storage, scheduler, write } = await start();
  expect(scheduler.delayMs).toBe(100);
  const oldest: (number | undefined)[] = [];
  for (let turn = 0; turn < 14; turn++) {
    await write();
    await scheduler.run();
    oldest.push(storage.oldestRevision);
  }
  // At the first turn the store was at revision 2; that is 1,000 ms ago at the eleventh.
  expect(oldest).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 4, 5]);
});

test("history beyond the limit is dropped at once", async () => {
  const { storage, scheduler, write } = await start({ keepRevisions: 3 });
  for (let round = 0; round < 10; round++) await write();
  await scheduler.run();
  expect(storage.oldestRevision).toBe((await storage.currentRevision()) - 3);
});

test("more bytes than are allowed go without waiting for a turn, and about as many stay", async () => {
  const keepBytes = 100_000;
  const { storage, schedule } = await start({ keepBytes });
  await turnOfTheLoop();
  const revisions: number[] = [];
  for (let at = 0; at < 500; at++) {
    revisions.push(await storage.create(`/large/${at}`, Buffer.alloc(1_000)));
    const kept = revisions.filter((revision) => revision > (storage.oldestRevision ?? 0)).length * 1_010;
    expect(kept).toBeLessThan(keepBytes * 1.2);
    if (at > 150) expect(kept).toBeGreaterThan(keepBytes * 0.8);
  }
  schedule[Symbol.dispose]();
});

test("a failure is reported, and the next run tries again", async () => {
  const { storage, scheduler, errors } = await start();
  await storage[Symbol.asyncDispose]();
  await scheduler.run();
  await scheduler.run();
  expect(errors).toHaveLength(2);
});

test("nothing is planned any more once it is disposed", async () => {
  const { schedule, scheduler } = await start();
  schedule[Symbol.dispose]();
  expect(scheduler.delayMs).toBeUndefined();
});
