// A store in memory, with history, for tests, simulations, and servers whose objects need not outlive the process.

import { OrderedEntries } from "../ordered-entries.ts";
import type {
  ListOptions,
  ListResult,
  Revision,
  Storage,
  StorageEvent,
  StoredEntry,
  WatchObserver,
} from "../storage.ts";
import {
  FutureRevisionError,
  KeyExistsError,
  RevisionCompactedError,
  RevisionConflictError,
  StorageUnavailableError,
  ValueTooLargeError,
} from "../storage-errors.ts";
import { keyOf, revisionOf, type Watcher, WatcherSet } from "../watcher-set.ts";

export type MemoryStorageOptions = {
  /** In bytes; 8 MiB when absent. */
  readonly maxValueBytes?: number;
};

const DEFAULT_MAX_VALUE_BYTES = 8 << 20;

/** A store in memory, with history. Objects end with the process: for tests, and for servers that fill themselves at the start. */
export function createMemoryStorage(options: MemoryStorageOptions = {}): Storage {
  return new MemoryStorage(options.maxValueBytes ?? DEFAULT_MAX_VALUE_BYTES);
}

class MemoryStorage implements Storage {
  readonly #maxValueBytes: number;
  readonly #entries = new OrderedEntries<StoredEntry>();
  /** Every event after `#oldest`, oldest first: one for each revision. */
  readonly #history: StorageEvent[] = [];
  readonly #watchers = new WatcherSet();
  #revision: Revision = 1;
  readonly known: { revision: Revision | undefined } = { revision: 1 };
  #oldest: Revision = 1;
  #closed = false;

  constructor(maxValueBytes: number) {
    this.#maxValueBytes = maxValueBytes;
  }

  async get(key: string, options?: { readonly signal?: AbortSignal }): Promise<StoredEntry | undefined> {
    this.#assertServing(options?.signal);
    return this.#entries.get(key);
  }

  async list(prefix: string, options: ListOptions = {}): Promise<ListResult> {
    this.#assertServing(options.signal);
    const { revision = this.#revision, limit, startAfter } = options;
    const entries = this.#entriesAt(revision);
    const range = startAfter === undefined ? {} : { startAfter };
    const found = entries.list(prefix, limit === undefined ? range : { ...range, limit });
    return { entries: found, revision, remaining: entries.count(prefix, startAfter) - found.length };
  }

  async create(key: string, value: Uint8Array, content?: unknown): Promise<Revision> {
    this.#assertWritable(value);
    const current = this.#entries.get(key);
    if (current !== undefined) throw new KeyExistsError(key, current);
    return this.#put(key, value, undefined, content);
  }

  async update(key: string, value: Uint8Array, expected: Revision, content?: unknown): Promise<Revision> {
    this.#assertWritable(value);
    return this.#put(key, value, this.#expect(key, expected), content);
  }

  async delete(key: string, expected: Revision): Promise<Revision> {
    this.#assertServing();
    const previous = this.#expect(key, expected);
    this.#entries.delete(key);
    return this.#commit({ type: "delete", key, revision: this.#revision + 1, previous });
  }

  watch(prefix: string, fromRevision: Revision, observer: WatchObserver): Disposable {
    const live = !this.#closed && fromRevision >= this.#revision;
    const watcher = this.#watchers.add(prefix, fromRevision, live, observer);
    if (!live) queueMicrotask(() => this.#catchUp(watcher));
    return { [Symbol.dispose]: () => this.#watchers.remove(watcher) };
  }

  async currentRevision(): Promise<Revision> {
    this.#assertServing();
    return this.#revision;
  }

  async compact(revision: Revision): Promise<void> {
    this.#assertServing();
    if (revision > this.#revision) throw new FutureRevisionError(revision, this.#revision);
    if (revision <= this.#oldest) return;
    this.#history.splice(0, revision - this.#oldest);
    this.#oldest = revision;
  }

  get oldestRevision(): Revision {
    return this.#oldest;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.known.revision = undefined;
    this.#watchers.failAll(closed());
  }

  #put(key: string, value: Uint8Array, previous: StoredEntry | undefined, content?: unknown): Revision {
    const entry: StoredEntry = { key, value: value.slice(), revision: this.#revision + 1 };
    this.#entries.set(entry);
    const event = { type: "put", entry, previous } as const;
    return this.#commit(event, content === undefined ? event : { ...event, content });
  }

  /** Watchers receive the content with the event. History does not keep it. */
  #commit(event: StorageEvent, told = event): Revision {
    const revision = revisionOf(event);
    this.#revision = revision;
    this.known.revision = revision;
    this.#history.push(event);
    this.#watchers.deliver({ events: [told], revision });
    return revision;
  }

  #expect(key: string, expected: Revision): StoredEntry {
    const current = this.#entries.get(key);
    if (current?.revision !== expected) throw new RevisionConflictError(key, expected, current);
    return current;
  }

  /** The state at `revision`: the newest one with every later event undone. */
  #entriesAt(revision: Revision): OrderedEntries<StoredEntry> {
    if (revision > this.#revision) throw new FutureRevisionError(revision, this.#revision);
    if (revision < this.#oldest) throw new RevisionCompactedError(revision, this.#oldest);
    if (revision === this.#revision) return this.#entries;
    const entries = new OrderedEntries<StoredEntry>();
    for (const entry of this.#entries.list("")) entries.set(entry);
    for (const event of this.#history.slice(revision - this.#oldest).reverse()) {
      if (event.previous === undefined) entries.delete(keyOf(event));
      else entries.set(event.previous);
    }
    return entries;
  }

  #catchUp(watcher: Watcher): void {
    const { covered } = watcher;
    if (this.#closed) this.#watchers.fail(watcher, closed());
    else if (covered < this.#oldest) this.#watchers.fail(watcher, new RevisionCompactedError(covered, this.#oldest));
    else {
      // Once more for every write that the observer makes meanwhile.
      do {
        const events = this.#history.slice(watcher.covered - this.#oldest);
        watcher.offer({ events, revision: this.#revision });
      } while (!watcher.disposed && watcher.covered < this.#revision);
      watcher.live = true;
    }
  }

  async checkRoom(_key: string, value: Uint8Array): Promise<void> {
    this.#assertWritable(value);
  }

  #assertServing(signal?: AbortSignal): void {
    signal?.throwIfAborted();
    if (this.#closed) throw closed();
  }

  #assertWritable(value: Uint8Array): void {
    this.#assertServing();
    if (value.byteLength > this.#maxValueBytes) {
      throw new ValueTooLargeError(`the value has ${value.byteLength} bytes, more than ${this.#maxValueBytes}`);
    }
  }
}

function closed(): StorageUnavailableError {
  return new StorageUnavailableError("the store is closed");
}
