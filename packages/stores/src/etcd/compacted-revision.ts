// Finds out up to where etcd has forgotten its history, which it tells watches only.

import type { Revision } from "@postern/apiserver/storage/storage";
import { RevisionCompactedError } from "@postern/apiserver/storage/storage-errors";
import type { EtcdConnection } from "./etcd-connection.ts";
import type { EtcdKeys } from "./etcd-keys.ts";
import { EtcdWatchStream } from "./etcd-watch-stream.ts";

/** For after etcd has said that something is compacted. `known` is the answer when it does not say how much. */
export function findCompactedRevision(
  connection: EtcdConnection,
  { tick: key }: EtcdKeys,
  known: Revision,
): Promise<Revision> {
  return new Promise((resolve) => {
    new EtcdWatchStream(connection, {
      // Nothing at all lies in this range.
      range: { key, range_end: key },
      startRevision: 1,
      receive: () => {},
      lost: (error) => resolve(error instanceof RevisionCompactedError ? error.oldest : known),
    });
  });
}
