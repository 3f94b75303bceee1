import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createMemoryStorage } from "../storage/memory/memory-storage.ts";
import type { Storage } from "../storage/storage.ts";
import { StorageUnavailableError } from "../storage/storage-errors.ts";
import { withMethods } from "../storage/testing/with-methods.ts";
import { deferred } from "../transport/testing/deferred.ts";
import { createWatchCache } from "./create-watch-cache.ts";
import { manualScheduler, OTHER_VIEW, Subscriber, VIEW, value } from "./testing/watch-cache-fixture.ts";
import type { LoadReader, WatchCache } from "./watch-cache.ts";

const PAGE_SIZE = 10_000;
const COUNT = PAGE_SIZE + 7;
const nameAt = (index: number): string => String(index).padStart(6, "0");

/** A store of two pages, the second of which comes when the test says so. */
async function pausingStore(beforeSecondPage: () => Promise<void>): Promise<Storage> {
  const storage = createMemoryStorage();
  for (let index = 0; index < COUNT; index++) await storage.create(VIEW + nameAt(index), value(nameAt(index)));
  await storage.create(`${OTHER_VIEW}last`, value("last"));
  return withMethods(storage, {
    async list(prefix, options = {}) {
      if (options.startAfter !== undefined) await beforeSecondPage();
      return await storage.list(prefix, options);
    },
  });
}

function readNames(cache: WatchCache) {
  const log: string[] = [];
  const taken: string[] = [];
  const reader: LoadReader = {
    begin() {
      log.push("begin");
      taken.length = 0;
    },
    take: (objects) => void taken.push(...objects.map(({ key }) => key.slice(VIEW.length))),
    done: () => void log.push(`done with ${cache.view(VIEW).size}`),
  };
  return { log, taken, handle: cache.readAhead(VIEW, reader) };
}

const ALL = Array.from({ length: COUNT }, (_, index) => nameAt(index));

describe("readAhead", () => {
  it("gives every object of the view once and in order, also to who comes while they are being loaded", async () => {
    const gate = deferred<void>();
    const asked = deferred<void>();
    const storage = await pausingStore(() => {
      asked.resolve();
      return gate.promise;
    });
    await using cache = createWatchCache({ storage, prefix: "/registry/", scheduler: manualScheduler() });
    const first = readNames(cache);
    await asked.promise;
    while (first.taken.length < PAGE_SIZE - 7) await nextTurn();
    expect(cache.view(VIEW).size).toBe(0);
    const late = readNames(cache);
    const gone = readNames(cache);
    gone.handle[Symbol.dispose]();
    const told: number[] = [];
    cache.view(VIEW).subscribe(VIEW, 0, { events() {}, error: () => void told.push(first.log.length) });
    gate.resolve();
    await cache.ready();
    for (const { log, taken } of [first, late]) {
      expect(log).toEqual(["begin", `done with ${COUNT}`]);
      expect(taken).toEqual(ALL);
    }
    expect(gone.log).toEqual(["begin"]);
    // A subscription hears of the new content when all readers are done.
    expect(told).toEqual([2]);
  });

  it("begins anew with a load that follows one that failed", async () => {
    let failures = 1;
    const storage = await pausingStore(async () => {
      if (failures-- > 0) throw new StorageUnavailableError("not now");
    });
    const scheduler = manualScheduler();
    await using cache = createWatchCache({ storage, prefix: "/registry/", scheduler });
    const { log, taken } = readNames(cache);
    while (scheduler.delays.length === 0) await nextTurn();
    expect(taken.length).toBeGreaterThan(0);
    scheduler.run();
    await cache.ready();
    expect(log).toEqual(["begin", "begin", `done with ${COUNT}`]);
    expect(taken).toEqual(ALL);
  });

  it("replaces all views before it tells anybody", async () => {
    const storage = await pausingStore(async () => {});
    await using cache = createWatchCache({ storage, prefix: "/registry/", scheduler: manualScheduler() });
    const sizes: number[] = [];
    for (const prefix of [VIEW, OTHER_VIEW]) {
      const look = () => void sizes.push(cache.view(VIEW).size, cache.view(OTHER_VIEW).size);
      cache.view(prefix).subscribe(prefix, 0, { events() {}, error: look });
    }
    await cache.ready();
    expect(sizes).toEqual([COUNT, 1, COUNT, 1]);
    using late = new Subscriber(cache.view(VIEW), VIEW, cache.revision);
    expect(late.error).toBeUndefined();
  });

  it("keeps a view that somebody reads ahead", async () => {
    const storage = createMemoryStorage();
    await using cache = createWatchCache({ storage, prefix: "/registry/", scheduler: manualScheduler() });
    await cache.ready();
    const { handle } = readNames(cache);
    const view = cache.view(VIEW);
    cache.forget(VIEW);
    expect(cache.view(VIEW)).toBe(view);
    handle[Symbol.dispose]();
    cache.forget(VIEW);
    expect(cache.view(VIEW)).not.toBe(view);
  });

  it("knows what is the prefix of a view", () => {
    const cache = createWatchCache({
      storage: createMemoryStorage(),
      prefix: "/registry/",
      scheduler: manualScheduler(),
    });
    expect(() => readNamesUnder(cache, "/registry/")).toThrow("not the prefix of a view");
  });
});

const readNamesUnder = (cache: WatchCache, prefix: string) =>
  cache.readAhead(prefix, { begin() {}, take() {}, done() {} });
