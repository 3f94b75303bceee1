// Reads a snapshot of a store page by page, during writes.

import type { ListResult, Revision, Storage, StoredEntry } from "@postern/apiserver/storage/storage";
import { RevisionCompactedError } from "@postern/apiserver/storage/storage-errors";
import { BackupError } from "../foundation/store/backup-error.ts";
import { INCOMPLETE_KEY } from "../foundation/store/incomplete-store.ts";
import { type ContentSummary, createSummary, encodeEntry } from "./entry-frames.ts";

export type StoreSnapshot = {
  readonly revision: Revision;
  /** In the order of their keys. Can be read once. Throws BackupError if the store compacts the revision meanwhile. */
  readonly pages: AsyncIterable<readonly StoredEntry[]>;
};

const PAGE_SIZE = 500;

export async function snapshotStore(storage: Storage, signal: AbortSignal): Promise<StoreSnapshot> {
  const first = await storage.list("", { limit: PAGE_SIZE, remaining: "any", signal });
  return { revision: first.revision, pages: pagesFrom(storage, first, signal) };
}

/** Whether there is nothing in it, or what an earlier try with the same content has left. */
export const canBeFilled = async (storage: Storage): Promise<boolean> =>
  (await storage.get(INCOMPLETE_KEY)) !== undefined ||
  (await storage.list("", { limit: 1, remaining: "any" })).entries.length === 0;

/** Told how many more entries are done. */
export type CountEntries = (count: number) => void;

export const countEntries = async (storage: Storage): Promise<number> => {
  const { entries, remaining } = await storage.list("", { limit: 1 });
  return entries.length + remaining;
};

export async function summarizeStore(
  storage: Storage,
  signal: AbortSignal,
  onEntries: CountEntries = () => {},
): Promise<ContentSummary> {
  const summary = createSummary();
  const { pages } = await snapshotStore(storage, signal);
  for await (const page of pages) {
    for (const entry of page) if (entry.key !== INCOMPLETE_KEY) summary.add(encodeEntry(entry));
    onEntries(page.length);
  }
  return summary.finish();
}

async function* pagesFrom(storage: Storage, first: ListResult, signal: AbortSignal) {
  for (let page = first; ; ) {
    if (page.entries.length > 0) yield page.entries;
    const last = page.entries.at(-1);
    if (last === undefined || page.remaining === 0) return;
    page = await listAfter(storage, last.key, first.revision, signal);
  }
}

async function listAfter(storage: Storage, key: string, revision: Revision, signal: AbortSignal): Promise<ListResult> {
  try {
    return await storage.list("", { limit: PAGE_SIZE, startAfter: key, revision, remaining: "any", signal });
  } catch (error) {
    if (!(error instanceof RevisionCompactedError)) throw error;
    throw new BackupError(
      `the store forgot revision ${revision} while it was read: the backup is received too slowly; try again`,
      { cause: error },
    );
  }
}
