// The servers of one process on one SQLite store, each in a thread. After a write that must apply everywhere, a server waits until each of the others has
// published a revision that is as new, or has ended.

import type { Replicas, ReplicasDeps } from "@postern/apiserver/storage/replicas";
import type { Revision } from "@postern/apiserver/storage/storage";
import { countChanges, publishServer, readServers, type ServerTable, untilChange } from "./server-table.ts";

export type SqliteReplicasDeps = ReplicasDeps & {
  readonly table: ServerTable;
  /** The place of this server in the table. */
  readonly server: number;
  /** The newest revision on disk. */
  readonly newest: () => Revision;
};

/** Looks again after this time, in milliseconds, should a change not wake it. */
const LOOK_AGAIN_MS = 250;
const RETRY_MS = 50;

export function createSqliteReplicas(deps: SqliteReplicasDeps): Replicas {
  const { table, server, newest, waitFor, refresh, revision } = deps;
  let isFresh = false;
  let isStopping = false;
  const listeners = new Set<() => void>();
  let settleEntered = (): void => {};
  const entered = new Promise<void>((resolve) => {
    settleEntered = resolve;
  });

  async function enter(): Promise<void> {
    await refresh();
    publishServer(table, server, revision());
    // Until a moment ago no writer saw this server, and none has waited for it.
    await refresh();
    isFresh = !isStopping;
    settleEntered();
  }

  async function follow(): Promise<void> {
    while (!isStopping) {
      const begun = performance.now();
      try {
        if (!isFresh) await enter();
        const shown = revision();
        publishServer(table, server, shown);
        await waitFor(shown + 1);
      } catch {
        // Nothing was written for long, or the store fails: others wait meanwhile.
        if (!isStopping && performance.now() - begun < RETRY_MS) await pause(RETRY_MS);
      }
    }
  }

  void follow();

  return {
    entered,
    isFresh: () => isFresh,
    onStale(listener) {
      const own = (): void => {
        listeners.delete(own);
        listener();
      };
      listeners.add(own);
      if (!isFresh) queueMicrotask(() => listeners.has(own) && own());
      return { [Symbol.dispose]: () => void listeners.delete(own) };
    },
    async allKnow() {
      const asked = newest();
      for (;;) {
        const seen = countChanges(table);
        const behind = [...readServers(table)].some(([other, shown]) => other !== server && shown < asked);
        // Without a limit of time: a server that stands still admits nobody, and one that ended is not in the table.
        if (!behind) return;
        await untilChange(table, seen, LOOK_AGAIN_MS);
      }
    },
    count: async () => new Set([...readServers(table).keys(), server]).size,
    async [Symbol.asyncDispose]() {
      isStopping = true;
      isFresh = false;
      for (const listener of [...listeners]) listener();
      publishServer(table, server, 0);
    },
  };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms).unref());
