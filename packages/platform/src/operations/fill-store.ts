// Writes entries into a store that is empty, or has some of them from an earlier attempt.

import type { Storage } from "@postern/apiserver/storage/storage";
import { KeyExistsError, ValueTooLargeError } from "@postern/apiserver/storage/storage-errors";
import { BackupError } from "../foundation/store/backup-error.ts";
import type { BackupEntry } from "./entry-frames.ts";

/** Writes at once, which go into one commit of the store. */
const BATCH = 256;

/** Rejects with BackupError where something else is in the place of an entry, and where one is larger than the store takes. */
export async function fillStore(storage: Storage, entries: readonly BackupEntry[]): Promise<void> {
  for (let from = 0; from < entries.length; from += BATCH) {
    const batch = entries.slice(from, from + BATCH);
    await Promise.all(batch.map((entry) => fillOne(storage, entry)));
  }
}

async function fillOne(storage: Storage, { key, value }: BackupEntry): Promise<void> {
  try {
    await storage.create(key, value);
  } catch (error) {
    if (error instanceof ValueTooLargeError) {
      throw new BackupError(
        `${key} is too large for this store (${error.message}): make the object smaller in the source, or use a database file, which has no such limit`,
        { cause: error },
      );
    }
    if (!(error instanceof KeyExistsError)) throw error;
    const current = error.current ?? (await storage.get(key));
    if (current !== undefined && Buffer.compare(current.value, value) === 0) return;
    throw new BackupError(`${key} is already in the store, with other content: empty the store and try again`, {
      cause: error,
    });
  }
}
