import { describe, expect, test, vi } from "vitest";
import { createMemoryStorage } from "../storage/memory/memory-storage.ts";
import type { Revision, Storage } from "../storage/storage.ts";
import { FutureRevisionError, RevisionCompactedError, StorageUnavailableError } from "../storage/storage-errors.ts";
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
import type { WatchCache } from "./watch-cache.ts";

describe("content", () => {
  test("is what the store holds when the cache is ready, page after page", async () => {
    const storage = createMemoryStorage();
    for (let index = 0; index < 10_500; index++) await storage.create(`${VIEW}${index}`, value(`${index}`));
    await storage.create(`${OTHER_VIEW}a`, value("a"));
    const { cache, view } = await start({ storage });
    expect(view.size).toBe(10_500);
    expect(cache.view(OTHER_VIEW).size).toBe(1);
    expect(cache.revision).toBe(await storage.currentRevision());
    expect(view.list(VIEW).map((object) => object.key)).toEqual(
      (await storage.list(VIEW)).entries.map((entry) => entry.key),
    );
  });

  test("follows every write of this process before it settles", async () => {
    const { storage, view } = await start();
    const created = await storage.create(`${VIEW}ns/a`, value("a"));
    expect(view.get(`${VIEW}ns/a`)?.revision).toBe(created);
    const updated = await storage.update(`${VIEW}ns/a`, value("a", { color: "red" }), created);
    expect(view.get(`${VIEW}ns/a`)?.labels).toEqual({ color: "red" });
    await storage.delete(`${VIEW}ns/a`, updated);
    expect(view.get(`${VIEW}ns/a`)).toBeUndefined();
    expect(view.revision).toBe(updated + 1);
  });

  test("lists snapshots, pages and counts under a prefix", async () => {
    const { storage, view } = await start();
    for (const name of ["a/1", "a/2", "a/3", "ab/1"]) await storage.create(`${VIEW}${name}`, value(name));
    const snapshot = view.list(`${VIEW}a/`, { limit: 2 });
    await storage.create(`${VIEW}a/0`, value("0"));
    expect(snapshot.map((object) => object.key.slice(VIEW.length))).toEqual(["a/1", "a/2"]);
    expect(names(view, `${VIEW}a/`)).toEqual(["a/0", "a/1", "a/2", "a/3"]);
    expect(view.list(`${VIEW}a/`, { startAfter: `${VIEW}a/1` })).toHaveLength(2);
    expect(view.count(`${VIEW}a/`)).toBe(4);
    expect(view.count(`${VIEW}a/`, `${VIEW}a/1`)).toBe(2);
  });

  test("changedRevision does not move while only other views change", async () => {
    const { storage, view } = await start();
    const changed = await storage.create(`${VIEW}a`, value("a"));
    await storage.create(`${OTHER_VIEW}a`, value("a"));
    expect(view.changedRevision).toBe(changed);
    expect(view.revision).toBe(changed + 1);
  });

  test("drops only views that are empty and have no subscription", async () => {
    const { storage, cache, view } = await start();
    const created = await storage.create(`${VIEW}a`, value("a"));
    cache.forget(VIEW);
    expect(cache.view(VIEW)).toBe(view);
    await storage.delete(`${VIEW}a`, created);
    const subscription = view.subscribe(VIEW, view.revision, { events: () => {}, error: () => {} });
    cache.forget("/registry/");
    expect(cache.view(VIEW)).toBe(view);
    subscription[Symbol.dispose]();
    cache.forget("/registry/");
    expect(cache.view(VIEW)).not.toBe(view);
    await storage.create(`${VIEW}b`, value("b"));
    expect(names(cache.view(VIEW), VIEW)).toEqual(["b"]);
    const failed = new Promise((resolve) => view.subscribe(VIEW, view.revision, { events: () => {}, error: resolve }));
    expect(await failed).toBeInstanceOf(StorageUnavailableError);
  });

  test("drops the history of views without subscriptions; the store still has it", async () => {
    const { storage, cache, view } = await start();
    for (const name of ["a", "b"]) await storage.create(`${VIEW}${name}`, value(name));
    const asked: number[] = [];
    const { watch } = storage;
    storage.watch = (prefix, from, observer) => {
      asked.push(from);
      return watch.call(storage, prefix, from, observer);
    };
    cache.forget("/registry/");
    expect(cache.view(VIEW)).toBe(view);
    expect(names(view, VIEW)).toEqual(["a", "b"]);
    using newer = new Subscriber(view, VIEW, view.revision);
    expect(asked).toEqual([]);
    using older = new Subscriber(view, VIEW, 1);
    expect(asked).toEqual([1]);
    await storage.create(`${VIEW}c`, value("c"));
    await expect.poll(() => older.log).toHaveLength(3);
    expect(newer.log).toEqual(["put c@4"]);
    // A new subscriber gets all events, and events that come meanwhile are remembered.
    cache.forget("/registry/");
    using last = new Subscriber(view, VIEW, 3);
    await expect.poll(() => last.log).toEqual(["put c@4"]);
    expect(asked).toEqual([1]);
  });

  test("a view is the same for the same prefix, and only for prefixes of a resource", async () => {
    const { cache, view } = await start();
    expect(cache.view(VIEW)).toBe(view);
    for (const prefix of ["/registry/main/core/", `${VIEW}ns/`, VIEW.slice(0, -1)]) {
      expect(() => cache.view(prefix)).toThrow(RangeError);
    }
  });
});

describe("subscriptions", () => {
  test("replay from memory, then go on, without gap or duplicate", async () => {
    const { storage, view } = await start();
    for (const name of ["a", "b", "c"]) await storage.create(`${VIEW}${name}`, value(name));
    using subscriber = new Subscriber(view, VIEW, 2);
    await storage.create(`${VIEW}d`, value("d"));
    expect(subscriber.log).toEqual(["put b@3", "put c@4", "put d@5"]);
    expect(subscriber.progressed).toEqual([5]);
  });

  test("show a deletion as the last state under the revision of the deletion", async () => {
    const { storage, view } = await start();
    using subscriber = new Subscriber(view, VIEW, 1);
    const created = await storage.create(`${VIEW}a`, value("a"));
    const deleted = await storage.delete(`${VIEW}a`, created);
    const [, event] = subscriber.events;
    expect(event).toMatchObject({ type: "delete", previous: { revision: created } });
    expect(event!.object.decode().metadata).toEqual({ name: "a", resourceVersion: String(deleted) });
  });

  test("replay from the history of the store what memory has forgotten", async () => {
    const { storage, view } = await start({ historyLimit: 3 });
    const revisions: Revision[] = [];
    for (let index = 0; index < 10; index++) revisions.push(await storage.create(`${VIEW}${index}`, value(`${index}`)));
    await storage.delete(`${VIEW}0`, revisions[0]!);
    using subscriber = new Subscriber(view, VIEW, 1);
    await storage.create(`${VIEW}last`, value("last"));
    await turn();
    expect(subscriber.log).toEqual([
      ...revisions.map((revision, index) => `put ${index}@${revision}`),
      "delete 0@12",
      "put last@13",
    ]);
  });

  test("end with RevisionCompactedError when the store has forgotten it too", async () => {
    const { storage, view } = await start({ historyLimit: 1 });
    for (const name of ["a", "b", "c"]) await storage.create(`${VIEW}${name}`, value(name));
    await storage.compact(4);
    const subscriber = new Subscriber(view, VIEW, 2);
    expect(subscriber.error).toBeUndefined();
    await turn();
    expect(subscriber.error).toBeInstanceOf(RevisionCompactedError);
    await storage.create(`${VIEW}d`, value("d"));
    expect(subscriber.events).toEqual([]);
  });

  test("from a future revision stay silent until then", async () => {
    const { storage, view } = await start();
    using subscriber = new Subscriber(view, VIEW, 3);
    for (const name of ["a", "b", "c"]) await storage.create(`${VIEW}${name}`, value(name));
    expect(subscriber.log).toEqual(["put c@4"]);
  });

  test("get only the keys under their own prefix: all, one namespace, one object", async () => {
    const { storage, view } = await start();
    const prefixes = [VIEW, `${VIEW}a/`, `${VIEW}a/1`, `${VIEW}ab/`];
    const subscribers = prefixes.map((prefix) => new Subscriber(view, prefix, 1));
    for (const name of ["a/1", "a/2", "ab/1"]) await storage.create(`${VIEW}${name}`, value(name));
    expect(subscribers.map(({ log }) => log.length)).toEqual([3, 2, 1, 1]);
  });

  test("of one prefix share one array and one event object", async () => {
    const { storage, view } = await start();
    const [one, two] = [new Subscriber(view, VIEW, 1), new Subscriber(view, VIEW, 1)];
    await storage.create(`${VIEW}a`, value("a"));
    await storage.create(`${VIEW}b`, value("b"));
    expect(one.batches.at(-1)).toBe(two.batches.at(-1));
    expect(one.events[0]).toBe(two.events[0]);
  });

  test("of very many views get progress in turns, and once more for what was written meanwhile", async () => {
    const { storage, cache, scheduler } = await start();
    const told = new Map<string, Revision>();
    for (let index = 0; index < 1_000; index++) {
      const prefix = `/registry/main/core/things-${index}/`;
      const observer = {
        events: () => {},
        error: () => {},
        progress: (revision: Revision) => void told.set(prefix, revision),
      };
      cache.view(prefix).subscribe(prefix, cache.revision, observer);
    }
    await turn();
    told.clear();
    const first = await storage.create(`${VIEW}a`, value("a"));
    scheduler.run();
    await turn();
    expect(told.size).toBeLessThanOrEqual(200);
    expect(new Set(told.values())).toEqual(new Set([first]));
    const second = await storage.create(`${VIEW}b`, value("b"));
    for (let turns = 0; turns < 20; turns++) {
      scheduler.run();
      await turn();
    }
    expect([told.size, new Set(told.values())]).toEqual([1_000, new Set([second])]);
  });

  test("get progress that changes none of their objects", async () => {
    const { storage, view, scheduler } = await start();
    using subscriber = new Subscriber(view, VIEW, 1);
    await turn();
    await storage.create(`${OTHER_VIEW}a`, value("a"));
    await storage.create(`${OTHER_VIEW}b`, value("b"));
    expect(subscriber.progressed).toEqual([1]);
    scheduler.run();
    expect(subscriber.progressed).toEqual([1, 3]);
    expect(scheduler.delays).toEqual([]);
  });

  test("get nothing after disposal, even disposal by another observer of the same commit", async () => {
    const { storage, view } = await start();
    const first = new Subscriber(view, VIEW, 1);
    const second = new Subscriber(view, VIEW, 1);
    await turn();
    view.subscribe(VIEW, 1, { events: () => second[Symbol.dispose](), error: () => {} });
    first[Symbol.dispose]();
    await storage.create(`${VIEW}a`, value("a"));
    await storage.create(`${VIEW}b`, value("b"));
    expect(first.events).toEqual([]);
    expect(second.events.length).toBeLessThan(2);
  });

  test("may be made, and writes started, by an observer in the middle of a commit", async () => {
    const { storage, view } = await start();
    const inner: Subscriber[] = [];
    view.subscribe(VIEW, 1, {
      events: (events) => {
        if (inner.length > 0) return;
        inner.push(new Subscriber(view, VIEW, events[0]!.object.revision), new Subscriber(view, VIEW, 1));
        void storage.create(`${VIEW}echo`, value("echo"));
      },
      error: () => {},
    });
    await storage.create(`${VIEW}a`, value("a"));
    await turn();
    expect(inner.map(({ log }) => log)).toEqual([["put echo@3"], ["put a@2", "put echo@3"]]);
  });
});

describe("waiting", () => {
  test("waitFor resolves once the revision is visible", async () => {
    const { storage, cache } = await start();
    const waiting = cache.waitFor(3);
    await storage.create(`${VIEW}a`, value("a"));
    await storage.create(`${VIEW}b`, value("b"));
    await waiting;
    await cache.waitFor(2);
  });

  test("waitFor rejects with FutureRevisionError when the time is up", async () => {
    const { cache, scheduler } = await start();
    const waiting = cache.waitFor(7, { timeoutMs: 1234 });
    await turn();
    expect(scheduler.delays).toEqual([1234]);
    scheduler.run();
    const error = await Promise.resolve(waiting).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(FutureRevisionError);
    expect(error).toMatchObject({ current: 1 });
  });

  test("waitFor rejects with the reason of its signal, and leaves no timer behind", async () => {
    const { cache, scheduler } = await start();
    const controller = new AbortController();
    const waiting = cache.waitFor(7, { signal: controller.signal });
    await turn();
    controller.abort(new Error("gone"));
    await expect(waiting).rejects.toThrow("gone");
    expect(scheduler.delays).toEqual([]);
    await expect(cache.waitFor(7, { signal: controller.signal })).rejects.toThrow("gone");
  });

  test("refresh makes the newest acknowledged revision visible", async () => {
    const { storage, cache } = await start();
    const revision = await storage.create("/elsewhere", value("a"));
    expect(await cache.refresh()).toBe(revision);
  });
});

/** A store whose watches a test can break, and whose reads it can refuse. */
function fragile(storage: Storage) {
  const broken: ((error: Error) => void)[] = [];
  let down = false;
  const guard = async <Result>(call: () => Promise<Result>): Promise<Result> => {
    if (down) throw new StorageUnavailableError("down");
    return call();
  };
  const wrapped: Storage = {
    get: (key) => guard(() => storage.get(key)),
    list: (prefix, options) => guard(() => storage.list(prefix, options)),
    create: (key, content) => storage.create(key, content),
    update: (key, content, expected) => storage.update(key, content, expected),
    checkRoom: (key, value, kind) => storage.checkRoom(key, value, kind),
    delete: (key, expected) => storage.delete(key, expected),
    watch(prefix, from, observer) {
      const watch = storage.watch(prefix, from, observer);
      broken.push((error) => {
        watch[Symbol.dispose]();
        observer.error(error);
      });
      return watch;
    },
    currentRevision: () => guard(() => storage.currentRevision()),
    compact: (revision) => storage.compact(revision),
    [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
  };
  return {
    storage: wrapped,
    breakWatches(error: Error, stayDown: boolean) {
      down = stayDown;
      for (const breakWatch of broken.splice(0)) breakWatch(error);
    },
    recover() {
      down = false;
    },
  };
}

describe("a store that fails", () => {
  test("is watched again from the revision of the cache: subscriptions miss nothing", async () => {
    const { storage, breakWatches, recover } = fragile(createMemoryStorage());
    const errors: unknown[] = [];
    const { cache, view, scheduler } = await start({ storage, onError: (error) => errors.push(error) });
    using subscriber = new Subscriber(view, VIEW, 1);
    const a = await storage.create(`${VIEW}a`, value("a"));
    breakWatches(new StorageUnavailableError("cut off"), true);
    expect(cache.healthy).toBe(false);
    await storage.delete(`${VIEW}a`, a);
    await storage.create(`${VIEW}b`, value("b"));
    expect(names(view)).toEqual(["a"]);
    scheduler.run();
    await turn();
    expect(cache.healthy).toBe(false);
    recover();
    scheduler.run();
    await turn();
    expect(cache.healthy).toBe(true);
    expect(names(view)).toEqual(["b"]);
    expect(subscriber.log).toEqual(["put a@2", "delete a@3", "put b@4"]);
    expect(subscriber.error).toBeUndefined();
    expect(errors).toHaveLength(2);
  });

  test("and has compacted the missed events is loaded again: subscriptions end with RevisionCompactedError", async () => {
    const { storage, breakWatches } = fragile(createMemoryStorage());
    const { cache, view, scheduler } = await start({ storage });
    const a = await storage.create(`${VIEW}a`, value("a"));
    await storage.create(`${VIEW}kept`, value("kept"));
    const kept = view.get(`${VIEW}kept`);
    const subscriber = new Subscriber(view, VIEW, 1);
    await turn();
    breakWatches(new StorageUnavailableError("cut off"), false);
    await storage.delete(`${VIEW}a`, a);
    const b = await storage.create(`${VIEW}b`, value("b"));
    await storage.compact(b);
    for (let attempt = 0; attempt < 2; attempt++) {
      scheduler.run();
      await turn();
    }
    expect(cache.healthy).toBe(true);
    expect(names(view)).toEqual(["b", "kept"]);
    expect(view.get(`${VIEW}kept`)).toBe(kept);
    expect(view.changedRevision).toBe(b);
    expect(subscriber.error).toBeInstanceOf(RevisionCompactedError);
    using late = new Subscriber(view, VIEW, b);
    await storage.create(`${VIEW}c`, value("c"));
    expect(late.log).toEqual([`put c@${b + 1}`]);
  });

  test("when the cache starts is tried again until it answers", async () => {
    const { storage, breakWatches, recover } = fragile(createMemoryStorage());
    breakWatches(new Error(), true);
    const scheduler = manualScheduler();
    const cache = createWatchCache({ storage, prefix: "/registry/", scheduler });
    await turn();
    expect(scheduler.delays).toEqual([50]);
    scheduler.run();
    await turn();
    expect(scheduler.delays).toEqual([100]);
    recover();
    scheduler.run();
    await cache.ready();
    expect(cache.healthy).toBe(true);
  });
});

describe("closing", () => {
  test("ends subscriptions and waits with StorageUnavailableError, leaves no timer, and leaves the store open", async () => {
    const { storage, cache, view, scheduler } = await start();
    const subscriber = new Subscriber(view, VIEW, 1);
    const waiting = cache.waitFor(9);
    await storage.create(`${VIEW}a`, value("a"));
    await cache[Symbol.asyncDispose]();
    await cache[Symbol.asyncDispose]();
    expect(subscriber.error).toBeInstanceOf(StorageUnavailableError);
    await expect(waiting).rejects.toBeInstanceOf(StorageUnavailableError);
    await expect(cache.waitFor(9)).rejects.toBeInstanceOf(StorageUnavailableError);
    const late = new Subscriber(view, VIEW, 1);
    await turn();
    expect(late.error).toBeInstanceOf(StorageUnavailableError);
    expect(scheduler.delays).toEqual([]);
    expect(cache.healthy).toBe(false);
    expect(await storage.create(`${VIEW}b`, value("b"))).toBe(3);
  });

  test("in the middle of a long load makes ready reject, and nothing else", async () => {
    const storage = createMemoryStorage();
    for (let index = 0; index < 10_001; index++) await storage.create(`${VIEW}${index}`, value(`${index}`));
    const pages: Promise<unknown>[] = [];
    const counting: Storage = Object.assign(Object.create(storage) as Storage, {
      currentRevision: () => storage.currentRevision(),
      list: (...call: Parameters<Storage["list"]>) => {
        const page =
          pages.length === 0 ? storage.list(...call) : Promise.reject(new StorageUnavailableError("cut off"));
        pages.push(page);
        return page;
      },
    });
    const scheduler = manualScheduler();
    const cache = createWatchCache({ storage: counting, prefix: "/registry/", scheduler });
    const ready = cache.ready();
    await vi.waitFor(() => expect(scheduler.delays).toEqual([50]), { timeout: 30_000 });
    expect(pages).toHaveLength(2);
    await cache[Symbol.asyncDispose]();
    await expect(ready).rejects.toBeInstanceOf(StorageUnavailableError);
    expect(scheduler.delays).toEqual([]);
  });

  test("before the first load makes ready reject", async () => {
    const cache: WatchCache = createWatchCache({
      storage: createMemoryStorage(),
      prefix: "/registry/",
      scheduler: manualScheduler(),
    });
    const ready = cache.ready();
    await cache[Symbol.asyncDispose]();
    await expect(ready).rejects.toBeInstanceOf(StorageUnavailableError);
  });
});

test("an object is parsed once for all followers that get its event, and not kept afterwards", async () => {
  const { storage, view } = await start();
  const decoded: object[] = [];
  for (const _ of [1, 2, 3]) {
    view.subscribe(VIEW, view.revision, {
      events: (events) => void decoded.push(...events.map(({ object }) => object.decode())),
      error: () => {},
    });
  }
  await turn();
  const created = await storage.create(`${VIEW}a`, value("a"));
  expect(decoded).toHaveLength(3);
  expect(new Set(decoded).size).toBe(1);
  expect(view.get(`${VIEW}a`)?.decode()).not.toBe(decoded[0]);
  await storage.delete(`${VIEW}a`, created);
  expect(decoded).toHaveLength(6);
  expect(new Set(decoded).size).toBe(2);
});
