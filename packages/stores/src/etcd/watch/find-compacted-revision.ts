// Finds the compacted revision of etcd, which only watches report.

import type { Revision } from "@postern/apiserver/storage/storage";
import { RevisionCompactedError } from "@postern/apiserver/storage/storage-errors";
import type { EtcdConnection } from "../etcd-connection.ts";
import type { EtcdKeys } from "../etcd-keys.ts";
import { EtcdWatchStream } from "./etcd-watch-stream.ts";

/** Called after etcd reported a compaction. Returns `known` if etcd does not say how far it went. */
export function findCompactedRevision(
  connection: EtcdConnection,
  { tick: key }: EtcdKeys,
  known: Revision,
): Promise<Revision> {
  return new Promise((resolve) => {
    new EtcdWatchStream(connection, {
      // There are no keys in this range.
      range: { key, range_end: key },
      startRevision: 1,
      receive: () => {},
      lost: (error) => resolve(error instanceof RevisionCompactedError ? error.oldest : known),
    });
  });
}
