// The result of one step of a read, which is small enough for commits to run in between.

import type { Revision } from "@postern/apiserver/storage/storage";
import type { RevisionTable } from "./revision-table.ts";
import type { FromWorker } from "./worker-protocol.ts";

export type ReadStep = { readonly message: FromWorker; readonly done: boolean };

export type ReadJob = {
  readonly id: number;
  /** Returns about `byteLimit` bytes at most. Throws the errors of the database. */
  step(table: RevisionTable, byteLimit: number): ReadStep;
  /** Releases its resources; no step follows. */
  end?(): void;
};

/** The response to a read at a compacted or future revision. */
export function outOfRange(id: number, revision: Revision, table: RevisionTable): ReadStep {
  return {
    done: true,
    message: { type: "outOfRange", id, revision, oldest: table.compacted, newest: table.revision },
  };
}
