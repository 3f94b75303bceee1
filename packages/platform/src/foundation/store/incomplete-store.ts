// The mark of a store that a restore or copy is filling: an interrupted one can be resumed, and servers refuse an incomplete store.

import type { Storage } from "@postern/apiserver/storage/storage";
import { ConfigurationError } from "../config/configuration-error.ts";
import { exists } from "../pki/private-file.ts";
import { BackupError } from "./backup-error.ts";

/** Outside the prefix of objects: no API shows it. */
export const INCOMPLETE_KEY = "/platform/filling";

/**
 * Marks an empty store, or finds the mark of an earlier try with the same `source`, which says what the store is filled with. Rejects
 * with BackupError where the store has anything else in it.
 */
export async function markIncomplete(storage: Storage, source: string): Promise<void> {
  const mark = await storage.get(INCOMPLETE_KEY);
  if (mark !== undefined) {
    if (Buffer.from(mark.value).toString() === source) return;
    throw new BackupError(
      "the store holds part of another restore or copy, which was interrupted: run that command again, or empty the store (for the usual prefix: etcdctl del --prefix /postern/), nothing was written",
    );
  }
  const { entries } = await storage.list("", { limit: 1, remaining: "any" });
  if (entries.length > 0) {
    throw new BackupError("the store is not empty: use a new one, or another --etcd-prefix; nothing was written");
  }
  await storage.create(INCOMPLETE_KEY, Buffer.from(source));
}

export async function markComplete(storage: Storage): Promise<void> {
  const mark = await storage.get(INCOMPLETE_KEY);
  if (mark !== undefined) await storage.delete(INCOMPLETE_KEY, mark.revision);
}

/** Rejects with ConfigurationError where the store is not whole. */
export async function assertComplete(storage: Storage): Promise<void> {
  if ((await storage.get(INCOMPLETE_KEY)) === undefined) return;
  throw new ConfigurationError(
    "the store holds part of a restore or copy that was interrupted: run the same postern restore or postern store copy again, which continues it, or empty the store",
  );
}

/** The database file that is being filled, until it gets its name. */
export const partialPathOf = (path: string): string => `${path}.partial`;

/**
 * Rejects with ConfigurationError if the database file is missing because a restore or copy is running or was interrupted: a new store in its place
 * would lose all keys and create another administrator.
 */
export async function assertNotInterrupted(path: string): Promise<void> {
  const partial = partialPathOf(path);
  if ((await exists(path)) || !(await exists(partial))) return;
  throw new ConfigurationError(
    `${path} does not exist yet: a restore or copy into it is running, or was interrupted: run the same postern restore or postern store copy again, or delete ${partial} to discard it`,
  );
}
