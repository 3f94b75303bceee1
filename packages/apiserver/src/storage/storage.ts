// The storage port: ordered keys, opaque values, one revision sequence, compare-and-swap, and watches. Stores know nothing of objects.

/**
 * A point in the history of one store. An empty store is at 1; goes up with every write of any key, never repeats.
 * Safe integers only: 2^53 writes are out of reach.
 */
export type Revision = number;

/** A key with its value and the revision at which it was written. */
export type StoredEntry = {
  readonly key: string;
  readonly value: Uint8Array;
  /** The revision of the write that made this value. */
  readonly revision: Revision;
};

/** A change of one key. */
export type StorageEvent =
  | {
      readonly type: "put";
      readonly entry: StoredEntry;
      readonly previous: StoredEntry | undefined;
      /** The content that the writer gave beside the value, in an event that directly follows the write: observers in its process need not read it. */
      readonly content?: unknown;
    }
  | { readonly type: "delete"; readonly key: string; readonly revision: Revision; readonly previous: StoredEntry };

/** Bounds of a list of a store. */
export type ListOptions = {
  /** At most this many entries; absent means all. */
  readonly limit?: number;
  /** Only keys greater than this one. */
  readonly startAfter?: string;
  /** The state as it was at this revision; absent means now. */
  readonly revision?: Revision;
  /**
   * "exact" (default) counts what follows the last entry, which costs a scan; "any" only says whether something follows:
   * `remaining` is then 0 when nothing does, else some positive number.
   */
  readonly remaining?: "exact" | "any";
  readonly signal?: AbortSignal;
};

/** A page of a list, and how much follows it. */
export type ListResult = {
  /** In byte order of their keys. */
  readonly entries: readonly StoredEntry[];
  /** The revision at which the list is consistent: that of the options, or the newest. */
  readonly revision: Revision;
  /** How many entries follow the last one returned. */
  readonly remaining: number;
};

/** Receives the events of a watch. */
export type WatchObserver = {
  /**
   * The events of one or more whole commits, in revision order, all under the watched prefix and all after `fromRevision`.
   * `revision` is the newest one covered: nothing at or below it will be sent any more. `events` is empty where commits up to
   * `revision` changed nothing under the prefix. Called synchronously by the store, but never before `watch` has returned;
   * must not throw.
   */
  events(events: readonly StorageEvent[], revision: Revision): void;
  /** The watch has ended: compacted, store unavailable, or closed. No call follows. */
  error(error: Error): void;
};

/**
 * Where objects live. All methods may reject with the errors of `storage-errors.ts`.
 * Contract for writers: a write is acknowledged only when it is durable, and where one process owns the store every observer has
 * been called with the event before the write's promise settles.
 */
export interface Storage extends AsyncDisposable {
  /** The newest value, linearizable; undefined if there is none. */
  get(key: string, options?: { readonly signal?: AbortSignal }): Promise<StoredEntry | undefined>;

  /** Everything under `prefix` at one revision. Rejects with RevisionCompactedError or FutureRevisionError. */
  list(prefix: string, options?: ListOptions): Promise<ListResult>;

  /** Rejects with KeyExistsError. `content` is what the value encodes; it comes back in the event, in stores that can hand it on. */
  create(key: string, value: Uint8Array, content?: unknown): Promise<Revision>;

  /** Writes only if the entry is still at `expected`. Rejects with RevisionConflictError, also when the key is absent. `content` as for `create`. */
  update(key: string, value: Uint8Array, expected: Revision, content?: unknown): Promise<Revision>;

  /** Rejects as `create` and `update` would for a value that has no room, and writes nothing: for dry runs. */
  checkRoom(key: string, value: Uint8Array, kind: "create" | "update"): Promise<void>;

  /** Deletes only if the entry is still at `expected`; resolves with the revision of the deletion. */
  delete(key: string, expected: Revision): Promise<Revision>;

  /**
   * Every change under `prefix` after `fromRevision` (exclusive), without gap or duplicate, until the handle is disposed.
   * A revision in the future is waited for; one already compacted ends the watch with RevisionCompactedError.
   */
  watch(prefix: string, fromRevision: Revision, observer: WatchObserver): Disposable;

  /** The newest acknowledged revision, linearizable. */
  currentRevision(): Promise<Revision>;
  /** The same where it is known without asking, as in a store that this process alone writes to. Absent or undefined: it has to be asked for. */
  readonly known?: { readonly revision: Revision | undefined } | undefined;

  /** Forgets history before `revision`: older lists and watches fail from then on. The newest value of a key is never lost. */
  compact(revision: Revision): Promise<void>;

  /** The revision that `compact` was last called with here, where the store remembers it: nothing older can be listed. */
  readonly oldestRevision?: Revision;
}
