// The messages between a thread that uses the database, such as the main thread, and the thread that owns it. The bytes of one message are in one buffer,
// which is transferred.

import type { MessagePort } from "node:worker_threads";
import type { Revision } from "@postern/apiserver/storage/storage";
import type { SqliteExamination } from "./examine-sqlite.ts";
import type { StoreFailure } from "./sqlite-errors.ts";

/** The position of some bytes in the buffer of the message. */
export type Span = { readonly start: number; readonly length: number };

/** An entry without its key, which the receiver knows. */
export type PackedValue = Span & { readonly revision: Revision };

/** Entries as columns, which are cheaper to send than as many objects; the values are concatenated. */
export type PackedEntries = {
  readonly keys: readonly string[];
  readonly revisions: readonly Revision[];
  readonly lengths: readonly number[];
};

/** Writes as columns, like entries; see packed-writes.ts. */
export type PackedWrites = {
  readonly keys: readonly string[];
  /** -1 if the key must be absent. */
  readonly expected: readonly number[];
  /** -1 for a deletion. */
  readonly lengths: readonly number[];
};

export type PackedOutcomes = {
  /** 0 for a refused write, -1 for a valid write that exceeds the quota. */
  readonly revisions: readonly number[];
  /** Of the replaced entry, or the entry that caused the refusal; 0 without one. */
  readonly revisionsBefore: readonly Revision[];
  readonly lengthsBefore: readonly number[];
};

export type ReadRequest =
  | { readonly id: number; readonly type: "get"; readonly key: string }
  | ({ readonly id: number; readonly type: "list"; readonly prefix: string } & ListRange)
  /** The events below `prefix` after `after`, as many as fit into one response. */
  | { readonly id: number; readonly type: "events"; readonly prefix: string; readonly after: Revision }
  | { readonly id: number; readonly type: "compact"; readonly revision: Revision }
  /** Copies the newest state into the empty file at `path`. */
  | { readonly id: number; readonly type: "backup"; readonly path: string };

export type ListRange = {
  readonly startAfter?: string;
  readonly limit?: number;
  readonly revision?: Revision;
  readonly countRemaining: boolean;
};

export type ToWorker =
  /** Writes are answered in order; `bytes` contains their values. */
  | {
      readonly type: "requests";
      readonly writes: PackedWrites;
      readonly reads: readonly ReadRequest[];
      readonly bytes: ArrayBuffer;
    }
  /** Another thread uses the database, and sends and receives these messages through the port. */
  | { readonly type: "join"; readonly port: MessagePort }
  | { readonly type: "close" };

export type PackedEvent = {
  readonly key: string;
  readonly revision: Revision;
  /** Absent: the key was deleted. */
  readonly value?: Span;
  readonly previous?: PackedValue;
};

export type FromWorker =
  /** The first message. `fault` is what a check has found; "" for nothing. */
  | { readonly type: "opened"; readonly revision: Revision; readonly fault: string }
  | { readonly type: "openFailed"; readonly failure: StoreFailure }
  | { readonly type: "examined"; readonly examination: SqliteExamination }
  /** One commit: the results of the oldest unanswered writes, in order. It is on disk. */
  | { readonly type: "committed"; readonly outcomes: PackedOutcomes; readonly bytes: ArrayBuffer }
  /** None of the oldest `count` unanswered writes was stored. */
  | { readonly type: "notCommitted"; readonly count: number; readonly failure: StoreFailure }
  /** Writes of others; and those of commits that seemed to have failed but are on disk, for which no writer waits any more. */
  | { readonly type: "stored"; readonly events: readonly PackedEvent[]; readonly bytes: ArrayBuffer }
  | { readonly type: "entry"; readonly id: number; readonly entry?: PackedValue; readonly bytes: ArrayBuffer }
  /** Part of a list; the last part has `end`. */
  | {
      readonly type: "entries";
      readonly id: number;
      readonly entries: PackedEntries;
      readonly bytes: ArrayBuffer;
      readonly end?: { readonly revision: Revision; readonly remaining: number };
    }
  /** Everything after the requested revision and up to `upTo`, which is the newest one if `caughtUp`. */
  | {
      readonly type: "events";
      readonly id: number;
      readonly events: readonly PackedEvent[];
      readonly bytes: ArrayBuffer;
      readonly upTo: Revision;
      readonly caughtUp: boolean;
    }
  /** A failure that no answer has. Sweeping and checkpoints are tried again, and reported again once one has worked. */
  | { readonly type: "upkeepFailed"; readonly failure: StoreFailure }
  /** The whole database was checked while it served; `fault` is "" if it is intact. */
  | { readonly type: "checked"; readonly fault: string }
  | { readonly type: "compacted"; readonly id: number; readonly compacted: Revision }
  | { readonly type: "backingUp"; readonly id: number }
  /** The file contains the state at `revision`, and is closed. */
  | { readonly type: "backedUp"; readonly id: number; readonly revision: Revision }
  | {
      readonly type: "outOfRange";
      readonly id: number;
      readonly revision: Revision;
      readonly oldest: Revision;
      readonly newest: Revision;
    }
  | { readonly type: "readFailed"; readonly id: number; readonly failure: StoreFailure };

export type WorkerOptions = {
  readonly path: string;
  /** See SqliteStorageOptions. */
  readonly maxBytes?: number;
  /** See SqliteStorageOptions. */
  readonly maxQuickCheckBytes?: number;
  /** Where the newest revision on disk is published for all threads: see newest-revision.ts. */
  readonly newest?: SharedArrayBuffer;
  /** Only examines the file, and reports the result. */
  readonly examines?: true;
};
