// Encodes entries of a store: lengths of key and value, then both.

import { createHash } from "node:crypto";
import type { StoredEntry } from "@postern/apiserver/storage/storage";

/** Part of an entry that outlives its store: revisions belong to one store. */
export type BackupEntry = Pick<StoredEntry, "key" | "value">;

const LENGTH_BYTES = 4;

export function encodeEntry({ key, value }: BackupEntry): Uint8Array {
  const name = Buffer.from(key);
  const lengths = Buffer.alloc(2 * LENGTH_BYTES);
  lengths.writeUInt32BE(name.length, 0);
  lengths.writeUInt32BE(value.length, LENGTH_BYTES);
  return Buffer.concat([lengths, name, value]);
}

/** The entries of whole frames, whose bytes are known to be those that were written. */
export function decodeEntries(bytes: Uint8Array): readonly BackupEntry[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const entries: BackupEntry[] = [];
  for (let at = 0; at < buffer.length; ) {
    const keyAt = at + 2 * LENGTH_BYTES;
    const valueAt = keyAt + buffer.readUInt32BE(at);
    const end = valueAt + buffer.readUInt32BE(at + LENGTH_BYTES);
    entries.push({ key: buffer.toString("utf8", keyAt, valueAt), value: buffer.subarray(valueAt, end) });
    at = end;
  }
  return entries;
}

/** How many entries there were, and the SHA-256 of all of them in their order. */
export type ContentSummary = { readonly entries: number; readonly sha256: string };

export const sameContent = (a: ContentSummary, b: ContentSummary): boolean =>
  a.entries === b.entries && a.sha256 === b.sha256;

/** Takes the frames of entries, one at a time. */
export function createSummary() {
  const hash = createHash("sha256");
  let entries = 0;
  return {
    add(frame: Uint8Array): void {
      entries++;
      hash.update(frame);
    },
    /** Once, when all entries are in. */
    finish: (): ContentSummary => ({ entries, sha256: hash.digest("hex") }),
  };
}
