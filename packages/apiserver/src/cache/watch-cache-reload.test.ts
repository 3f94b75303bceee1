// State and events of the cache after it has had to load everything anew, and what it holds of the store meanwhile.

import { describe, expect, test } from "vitest";
import { createMemoryStorage } from "../storage/memory/memory-storage.ts";
import type { Storage, WatchObserver } from "../storage/storage.ts";
import { RevisionCompactedError } from "../storage/storage-errors.ts";
import { withMethods } from "../storage/testing/with-methods.ts";
import { createWatchCache } from "./create-watch-cache.ts";
import {
  manualScheduler,
  names,
  OTHER_VIEW,
  Subscriber,
  start,
  turn,
  VIEW,
  value,
} from "./testing/watch-cache-fixture.ts";

/** A store that counts its open watches, and whose watches a test can end as if it had forgotten what comes next. */
function counted(inner: Storage = createMemoryStorage()) {
  const open = new Map<Disposable, WatchObserver>();
  const storage = withMethods(inner, {
    watch(prefix, from, observer) {
      const watch = inner.watch(prefix, from, observer);
      const handle = {
        [Symbol.dispose]() {
          open.delete(handle);
          watch[Symbol.dispose]();
        },
      };
      open.set(handle, observer);
      return handle;
    },
  });
  return {
    storage,
    open,
    forget() {
      for (const [handle, observer] of [...open]) {
        handle[Symbol.dispose]();
        observer.error(new RevisionCompactedError(1, 1));
      }
    },
  };
}

async function reloaded(historyLimit = 4096) {
  const { storage, forget } = counted();
  const { cache, view, scheduler } = await start({ storage, historyLimit });
  const [a, b] = [await storage.create(`${VIEW}a`, value("a")), await storage.create(`${VIEW}b`, value("b"))];
  const other = await storage.create(`${OTHER_VIEW}o`, value("o"));
  forget();
  const missed = {
    a: await storage.delete(`${VIEW}a`, a),
    b: await storage.update(`${VIEW}b`, value("b", { new: "yes" }), b),
    other: await storage.delete(`${OTHER_VIEW}o`, other),
  };
  scheduler.run();
  await cache.refresh();
  return { storage, cache, view, missed, before: other };
}

describe("reloading everything", () => {
  test("shows the current state, without objects deleted meanwhile", async () => {
    const { cache, view, missed } = await reloaded();
    expect(names(view)).toEqual(["b"]);
    expect(view.get(`${VIEW}b`)).toMatchObject({ revision: missed.b, labels: { new: "yes" } });
    expect(cache.view(OTHER_VIEW).size).toBe(0);
  });

  test("sends missed events from the history of the store", async () => {
    const { view, missed, before } = await reloaded();
    using subscriber = new Subscriber(view, VIEW, before);
    await turn();
    expect(subscriber.log).toEqual([`delete a@${missed.a}`, `put b@${missed.b}`]);
  });

  test("goes on remembering in order, also where memory was full before", async () => {
    const { storage, cache, view } = await reloaded(2);
    for (const name of ["c", "d", "e"]) await storage.create(`${VIEW}${name}`, value(name));
    const from = cache.revision - 2;
    using subscriber = new Subscriber(view, VIEW, from);
    await turn();
    expect(subscriber.log).toEqual([`put d@${from + 1}`, `put e@${from + 2}`]);
  });

  test("remembers in order from the first event after it on", async () => {
    const { storage, forget } = counted();
    const { cache, view, scheduler } = await start({ storage, historyLimit: 3 });
    for (const name of ["a", "b", "c", "d"]) await storage.create(`${VIEW}${name}`, value(name));
    forget();
    scheduler.run();
    const from = await cache.refresh();
    for (const name of ["e", "f"]) await storage.create(`${VIEW}${name}`, value(name));
    using subscriber = new Subscriber(view, VIEW, from);
    await turn();
    expect(subscriber.log).toEqual([`put e@${from + 1}`, `put f@${from + 2}`]);
  });
});

test("a listener of an event finds the view at the event's revision", async () => {
  const { storage, view } = await start();
  const found: number[] = [];
  using _ = view.subscribe(VIEW, view.revision, {
    events: (events) => void found.push(view.revision - (events.at(-1)?.object.revision ?? 0)),
    error: (error) => expect.fail(String(error)),
  });
  await turn();
  for (const name of ["a", "b"]) await storage.create(`${VIEW}${name}`, value(name));
  expect(found).toEqual([0, 0]);
});

test("resolves waits from before the first load when the load reaches their revision", async () => {
  const storage = createMemoryStorage();
  const revision = await storage.create(`${VIEW}a`, value("a"));
  await using cache = createWatchCache({ storage, prefix: "/registry/", scheduler: manualScheduler() });
  await cache.waitFor(revision);
  expect(names(cache.view(VIEW))).toEqual(["a"]);
});

describe("watches of the store", () => {
  test("for the past of a subscription end when it has caught up, or is over", async () => {
    const { storage, open } = counted();
    const { view } = await start({ storage, historyLimit: 1 });
    for (const name of ["a", "b", "c"]) await storage.create(`${VIEW}${name}`, value(name));
    using subscriber = new Subscriber(view, VIEW, 1);
    const early = new Subscriber(view, VIEW, 1);
    expect(open.size).toBe(3);
    early[Symbol.dispose]();
    expect(open.size).toBe(2);
    await turn();
    expect(subscriber.log).toHaveLength(3);
    expect(subscriber.progressed).toEqual([view.revision]);
    expect(open.size).toBe(1);
  });

  test("do not start if the cache is closed while it loads", async () => {
    const { storage, open } = counted();
    const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: manualScheduler() });
    await cache[Symbol.asyncDispose]();
    await turn();
    expect(open.size).toBe(0);
  });
});

test("all views are replaced before any listener is called", async () => {
  const storage = createMemoryStorage();
  await storage.create(`${VIEW}a`, value("a"));
  await storage.create(`${OTHER_VIEW}b`, value("b"));
  await using cache = createWatchCache({ storage, prefix: "/registry/", scheduler: manualScheduler() });
  const sizes: number[] = [];
  for (const prefix of [VIEW, OTHER_VIEW]) {
    const look = () => void sizes.push(cache.view(VIEW).size, cache.view(OTHER_VIEW).size);
    cache.view(prefix).subscribe(prefix, 0, { events() {}, error: look });
  }
  await cache.ready();
  expect(sizes).toEqual([1, 1, 1, 1]);
});
