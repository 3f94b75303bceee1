// Writes a file of any size, and gives it its name only once it is complete and on disk.

import { randomUUID } from "node:crypto";
import { open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import {
  exists,
  publishNewFile,
  remedyForWrite,
  syncDirectory,
  systemErrorCode,
} from "../foundation/pki/private-file.ts";
import { BackupError } from "../foundation/store/backup-error.ts";

/** Readable by its owner alone. Resolves with its length in bytes; rejects with BackupError where it is there already. */
export async function writeNewFile(path: string, chunks: AsyncIterable<Uint8Array>): Promise<number> {
  if (await exists(path)) throw existing(path);
  // Concurrent writers of the same name have other partial files, and the first one to finish wins.
  const partial = `${path}.${randomUUID()}.partial`;
  try {
    let bytes = 0;
    const file = await open(partial, "wx", 0o600);
    try {
      for await (const chunk of chunks) {
        await file.writeFile(chunk);
        bytes += chunk.length;
      }
      await file.sync();
    } finally {
      await file.close();
    }
    await publishNewFile(partial, path);
    await syncDirectory(dirname(path));
    return bytes;
  } catch (error) {
    await rm(partial, { force: true });
    const code = systemErrorCode(error);
    if (code === "EEXIST") throw existing(path, error);
    if (code === undefined || !FILE_FAILURES.has(code)) throw error;
    throw new BackupError(`cannot write ${path} (${code}): ${remedyForWrite(code)}`, {
      cause: error,
    });
  }
}

const existing = (path: string, cause?: unknown): BackupError =>
  new BackupError(`${path} already exists and is not overwritten: use another file`, { cause });

/** Others come from what the chunks are read from. */
const FILE_FAILURES: ReadonlySet<string> = new Set([
  "ENOENT",
  "EACCES",
  "EPERM",
  "ENOSPC",
  "EROFS",
  "ENOTDIR",
  "EDQUOT",
]);
