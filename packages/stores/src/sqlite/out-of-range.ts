// The answer to a read of a revision that is compacted or still to come.

import type { Revision } from "@postern/apiserver/storage/storage";
import type { ReadStep } from "./read-jobs.ts";
import type { RevisionTable } from "./revision-table.ts";

export function outOfRange(id: number, revision: Revision, table: RevisionTable): ReadStep {
  return {
    done: true,
    message: { type: "outOfRange", id, revision, oldest: table.compacted, newest: table.revision },
  };
}
