// Errors of stores. The registry converts them into Kubernetes errors.

import type { Revision, StoredEntry } from "./storage.ts";

/** A create of a key that exists. */
export class KeyExistsError extends Error {
  override readonly name = "KeyExistsError";
  readonly key: string;
  /** The current entry, where the store could tell. */
  readonly current: StoredEntry | undefined;
  constructor(key: string, current?: StoredEntry) {
    super(`key already exists: ${key}`);
    this.key = key;
    this.current = current;
  }
}

/** An update or a deletion of an entry that has changed, or that does not exist. */
export class RevisionConflictError extends Error {
  override readonly name = "RevisionConflictError";
  readonly key: string;
  /** The current entry; undefined when the key is absent. */
  readonly current: StoredEntry | undefined;
  constructor(key: string, expected: Revision, current: StoredEntry | undefined) {
    super(`${key} is at revision ${current?.revision ?? "none"}, not ${expected}`);
    this.key = key;
    this.current = current;
  }
}

/** A list or watch from a revision whose history is forgotten. Clients list again. */
export class RevisionCompactedError extends Error {
  override readonly name = "RevisionCompactedError";
  /** The oldest revision that can still be read. */
  readonly oldest: Revision;
  constructor(requested: Revision, oldest: Revision) {
    super(`revision ${requested} has been compacted, the oldest is ${oldest}`);
    this.oldest = oldest;
  }
}

/** A list at a revision that the store has not reached. */
export class FutureRevisionError extends Error {
  override readonly name = "FutureRevisionError";
  readonly current: Revision;
  constructor(requested: Revision, current: Revision) {
    super(`revision ${requested} is in the future, the newest is ${current}`);
    this.current = current;
  }
}

/** The value is larger than the store takes. */
export class ValueTooLargeError extends Error {
  override readonly name = "ValueTooLargeError";
}

/** The store cannot serve now (I/O error, disk full, closed, cut off): the caller may try again. `cause` is for the log. */
export class StorageUnavailableError extends Error {
  override readonly name: string = "StorageUnavailableError";
}

/** The disk, or the store's quota, is full: nothing was written. Reads work; writes work again once there is room. */
export class StorageFullError extends StorageUnavailableError {
  override readonly name = "StorageFullError";
}
