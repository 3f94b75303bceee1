// Copies a store into another of any kind, and compares them.

import type { Storage } from "@postern/apiserver/storage/storage";
import { KeyExistsError, ValueTooLargeError } from "@postern/apiserver/storage/storage-errors";
import { BackupError } from "../foundation/store/backup-error.ts";
import { type BackupEntry, type ContentSummary, createSummary, encodeEntry, sameContent } from "./entry-frames.ts";
import { entryCounter, type ReportProgress } from "./progress.ts";
import { canBeFilled, countEntries, snapshotStore, summarizeStore } from "./read-store.ts";

/** Resolves with what both hold. Rejects with BackupError where `to` is not empty, or does not end up with the same. */
export async function copyStore(
  from: Storage,
  to: Storage,
  signal: AbortSignal,
  onProgress: ReportProgress = () => {},
): Promise<ContentSummary> {
  if (!(await canBeFilled(to))) {
    throw new BackupError("the store of --to is not empty: use a new one; nothing was written");
  }
  const total = await countEntries(from);
  const [copying, comparing] = [
    entryCounter("copying", total, onProgress),
    entryCounter("comparing", total, onProgress),
  ];
  const summary = createSummary();
  const { pages } = await snapshotStore(from, signal);
  for await (const page of pages) {
    signal.throwIfAborted();
    await fillStore(to, page);
    for (const entry of page) summary.add(encodeEntry(entry));
    copying(page.length);
  }
  const copied = summary.finish();
  const found = await summarizeStore(to, signal, comparing);
  if (!sameContent(copied, found)) {
    throw new BackupError(
      `the copy differs: ${copied.entries} entries were read and ${found.entries} are there (SHA-256 ${copied.sha256} and ${found.sha256}): empty the store of --to and try again`,
    );
  }
  return copied;
}

// Writes entries into a store that has none of them, or some from an earlier try.

/** So many at once go into one commit of the store. */
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
