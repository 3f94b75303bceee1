// Results and waits of reads from the cache that must be of the newest state.

import { describe, expect, test } from "vitest";
import { createMemoryStorage } from "../storage/memory/memory-storage.ts";
import type { StorageEvent, WatchObserver } from "../storage/storage.ts";
import { FutureRevisionError, RevisionCompactedError, StorageUnavailableError } from "../storage/storage-errors.ts";
import { withMethods } from "../storage/testing/with-methods.ts";
import { createWatchCache } from "./create-watch-cache.ts";
import { manualScheduler, names, Subscriber, start, turn, VIEW, value } from "./testing/watch-cache-fixture.ts";

const FIRST_RETRY_MS = 50;

/** A store whose watches are told late: when the test says so. */
function late() {
  const storage = createMemoryStorage();
  const held: (() => void)[] = [];
  const watch = (prefix: string, from: number, observer: WatchObserver) =>
    storage.watch(prefix, from, {
      events: (events: readonly StorageEvent[], revision) => void held.push(() => observer.events(events, revision)),
      error: (error) => observer.error(error),
    });
  return {
    storage: withMethods(storage, { watch }),
    tell() {
      for (const one of held.splice(0)) one();
    },
  };
}

describe("waitForKnown", () => {
  test("waits for what another thread has written, where the store knows it without asking", async () => {
    const { storage, tell } = late();
    const { cache, view } = await start({ storage });
    expect(cache.waitForKnown()).toBeUndefined();
    await storage.create(`${VIEW}a`, value("a"));
    const waiting = cache.waitForKnown();
    expect(waiting).toBeInstanceOf(Promise);
    expect(names(view)).toEqual([]);
    tell();
    await waiting;
    expect(names(view)).toEqual(["a"]);
  });

  test("does not wait for a store that has to be asked", async () => {
    const { storage } = late();
    const { cache } = await start({ storage: withMethods(storage, { known: { revision: undefined } }) });
    await storage.create(`${VIEW}a`, value("a"));
    expect(cache.waitForKnown()).toBeUndefined();
  });
});

describe("refresh", () => {
  test("waits until the newest that the store has acknowledged is shown", async () => {
    const { storage, tell } = late();
    const { cache, view } = await start({ storage });
    const revision = await storage.create(`${VIEW}a`, value("a"));
    let shown: readonly string[] | undefined;
    const refreshed = cache.refresh().then((reached) => {
      shown = names(view);
      return reached;
    });
    await turn();
    expect(shown).toBeUndefined();
    tell();
    expect(await refreshed).toBe(revision);
    expect(shown).toEqual(["a"]);
  });

  test("does not read the signal where everything is shown already", async () => {
    const { cache } = await start({ storage: createMemoryStorage() });
    let reads = 0;
    await cache.refresh({
      get signal() {
        reads++;
        return undefined;
      },
    });
    expect(reads).toBe(0);
  });

  test("gives up at its deadline or when its signal aborts", async () => {
    const { storage } = late();
    const { cache, scheduler } = await start({ storage });
    await storage.create(`${VIEW}a`, value("a"));
    const abort = new AbortController();
    const refreshes = [cache.refresh({ timeoutMs: 7_000 }), cache.refresh({ signal: abort.signal })];
    const outcomes = Promise.all(refreshes.map((refresh) => refresh.catch((error: unknown) => error)));
    await turn();
    expect(scheduler.delays).toEqual([7_000, 3_000]);
    const reason = new Error("gone");
    abort.abort(reason);
    scheduler.run();
    expect(await outcomes).toEqual([expect.any(FutureRevisionError), reason]);
  });

  test("is not content with a state of another history, whatever its revision", async () => {
    const inner = createMemoryStorage();
    let observer: WatchObserver | undefined;
    let isDown = false;
    const storage = withMethods(inner, {
      watch(prefix, from, told) {
        observer = told;
        return inner.watch(prefix, from, told);
      },
      list: (...call) => (isDown ? Promise.reject(new StorageUnavailableError("slow")) : inner.list(...call)),
    });
    const { cache, view, scheduler } = await start({ storage });
    await storage.create(`${VIEW}a`, value("a"));
    isDown = true;
    // As etcd says it of a backup that was restored, which cannot be read yet.
    observer?.error(new RevisionCompactedError(1, 1));
    let isShown = false;
    const refreshed = cache.refresh().then(() => {
      isShown = true;
    });
    await turn();
    expect(isShown).toBe(false);
    isDown = false;
    scheduler.run(FIRST_RETRY_MS);
    await refreshed;
    expect(names(view)).toEqual(["a"]);
  });
});

test("all loaded pages are of one revision, despite concurrent writes", async () => {
  const inner = createMemoryStorage();
  for (const name of ["a", "b", "c"]) await inner.create(`${VIEW}${name}`, value(name));
  const [before, asked] = [await inner.currentRevision(), new Set<number | undefined>()];
  const storage = withMethods(inner, {
    async list(prefix, options) {
      const page = await inner.list(prefix, { ...options, limit: 1 });
      asked.add(options?.revision);
      if (options?.startAfter === undefined) await inner.create(`${VIEW}d`, value("d"));
      return page;
    },
  });
  await using cache = createWatchCache({ storage, prefix: "/registry/", scheduler: manualScheduler() });
  await cache.ready();
  using subscriber = new Subscriber(cache.view(VIEW), VIEW, before);
  await cache.refresh();
  await turn();
  // Made, as it was, and not changed from what a page of a later revision would have shown.
  expect(subscriber.events.map(({ object, previous }) => [object.key, previous])).toEqual([[`${VIEW}d`, undefined]]);
  expect([...asked]).toEqual([undefined, before]);
});
