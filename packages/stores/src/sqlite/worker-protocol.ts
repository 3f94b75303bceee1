// What the main thread and the thread of the database say to each other. Bytes of one message lie in one buffer, which is handed over.

import type { Revision } from "@postern/apiserver/storage/storage";
import type { SqliteExamination } from "./examine-sqlite.ts";
import type { StoreFailure } from "./sqlite-errors.ts";

/** Where in the buffer of its message some bytes lie. */
export type Span = { readonly start: number; readonly length: number };

/** An entry without its key, which the receiver knows. */
export type PackedValue = Span & { readonly revision: Revision };

/** Many entries as columns, which cost less to send than as many objects; their values lie one behind the other. */
export type PackedEntries = {
  readonly keys: readonly string[];
  readonly revisions: readonly Revision[];
  readonly lengths: readonly number[];
};

/** Writes as columns, as entries are; see packed-writes.ts. */
export type PackedWrites = {
  readonly keys: readonly string[];
  /** -1 for a key that must be absent. */
  readonly expected: readonly number[];
  /** -1 for a write that deletes. */
  readonly lengths: readonly number[];
};

export type PackedOutcomes = {
  /** 0 for a write that was refused, -1 where it would have been written, but the quota is used up. */
  readonly revisions: readonly number[];
  /** Of what a write replaced, or what made it be refused; 0 where there was nothing. */
  readonly revisionsBefore: readonly Revision[];
  readonly lengthsBefore: readonly number[];
};

export type ReadRequest =
  | { readonly id: number; readonly type: "get"; readonly key: string }
  | ({ readonly id: number; readonly type: "list"; readonly prefix: string } & ListRange)
  /** What happened under `prefix` after `after`: as much as fits in one answer. */
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
  /** Writes are answered in their order; `bytes` holds their values. */
  | {
      readonly type: "requests";
      readonly writes: PackedWrites;
      readonly reads: readonly ReadRequest[];
      readonly bytes: ArrayBuffer;
    }
  | { readonly type: "close" };

export type PackedEvent = {
  readonly key: string;
  readonly revision: Revision;
  /** Absent: the key was deleted. */
  readonly value?: Span;
  readonly previous?: PackedValue;
};

export type FromWorker =
  | { readonly type: "opened"; readonly revision: Revision }
  | { readonly type: "openFailed"; readonly failure: StoreFailure }
  | { readonly type: "examined"; readonly examination: SqliteExamination }
  /** One commit: the outcomes of the oldest unanswered writes, in order. It is on disk. */
  | { readonly type: "committed"; readonly outcomes: PackedOutcomes; readonly bytes: ArrayBuffer }
  /** Nothing of the oldest `count` unanswered writes has been stored. */
  | { readonly type: "notCommitted"; readonly count: number; readonly failure: StoreFailure }
  /** Commits that were thought lost, found on disk: nobody waits for them any more. */
  | { readonly type: "recovered"; readonly events: readonly PackedEvent[]; readonly bytes: ArrayBuffer }
  | { readonly type: "entry"; readonly id: number; readonly entry?: PackedValue; readonly bytes: ArrayBuffer }
  /** Part of a list; the last part has `end`. */
  | {
      readonly type: "entries";
      readonly id: number;
      readonly entries: PackedEntries;
      readonly bytes: ArrayBuffer;
      readonly end?: { readonly revision: Revision; readonly remaining: number };
    }
  /** Everything after the requested revision and up to `upTo`, which is the newest one when `caughtUp`. */
  | {
      readonly type: "events";
      readonly id: number;
      readonly events: readonly PackedEvent[];
      readonly bytes: ArrayBuffer;
      readonly upTo: Revision;
      readonly caughtUp: boolean;
    }
  /** The whole database has been checked while it served; `fault` is "" where all is well. */
  | { readonly type: "checked"; readonly fault: string }
  | { readonly type: "compacted"; readonly id: number; readonly compacted: Revision }
  | { readonly type: "backingUp"; readonly id: number }
  /** The file holds the state at `revision`, and is closed. */
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
  /** Only looks at the file, and says what it found. */
  readonly examines?: true;
};
