// The errors with which requests to the database thread are refused.

import type { StoredEntry } from "@postern/apiserver/storage/storage";
import {
  FutureRevisionError,
  KeyExistsError,
  RevisionCompactedError,
  RevisionConflictError,
  StorageFullError,
  StorageUnavailableError,
} from "@postern/apiserver/storage/storage-errors";
import type { Write } from "./revision-table.ts";
import type { FromWorker } from "./worker-protocol.ts";

/** `current` is what the store has instead. */
export const refusal = ({ key, expected }: Pick<Write, "key" | "expected">, current: StoredEntry | undefined): Error =>
  expected === undefined ? new KeyExistsError(key, current) : new RevisionConflictError(key, expected, current);

export const rangeError = ({ revision, oldest, newest }: FromWorker & { readonly type: "outOfRange" }): Error =>
  revision > newest ? new FutureRevisionError(revision, newest) : new RevisionCompactedError(revision, oldest);

export const threadError = (cause: unknown): StorageUnavailableError =>
  new StorageUnavailableError("the database thread has failed", { cause });

export const fullError = (): StorageFullError => new StorageFullError("the store has reached its quota");

export const closedError = (): StorageUnavailableError => new StorageUnavailableError("the store is closed");
