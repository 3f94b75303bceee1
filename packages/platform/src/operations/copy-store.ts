// Copies a store into another of any kind, and compares them.

import type { Storage } from "@postern/apiserver/storage/storage";
import { BackupError } from "../foundation/store/backup-error.ts";
import { type ContentSummary, createSummary, encodeEntry, sameContent } from "./entry-frames.ts";
import { fillStore } from "./fill-store.ts";
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
