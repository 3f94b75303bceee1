// Initial state of a watch, for slow clients: it is read at their pace, while objects are written.

import fc from "fast-check";
import { expect, it } from "vitest";
import type { CachedObject } from "../../../cache/cached-object.ts";
import { start, VIEW, value } from "../../../cache/testing/watch-cache-fixture.ts";
import type { RequestContext } from "../../../context/request-context.ts";
import { createMemoryStorage } from "../../../storage/memory/memory-storage.ts";
import type { Storage, StorageEvent } from "../../../storage/storage.ts";
import { randomNumbers } from "../../../storage/testing/random-numbers.ts";
import type { ReadInitialState, WatchEventObserver, WatchEventType } from "../../resource-storage.ts";
import type { ConvertedRecords } from "../conversion/converted-records.ts";
import { createConvertingStore } from "../conversion/converting-store.ts";
import type { StoreContext } from "../store-context.ts";
import { watchObjects } from "./watch-objects.ts";

const SEED = Number(process.env["TEST_SEED"]);

/** Shows each record as it is, when it has been asked about, and answers in any order. */
function convertingLate(next: (below: number) => number) {
  const shown = new WeakSet<CachedObject>();
  let pending = 0;
  const converted = {
    known: (record: CachedObject) => (shown.has(record) ? record : undefined),
    async of(records: readonly CachedObject[]) {
      pending++;
      for (let turns = next(4); turns > 0; turns--) await nextTurn();
      for (const record of records) shown.add(record);
      pending--;
      return records;
    },
  };
  return {
    converted: converted as unknown as ConvertedRecords,
    async settled(): Promise<void> {
      await nextTurn();
      while (pending > 0) await nextTurn();
      await nextTurn();
    },
  };
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A store that reports all changes of a turn of the event loop together, as one that is far away does. */
function reportingTogether(): Storage {
  const storage = createMemoryStorage();
  const { watch } = storage;
  storage.watch = (prefix, from, observer) => {
    let [events, last]: [StorageEvent[], number] = [[], from];
    const report = (): void => {
      const together = events;
      events = [];
      observer.events(together, last);
    };
    return watch.call(storage, prefix, from, {
      ...observer,
      events(more, revision) {
        if (events.length === 0) setImmediate(report);
        events.push(...more);
        last = revision;
      },
    });
  };
  return storage;
}

async function watched(
  count: number,
  conversion?: ReturnType<typeof convertingLate>,
  storage: Storage = createMemoryStorage(),
) {
  const { cache, view } = await start({ storage });
  const revisions = new Map<string, number>();
  const write = async (name: string): Promise<void> => {
    const key = `${VIEW}${name}`;
    const revision = revisions.get(name);
    revisions.set(
      name,
      await (revision === undefined ? storage.create(key, value(name)) : storage.update(key, value(name), revision)),
    );
  };
  const remove = async (name: string): Promise<void> => {
    const revision = revisions.get(name);
    if (revision === undefined) return;
    await storage.delete(`${VIEW}${name}`, revision);
    revisions.delete(name);
  };
  const nameOf = (at: number): string => `g${String(at).padStart(4, "0")}`;
  for (let at = 0; at < count; at++) await write(nameOf(at));
  await cache.waitFor?.(await storage.currentRevision());

  const keys = { inNamespace: () => VIEW };
  const definition = { namespaced: false };
  const store = { definition, keys, view, cache } as unknown as StoreContext;
  /** State of the client: names, each with the revision of its last event. */
  const seen = new Map<string, number>();
  const log: string[] = [];
  let read: ReadInitialState = () => undefined;
  let endedAt: string | undefined;
  /** Names known to be in the state at the end of the initial events that the client lacked. */
  const missing: string[] = [];
  /** Events that came after a newer one, and keys that came after a later key. */
  const disordered: string[] = [];
  let [lastKey, lastRevision] = ["", 0];
  /** Events that arrive while a part of the state is read come after it. */
  let later: (() => void)[] | undefined;
  const tell = (type: WatchEventType, { key, revision }: CachedObject): void => {
    const name = key.slice(VIEW.length);
    log.push(`${type} ${name}`);
    expect(seen.has(name)).toBe(type !== "ADDED");
    if (type === "DELETED") seen.delete(name);
    else seen.set(name, revision);
  };
  const query = { namespace: "", resourceVersion: "0", allowWatchBookmarks: true, sendInitialEvents: undefined };
  const observer: WatchEventObserver = {
    initialState: (reads) => {
      read = reads;
    },
    event: (type, object) => {
      if (object.revision <= lastRevision) disordered.push(`${type} ${object.key}`);
      lastRevision = object.revision;
      if (later === undefined) tell(type, object);
      else later.push(() => tell(type, object));
    },
    initialEventsEnd: (resourceVersion) => {
      endedAt = resourceVersion;
      // Its client goes on from there: it gets nothing older any more.
      for (const task of later?.splice(0) ?? []) task();
      for (const { key, revision } of view.list(VIEW)) {
        const name = key.slice(VIEW.length);
        if (revision <= Number(resourceVersion) && seen.get(name) !== revision) missing.push(name);
      }
    },
    progress: () => {},
    error: (error) => expect(error).toBeUndefined(),
  };
  const context = { signal: new AbortController().signal } as RequestContext;
  const watch =
    conversion === undefined
      ? await watchObjects(store, context, query as never, observer)
      : await createConvertingStore(store, conversion.converted).watch(context, query as never, observer);
  const add = (objects: readonly CachedObject[]): void => {
    for (const object of objects) {
      if (object.key <= lastKey) disordered.push(object.key);
      lastKey = object.key;
      tell("ADDED", object);
    }
  };
  return {
    ...{ view, write, remove, nameOf, seen, log, missing, disordered },
    endedAt: () => endedAt,
    /** Whether there is more to read. */
    take(bytes: number): boolean {
      const objects = read(bytes);
      if (objects instanceof Promise) throw new Error("it is being converted");
      add(objects ?? []);
      return objects !== undefined;
    },
    /** The same, where it takes time. */
    async takeLate(bytes: number): Promise<boolean> {
      later = [];
      const objects = await read(bytes);
      add(objects ?? []);
      for (const task of later.splice(0)) task();
      later = undefined;
      return objects !== undefined;
    },
    current: () => new Map(view.list(VIEW).map(({ key, revision }) => [key.slice(VIEW.length), revision])),
    async [Symbol.asyncDispose]() {
      watch[Symbol.dispose]();
      await cache[Symbol.asyncDispose]();
    },
  };
}

it("holds nothing of the state before the client takes it (security book 48)", async () => {
  await using client = await watched(1_000);
  const lists: (number | undefined)[] = [];
  const { list } = client.view;
  client.view.list = (prefix, options) => {
    lists.push(options?.limit);
    return list.call(client.view, prefix, options);
  };
  expect(client.log).toEqual([]);
  client.take(1);
  expect(client.log).toEqual(["ADDED g0000"]);
  expect(lists.every((limit) => limit !== undefined && limit < 1_000)).toBe(true);
});

it("sends an object when it is read, and no event before", async () => {
  await using client = await watched(3);
  client.take(1);
  await client.write("g0002");
  await client.remove("g0001");
  await client.write("g0009");
  await client.write("g0000x");
  await client.write("g0000");
  expect(client.log).toEqual(["ADDED g0000", "MODIFIED g0000"]);
  while (client.take(1)) expect(client.endedAt()).toBeUndefined();
  expect(client.log.slice(2)).toEqual(["ADDED g0000x", "ADDED g0002", "ADDED g0009"]);
  expect(client.endedAt()).toBe(String(client.view.revision));
  await client.remove("g0002");
  expect(client.log.at(-1)).toBe("DELETED g0002");
});

/** Some objects change often. */
const name = fc.oneof(fc.nat(400), fc.nat(10));
const step = fc.oneof(
  fc.record({ take: fc.constantFrom(1, 500, 20_000) }),
  // Together, so that the cache learns of them together.
  fc.record({ write: fc.uniqueArray(name, { minLength: 1, maxLength: 4 }) }),
  fc.record({ remove: name }),
);

it(`gives every client the state in the end, whatever is written while it reads (seed ${SEED})`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.boolean(), fc.nat(300), fc.array(step, { maxLength: 60 }), async (together, count, steps) => {
      await using client = await watched(count, undefined, together ? reportingTogether() : createMemoryStorage());
      for (const each of steps) {
        if ("take" in each) client.take(each.take);
        else if ("write" in each) await Promise.all(each.write.map((at) => client.write(client.nameOf(at))));
        else await client.remove(client.nameOf(each.remove));
      }
      while (client.take(20_000));
      await nextTurn();
      expect([client.disordered, client.seen]).toEqual([[], client.current()]);
    }),
    { numRuns: 60 },
  );
});

it("holds nothing of the state before the client takes it where a webhook converts it (security book 48)", async () => {
  await using client = await watched(
    1_000,
    convertingLate(() => 1),
  );
  expect(client.log).toEqual([]);
  await client.takeLate(1);
  expect(client.log).toEqual(["ADDED g0000"]);
  await client.write("g0999");
  await client.remove("g0998");
  expect(client.log.length).toBe(1);
});

it(`gives every client the state in the end, however long conversions take (seed ${SEED})`, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.boolean(),
      fc.nat(300),
      fc.array(step, { maxLength: 60 }),
      fc.nat(),
      async (together, count, steps, seed) => {
        const conversion = convertingLate(randomNumbers(seed));
        await using client = await watched(count, conversion, together ? reportingTogether() : createMemoryStorage());
        let reading: Promise<boolean> = Promise.resolve(true);
        for (const each of steps) {
          // Objects are written while a part of the state is converted.
          if ("take" in each) {
            await reading;
            reading = client.takeLate(each.take);
          } else if ("write" in each) await Promise.all(each.write.map((at) => client.write(client.nameOf(at))));
          else await client.remove(client.nameOf(each.remove));
        }
        await reading;
        while (await client.takeLate(20_000));
        await nextTurn();
        await conversion.settled();
        expect([client.missing, client.disordered, client.seen]).toEqual([[], [], client.current()]);
      },
    ),
    { numRuns: 60 },
  );
});
