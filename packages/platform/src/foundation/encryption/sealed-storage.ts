// The store as the server sees it: values with secrets are encrypted on write and decrypted on read. A sealed value names its key, and is bound to
// its place in the store.

import type { Random } from "@postern/apiserver/runtime/clock";
import type {
  ListOptions,
  ListResult,
  Revision,
  Storage,
  StorageEvent,
  StoredEntry,
  WatchObserver,
} from "@postern/apiserver/storage/storage";
import {
  KeyExistsError,
  RevisionConflictError,
  StorageUnavailableError,
} from "@postern/apiserver/storage/storage-errors";
import { keyOf } from "@postern/apiserver/storage/watcher-set";
import { KEY_RING_KEY } from "./key-ring-record.ts";
import { isSealedPlace, openEntry, sealEntry, sealedUnder } from "./sealed-entry.ts";
import type { StoredKeyRing } from "./stored-key-ring.ts";

export type SealedStorageDeps = {
  /** As it is on disk. Stays open when this one is closed. */
  readonly storage: Storage;
  readonly ring: Pick<StoredKeyRing, "keys" | "find" | "load" | "refresh" | "confirm">;
  readonly random: Random;
  /** The placeholder for a value that cannot be decrypted. */
  readonly placeholder: (key: string, fault: string) => Uint8Array;
  /** Told of every value that could not be opened. */
  readonly onUnreadable: (key: string, fault: string) => void;
};

/**
 * Watchers learn of a new key of the ring before the values under it. A value that cannot be opened does not affect the others: a placeholder, which
 * can be read, replaced and deleted, takes its place.
 */
export function createSealedStorage(options: SealedStorageDeps): Storage {
  return new SealedStorage(options);
}

class SealedStorage implements Storage {
  readonly #options: SealedStorageDeps;
  readonly #storage: Storage;
  readonly known: Storage["known"];

  constructor(options: SealedStorageDeps) {
    this.known = options.storage.known;
    this.#options = options;
    this.#storage = options.storage;
  }

  async get(key: string, options?: { readonly signal?: AbortSignal }): Promise<StoredEntry | undefined> {
    const entry = await this.#storage.get(key, options);
    if (entry === undefined) return undefined;
    await this.#learn([entry]);
    return this.#open(entry);
  }

  async list(prefix: string, options?: ListOptions): Promise<ListResult> {
    const result = await this.#storage.list(prefix, options);
    if (!result.entries.some(({ key }) => isSealedPlace(key))) return result;
    await this.#learn(result.entries);
    return { ...result, entries: result.entries.map((entry) => this.#open(entry)) };
  }

  create(key: string, value: Uint8Array, content?: unknown): Promise<Revision> {
    return isSealedPlace(key) ? this.#createSealed(key, value) : this.#storage.create(key, value, content);
  }

  async #createSealed(key: string, value: Uint8Array): Promise<Revision> {
    try {
      return await this.#storage.create(key, await this.#seal(key, value));
    } catch (error) {
      if (!(error instanceof KeyExistsError) || error.current === undefined) throw error;
      throw new KeyExistsError(key, await this.#opened(error.current));
    }
  }

  update(key: string, value: Uint8Array, expected: Revision, content?: unknown): Promise<Revision> {
    return isSealedPlace(key)
      ? this.#updateSealed(key, value, expected)
      : this.#storage.update(key, value, expected, content);
  }

  async #updateSealed(key: string, value: Uint8Array, expected: Revision): Promise<Revision> {
    const sealed = await this.#seal(key, value);
    return await this.#unlessConflict(key, expected, this.#storage.update(key, sealed, expected));
  }

  async checkRoom(key: string, value: Uint8Array, kind: "create" | "update"): Promise<void> {
    const stored = isSealedPlace(key) ? await this.#seal(key, value) : value;
    await this.#storage.checkRoom(key, stored, kind);
  }

  async delete(key: string, expected: Revision): Promise<Revision> {
    return await this.#unlessConflict(key, expected, this.#storage.delete(key, expected));
  }

  watch(prefix: string, fromRevision: Revision, observer: WatchObserver): Disposable {
    const waiting: (() => void)[] = [];
    let isLearning = false;
    let over = false;
    const end = (error: Error) => {
      if (over) return;
      over = true;
      watch[Symbol.dispose]();
      observer.error(error);
    };
    // Events that come while a key is being learned wait their turn.
    const inTurn = (step: () => void) => {
      if (isLearning) waiting.push(step);
      else step();
    };
    const proceed = () => {
      isLearning = false;
      while (!isLearning) {
        const next = waiting.shift();
        if (next === undefined) return;
        next();
      }
    };
    const learn = () => {
      isLearning = true;
      const failed = (error: unknown) =>
        end(new StorageUnavailableError("the key ring cannot be read", { cause: error }));
      void this.#options.ring.refresh().then(proceed, failed);
    };
    const hand = (events: readonly StorageEvent[], revision: Revision) => {
      if (over) return;
      const opened = events.map((event) => this.#openEvent(event));
      observer.events(opened, revision);
    };
    const deliver = (events: readonly StorageEvent[], revision: Revision) => {
      if (over) return;
      for (const event of events) {
        if (event.type === "put" && event.entry.key === KEY_RING_KEY) this.#options.ring.load(event.entry);
      }
      const isKnown = !events.some((event) => event.type === "put" && this.#isUnknown(event.entry));
      if (isKnown) return hand(events, revision);
      waiting.unshift(() => hand(events, revision));
      learn();
    };
    const watch = this.#storage.watch(prefix, fromRevision, {
      events: (events, revision) => inTurn(() => deliver(events, revision)),
      error: (error) => inTurn(() => end(error)),
    });
    return {
      [Symbol.dispose]() {
        over = true;
        watch[Symbol.dispose]();
      },
    };
  }

  currentRevision(): Promise<Revision> {
    return this.#storage.currentRevision();
  }

  compact(revision: Revision): Promise<void> {
    return this.#storage.compact(revision);
  }

  get oldestRevision(): Revision {
    return this.#storage.oldestRevision ?? 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  async #seal(key: string, value: Uint8Array): Promise<Uint8Array> {
    await this.#options.ring.confirm();
    return sealEntry(this.#options.ring, key, value, this.#options.random);
  }

  #open(entry: StoredEntry): StoredEntry {
    return this.#opening(entry, this.#options.onUnreadable);
  }

  /** A replaced value may be under a key that is no longer needed. */
  #openPast(entry: StoredEntry): StoredEntry {
    return this.#opening(entry, () => undefined);
  }

  #opening(entry: StoredEntry, onUnreadable: SealedStorageDeps["onUnreadable"]): StoredEntry {
    if (!isSealedPlace(entry.key)) return entry;
    const opened = openEntry(this.#options.ring, entry.key, entry.value);
    if ("value" in opened) return { ...entry, value: opened.value };
    onUnreadable(entry.key, opened.fault);
    return { ...entry, value: this.#options.placeholder(entry.key, opened.fault) };
  }

  async #opened(entry: StoredEntry): Promise<StoredEntry> {
    await this.#learn([entry]);
    return this.#open(entry);
  }

  #openEvent(event: StorageEvent): StorageEvent {
    if (!isSealedPlace(keyOf(event))) return event;
    const { previous } = event;
    const before = previous === undefined ? undefined : this.#openPast(previous);
    if (event.type === "put") return { ...event, entry: this.#open(event.entry), previous: before };
    return before === undefined ? event : { ...event, previous: before };
  }

  async #learn(entries: readonly StoredEntry[]): Promise<void> {
    if (entries.some((entry) => this.#isUnknown(entry))) await this.#options.ring.refresh();
  }

  #isUnknown({ key, value }: StoredEntry): boolean {
    if (!isSealedPlace(key)) return false;
    const id = sealedUnder(value);
    return id !== undefined && this.#options.ring.find(id) === undefined;
  }

  async #unlessConflict(key: string, expected: Revision, write: Promise<Revision>): Promise<Revision> {
    try {
      return await write;
    } catch (error) {
      if (!(error instanceof RevisionConflictError) || error.current === undefined) throw error;
      throw new RevisionConflictError(key, expected, await this.#opened(error.current));
    }
  }
}
