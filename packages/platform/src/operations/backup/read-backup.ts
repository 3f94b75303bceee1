// Reads a backup, and returns only authenticated data.

import { createReadStream } from "node:fs";
import { createChunkOpener } from "../../foundation/encryption/sealed-chunks.ts";
import { systemErrorCode } from "../../foundation/pki/private-file.ts";
import { BackupError } from "../../foundation/store/backup-error.ts";
import { type BackupEntry, type ContentSummary, createSummary, decodeEntries, encodeEntry } from "../entry-frames.ts";
import type { CountEntries } from "../read-store.ts";
import { type BackupHeader, damagedHeader, decodeHeader, MAGIC, MAX_HEADER_BYTES } from "./backup-header.ts";
import { type BackupKey, checkOf, fileKeyOf } from "./backup-key.ts";
import { type ByteReader, createByteReader } from "./byte-reader.ts";
import { CHUNK_HEAD_BYTES, FILE_CHECK } from "./write-backup.ts";

/** No store takes a value of this size. */
const MAX_CHUNK_BYTES = 256 << 20;

export const readBackupHeader = async (path: string): Promise<BackupHeader> =>
  (await readHead(createByteReader(fileBytes(path)))).header;

/** Reads the file to its end. Throws BackupError where it is not whole, or the key is not its key. */
export async function verifyBackup(
  path: string,
  key: BackupKey,
  onEntries: CountEntries = () => {},
): Promise<ContentSummary> {
  let summary: ContentSummary | undefined;
  for await (const part of readBackup(path, key)) {
    summary = part.summary ?? summary;
    if (part.entries.length > 0) onEntries(part.entries.length);
  }
  if (summary === undefined) throw damaged();
  return summary;
}

/** Entries in the order of their keys, then one part with the summary, which has been compared with them. */
export async function* readBackup(
  path: string,
  key: BackupKey,
): AsyncGenerator<{ readonly entries: readonly BackupEntry[]; readonly summary?: ContentSummary }> {
  const reader = createByteReader(fileBytes(path));
  const { header, head } = await readHead(reader);
  const fileKey = fileKeyOf(key, Buffer.from(header.salt, "base64"));
  if (checkOf(fileKey, FILE_CHECK) !== header.check) {
    throw new BackupError(
      header.key.from === "server"
        ? "the backup is encrypted with another server key: use the server.key of its server"
        : "the backup is encrypted with another passphrase: correct --backup-key-file",
    );
  }
  const opener = createChunkOpener(fileKey, head);
  const summary = createSummary();
  for (;;) {
    const { sealed, isLast } = await readChunk(reader);
    const chunk = opener.open(sealed, isLast);
    if (chunk === undefined) throw damaged();
    if (isLast) {
      const found = summary.finish();
      if (Buffer.from(chunk).toString("utf8") !== JSON.stringify(found)) throw damaged();
      if ((await reader.read(1)).length > 0) throw damaged();
      yield { entries: [], summary: found };
      return;
    }
    const entries = decodeEntries(chunk);
    for (const entry of entries) summary.add(encodeEntry(entry));
    yield { entries };
  }
}

const damaged = (): BackupError =>
  new BackupError("the backup is damaged: its content has changed; nothing was restored, use another copy");

const truncated = (): BackupError =>
  new BackupError("the backup is incomplete: its end is missing; nothing was restored, use another copy");

async function readHead(reader: ByteReader): Promise<{ readonly header: BackupHeader; readonly head: Uint8Array }> {
  const start = Buffer.from(await reader.read(MAGIC.length + 4));
  if (start.length < MAGIC.length + 4 || !start.subarray(0, MAGIC.length).equals(MAGIC)) throw damagedHeader();
  const length = start.readUInt32BE(MAGIC.length);
  if (length > MAX_HEADER_BYTES) throw damagedHeader();
  const head = await reader.read(length);
  if (head.length < length) throw truncated();
  return { header: decodeHeader(head), head };
}

async function readChunk(reader: ByteReader): Promise<{ readonly sealed: Uint8Array; readonly isLast: boolean }> {
  const head = Buffer.from(await reader.read(CHUNK_HEAD_BYTES));
  if (head.length < CHUNK_HEAD_BYTES) throw truncated();
  const length = head.readUInt32BE(0);
  const place = head.readUInt8(4);
  if (length > MAX_CHUNK_BYTES || place > 1) throw damaged();
  const sealed = await reader.read(length);
  if (sealed.length < length) throw truncated();
  return { sealed, isLast: place === 1 };
}

async function* fileBytes(path: string): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) yield chunk;
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === undefined) throw error;
    throw new BackupError(`${path} cannot be read (${code}): correct --in`, { cause: error });
  }
}
