// Writes a backup: a header, the entries of one revision in encrypted chunks, and a summary.

import type { Clock, Random } from "@postern/apiserver/runtime/clock";
import type { Storage } from "@postern/apiserver/storage/storage";
import { createChunkSealer } from "../../foundation/encryption/sealed-chunks.ts";
import type { RecordPrefixes } from "../../foundation/store/record-prefixes.ts";
import { createSummary, encodeEntry } from "../entry-frames.ts";
import { type CountEntries, snapshotStore } from "../read-store.ts";
import { BACKUP_VERSION, type BackupHeader, encodeHeader, MAGIC } from "./backup-header.ts";
import { type BackupKey, checkOf, fileKeyOf, SALT_BYTES } from "./backup-key.ts";

export const FILE_CHECK = "file key";
export const SERVER_CHECK = "server key";
/** Before each chunk: its length in 4 bytes, and a byte that is 1 for the last one. */
export const CHUNK_HEAD_BYTES = 5;

/** Bytes of plain text; a larger entry has a chunk for itself. */
const CHUNK_BYTES = 1 << 20;

export type OpenBackup = {
  readonly header: BackupHeader;
  /** The file. May be read once. Throws BackupError, and what the store throws. */
  readonly bytes: AsyncIterable<Uint8Array>;
};

/** Settles with the first page of the store, so that a store that cannot be read is known before a byte is written. */
export async function openBackup(options: {
  readonly storage: Storage;
  readonly key: BackupKey;
  /** The key for backups of the server whose store it is. */
  readonly serverKey: Uint8Array;
  readonly prefixes: RecordPrefixes;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly onEntries?: CountEntries;
}): Promise<OpenBackup> {
  const { storage, key, serverKey, prefixes, clock, random, signal } = options;
  const takenAt = clock.now();
  const { revision, pages } = await snapshotStore(storage, signal);
  const salt = random.bytes(SALT_BYTES);
  const fileKey = fileKeyOf(key, salt);
  const header: BackupHeader = {
    version: BACKUP_VERSION,
    revision,
    takenAt,
    key: key.source,
    salt: Buffer.from(salt).toString("base64"),
    check: checkOf(fileKey, FILE_CHECK),
    serverCheck: checkOf(serverKey, SERVER_CHECK),
    prefixes,
  };
  return { header, bytes: write(encodeHeader(header), fileKey, pages, options.onEntries) };
}

async function* write(
  head: Buffer,
  fileKey: Uint8Array,
  pages: AsyncIterable<readonly { key: string; value: Uint8Array }[]>,
  onEntries: CountEntries = () => {},
) {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(head.length);
  yield Buffer.concat([MAGIC, length, head]);

  const sealer = createChunkSealer(fileKey, head);
  const framed = (chunk: Uint8Array, isLast: boolean): Uint8Array => {
    const sealed = sealer.seal(chunk, isLast);
    const chunkHead = Buffer.alloc(CHUNK_HEAD_BYTES);
    chunkHead.writeUInt32BE(sealed.length);
    chunkHead.writeUInt8(isLast ? 1 : 0, 4);
    return Buffer.concat([chunkHead, sealed]);
  };

  const summary = createSummary();
  let frames: Uint8Array[] = [];
  let bytes = 0;
  for await (const page of pages) {
    for (const entry of page) {
      const frame = encodeEntry(entry);
      summary.add(frame);
      if (bytes > 0 && bytes + frame.length > CHUNK_BYTES) {
        yield framed(Buffer.concat(frames), false);
        frames = [];
        bytes = 0;
      }
      frames.push(frame);
      bytes += frame.length;
    }
    onEntries(page.length);
  }
  if (bytes > 0) yield framed(Buffer.concat(frames), false);
  yield framed(Buffer.from(JSON.stringify(summary.finish())), true);
}
