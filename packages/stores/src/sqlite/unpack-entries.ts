// Converts the entries and events of the database thread into those of the storage port.

import type { StorageEvent, StoredEntry } from "@postern/apiserver/storage/storage";
import { unpack } from "./byte-packer.ts";
import type { WriteOutcome } from "./packed-writes.ts";
import type { Write } from "./revision-table.ts";
import type { PackedEntries, PackedEvent, PackedValue } from "./worker-protocol.ts";

export function unpackEntry(bytes: ArrayBuffer, key: string, packed: PackedValue): StoredEntry {
  return { key, value: unpack(bytes, packed), revision: packed.revision };
}

export function unpackEvent(bytes: ArrayBuffer, { key, revision, value, previous }: PackedEvent): StorageEvent {
  const before = previous && unpackEntry(bytes, key, previous);
  if (value !== undefined) {
    return { type: "put", entry: { key, value: unpack(bytes, value), revision }, previous: before };
  }
  // A deletion always replaces an entry.
  return { type: "delete", key, revision, previous: before ?? { key, value: new Uint8Array(), revision } };
}

/** Appends columns to `target`. */
export function unpackEntries(
  bytes: ArrayBuffer,
  { keys, revisions, lengths }: PackedEntries,
  target: StoredEntry[],
): void {
  let start = 0;
  for (let index = 0; index < keys.length; index++) {
    // The columns have the same length.
    const [key = "", revision = 0, length = 0] = [keys[index], revisions[index], lengths[index]];
    target.push({ key, value: unpack(bytes, { start, length }), revision });
    start += length;
  }
}

/** The event of a write of this process that the thread has committed. */
export function eventOf(
  { key, value, content }: Pick<Write, "key" | "value"> & { readonly content: unknown },
  { revision, before }: WriteOutcome & { readonly type: "written" },
): StorageEvent {
  const previous = before && { key, ...before };
  if (value !== undefined) return { type: "put", entry: { key, value, revision }, previous, content };
  // Only existing keys can be deleted.
  return { type: "delete", key, revision, previous: previous ?? { key, value: new Uint8Array(), revision } };
}
