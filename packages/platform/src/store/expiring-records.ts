// Records that no resource serves and that expire: their member `until` is in milliseconds since the epoch.

import type { ViewPrefix } from "@postern/apiserver/cache/follow-view";
import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createSweeper } from "@postern/apiserver/controllers/sweeper";
import type { Storage } from "@postern/apiserver/storage/storage";
import { RevisionConflictError } from "@postern/apiserver/storage/storage-errors";

/** Where the records are, and the store that they are written to. */
export type ExpiringRecords = ViewPrefix & { readonly storage: Storage };

const INTERVAL_MS = 60_000;

/** Deletes expired records once a minute, until it is disposed. */
export const createRecordReaper = (
  port: Pick<ControllerPort, "runtime" | "onError">,
  { view, prefix, storage }: ExpiringRecords,
): Controller =>
  createSweeper(port, {
    intervalMs: INTERVAL_MS,
    items: () => view.list(prefix),
    isOver: (record) => Number(record.decode()["until"] ?? 0) <= port.runtime.clock.now(),
    async remove({ key, revision }) {
      try {
        await storage.delete(key, revision);
      } catch (error) {
        if (!(error instanceof RevisionConflictError)) throw error;
      }
    },
    nameOf: ({ key }) => key.slice(prefix.length),
  });
