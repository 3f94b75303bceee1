// One step of a read, which is small enough for commits to go in between.

import type { Revision } from "@postern/apiserver/storage/storage";
import type { RevisionTable } from "./revision-table.ts";
import type { FromWorker } from "./worker-protocol.ts";

export type ReadStep = { readonly message: FromWorker; readonly done: boolean };

export type ReadJob = {
  readonly id: number;
  /** Produces about `byteLimit` bytes at most. Throws what the database throws. */
  step(table: RevisionTable, byteLimit: number): ReadStep;
  /** Lets go of what it holds: no step follows. */
  end?(): void;
};

/** The answer to a read of a revision that is compacted or still to come. */
export function outOfRange(id: number, revision: Revision, table: RevisionTable): ReadStep {
  return {
    done: true,
    message: { type: "outOfRange", id, revision, oldest: table.compacted, newest: table.revision },
  };
}
