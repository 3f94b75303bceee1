// Fixture of the watch cache's tests: a cache on a store, timers run by hand, a subscriber that keeps what it receives.

import type { Scheduler } from "../../runtime/clock.ts";
import { createMemoryStorage } from "../../storage/memory/memory-storage.ts";
import type { Revision, Storage } from "../../storage/storage.ts";
import { encodeStoredValue } from "../cached-object.ts";
import { createWatchCache, type WatchCacheOptions } from "../create-watch-cache.ts";
import type { CacheEvent, CacheView } from "../watch-cache.ts";

export const VIEW = "/registry/main/core/things/";
export const OTHER_VIEW = "/registry/main/core/others/";

export function value(name: string, labels?: { [key: string]: string }): Uint8Array {
  return encodeStoredValue({ apiVersion: "v1", kind: "Thing", metadata: { name, ...(labels && { labels }) } });
}

/** Timers that run when the test says so: all that wait, or those of one delay. */
export function manualScheduler(): Scheduler & { run(delayMs?: number): void; readonly delays: number[] } {
  const tasks = new Map<object, { task: () => void; delayMs: number }>();
  return {
    schedule(delayMs, task) {
      const handle = { [Symbol.dispose]: () => void tasks.delete(handle) };
      tasks.set(handle, { task, delayMs });
      return handle;
    },
    run(delayMs) {
      const due = [...tasks].filter(([, { delayMs: planned }]) => delayMs === undefined || planned === delayMs);
      for (const [handle] of due) tasks.delete(handle);
      for (const [, { task }] of due) task();
    },
    get delays() {
      return [...tasks.values()].map(({ delayMs }) => delayMs);
    },
  };
}

export async function start(options: Partial<WatchCacheOptions> & { storage?: Storage } = {}) {
  const storage = options.storage ?? createMemoryStorage();
  const scheduler = manualScheduler();
  const cache = createWatchCache({ storage, prefix: "/registry/", scheduler, ...options });
  await cache.ready();
  return { storage, scheduler, cache, view: cache.view(VIEW) };
}

export class Subscriber implements Disposable {
  readonly events: CacheEvent[] = [];
  readonly batches: (readonly CacheEvent[])[] = [];
  readonly progressed: Revision[] = [];
  error: Error | undefined;
  readonly #subscription: Disposable;

  constructor(view: CacheView, prefix: string, from: Revision) {
    this.#subscription = view.subscribe(prefix, from, {
      events: (events) => {
        this.batches.push(events);
        this.events.push(...events);
      },
      progress: (revision) => void this.progressed.push(revision),
      error: (error) => {
        this.error = error;
      },
    });
  }

  get log(): string[] {
    return this.events.map(({ type, object }) => `${type} ${object.key.slice(VIEW.length)}@${object.revision}`);
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
  }
}

export const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
export const names = (view: CacheView, prefix = VIEW) =>
  view.list(prefix).map((object) => object.key.slice(VIEW.length));
