// Which servers of this process use the store, and what each of them has in force: in memory that their threads share.

import type { Revision } from "@postern/apiserver/storage/storage";

/** Shared between threads. Cells of 8 bytes: a count of changes, then the revision of each server; 0 where it admits nobody. */
export type ServerTable = SharedArrayBuffer;

const CELL_BYTES = BigInt64Array.BYTES_PER_ELEMENT;
const CHANGES = 0;

export const createServerTable = (servers: number): ServerTable => new SharedArrayBuffer((servers + 1) * CELL_BYTES);

/** `revision` is in force on the server; 0: it has ended, or is not ready yet. */
export function publishServer(table: ServerTable, server: number, revision: Revision): void {
  Atomics.store(new BigInt64Array(table), server + 1, BigInt(revision));
  const changes = new Int32Array(table);
  Atomics.add(changes, CHANGES, 1);
  Atomics.notify(changes, CHANGES);
}

/** The revisions of all servers that admit clients, by their numbers. */
export function readServers(table: ServerTable): ReadonlyMap<number, Revision> {
  const cells = new BigInt64Array(table);
  const servers = new Map<number, Revision>();
  for (let at = 1; at < cells.length; at++) {
    const revision = Number(Atomics.load(cells, at));
    if (revision > 0) servers.set(at - 1, revision);
  }
  return servers;
}

/** From Node 16 on; the types of this library belong to a later edition of the language. */
type WaitAsync = (
  cells: Int32Array,
  index: number,
  value: number,
  timeoutMs: number,
) => { readonly value: string | Promise<string> };

export const countChanges = (table: ServerTable): number => Atomics.load(new Int32Array(table), CHANGES);

/** Resolves once there are other than `seen` changes, and after `timeoutMs` at the latest. */
export async function untilChange(table: ServerTable, seen: number, timeoutMs: number): Promise<void> {
  const { waitAsync } = Atomics as typeof Atomics & { readonly waitAsync: WaitAsync };
  await waitAsync(new Int32Array(table), CHANGES, seen, timeoutMs).value;
}
