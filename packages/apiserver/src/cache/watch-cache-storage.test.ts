// The suite of the stores, run through the watch cache: reads and watches are the cache's, writes and the past are the store's.

import { describe } from "vitest";
import { systemRuntime } from "../runtime/system-runtime.ts";
import { createMemoryStorage } from "../storage/memory/memory-storage.ts";
import type { ListOptions, Storage, StorageEvent, StoredEntry } from "../storage/storage.ts";
import { describeStorage, ROOT } from "../storage/testing/storage-suite.ts";
import { type CachedObject, encodeStoredValue } from "./cached-object.ts";
import { createWatchCache } from "./create-watch-cache.ts";
import type { CacheEvent } from "./watch-cache.ts";

function toEntry({ key, revision, bytes }: CachedObject): StoredEntry {
  const text = Buffer.from(bytes).toString();
  return { key, revision, value: Buffer.from(text.replace(`"resourceVersion":"${revision}",`, "")) };
}

function toStorageEvent(event: CacheEvent): StorageEvent {
  const { object, previous } = event;
  return event.type === "put"
    ? { type: "put", entry: toEntry(object), previous: previous && toEntry(previous) }
    : { type: "delete", key: object.key, revision: object.revision, previous: toEntry(event.previous) };
}

async function openThroughCache(historyLimit: number): Promise<Storage> {
  const storage = createMemoryStorage();
  const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler, historyLimit });
  await cache.ready();
  const view = cache.view(ROOT);
  return {
    async get(key, options) {
      options?.signal?.throwIfAborted();
      await cache.refresh(options);
      const object = view.get(key);
      return object && toEntry(object);
    },
    async list(prefix, options: ListOptions = {}) {
      options.signal?.throwIfAborted();
      const revision = await cache.refresh({ signal: options.signal });
      if (options.revision !== undefined && options.revision < view.changedRevision)
        return storage.list(prefix, options);
      if (options.revision !== undefined && options.revision > revision) return storage.list(prefix, options);
      const entries = view.list(prefix, options).map(toEntry);
      return {
        entries,
        revision: options.revision ?? view.revision,
        remaining: view.count(prefix, options.startAfter) - entries.length,
      };
    },
    create: (key, value) => storage.create(key, value),
    update: (key, value, expected) => storage.update(key, value, expected),
    delete: (key, expected) => storage.delete(key, expected),
    checkRoom: (key, value, kind) => storage.checkRoom(key, value, kind),
    watch: (prefix, fromRevision, observer) =>
      view.subscribe(prefix, fromRevision, {
        events: (events) => observer.events(events.map(toStorageEvent), events.at(-1)!.object.revision),
        progress: (revision) => observer.events([], revision),
        error: (error) => observer.error(error),
      }),
    currentRevision: () => storage.currentRevision(),
    compact: (revision) => storage.compact(revision),
    async [Symbol.asyncDispose]() {
      await cache[Symbol.asyncDispose]();
      await storage[Symbol.asyncDispose]();
    },
  };
}

describe.each([4096, 2])("with %i events of history in memory", (historyLimit) => {
  describeStorage("watch cache", async () => ({ storage: await openThroughCache(historyLimit) }), {
    value: (text) => encodeStoredValue({ apiVersion: "v1", kind: "Thing", metadata: { name: text } }),
    skip: {
      opaqueValues: "the cache keeps objects only",
      watchErrors: "what memory still holds is told although the store has compacted it",
    },
  });
});
