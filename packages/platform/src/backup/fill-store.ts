// Writes entries into a store that has none of them.

import type { Storage } from "@postern/apiserver/storage/storage";
import type { BackupEntry } from "./entry-frames.ts";

/** So many at once go into one commit of the store. */
const BATCH = 256;

export async function fillStore(storage: Storage, entries: readonly BackupEntry[]): Promise<void> {
  for (let from = 0; from < entries.length; from += BATCH) {
    const batch = entries.slice(from, from + BATCH);
    await Promise.all(batch.map(({ key, value }) => storage.create(key, value)));
  }
}
