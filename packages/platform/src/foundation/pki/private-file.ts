// Files with secrets: readable only by their owner, written atomically.

import { randomUUID } from "node:crypto";
import { link, mkdir, open, readFile, rename, rm, stat, unlink } from "node:fs/promises";
import { dirname } from "node:path";
import { ConfigurationError } from "../config/configuration-error.ts";

const OWNER_ONLY_FILE = 0o600;
const OWNER_ONLY_DIRECTORY = 0o700;

/** The error code of a failed system call; undefined for any other error. */
export const systemErrorCode = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;

/**
 * The text of a file; undefined when there is none. `what` names it in the ConfigurationError that is thrown when it is
 * there but cannot be read, such as "the key of the certificate authority".
 */
export async function readFileIfPresent(path: string, what: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === "ENOENT") return undefined;
    throw new ConfigurationError(
      `cannot read ${what} in ${path} (${code ?? "unknown error"}): make the file readable for the user of the server`,
      { cause: error },
    );
  }
}

/** The advice for a write that failed with this code of the system. */
export function remedyForWrite(code: string): string {
  switch (code) {
    case "ENOSPC":
      return "the disk is full: free space, or make it larger";
    case "EDQUOT":
      return "the quota of the disk is used up: free space, or raise it";
    case "EROFS":
      return "the file system is read-only: mount it for writing";
    case "EACCES":
    case "EPERM":
      return "check the directory's owner and permissions";
    default:
      return "check the directory and its disk";
  }
}

/** Whether the failure has another cause than the rights of this user. */
export const isAboutSpace = (code: string): boolean => ["ENOSPC", "EDQUOT", "EROFS"].includes(code);

/** Makes a directory and its parents, open to the owner only where it makes them. */
export async function ensurePrivateDirectory(path: string): Promise<void> {
  try {
    await makeDirectory(path);
  } catch (error) {
    const code = systemErrorCode(error) ?? "unknown error";
    const remedy = isAboutSpace(code)
      ? remedyForWrite(code)
      : "choose a directory that the user of the server may write to";
    throw new ConfigurationError(`cannot create the directory ${path} (${code}): ${remedy}`, { cause: error });
  }
}

/** The recursion of `mkdir` never ends in Node 20 where a parent is there and still nothing can be made in it. */
async function makeDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: OWNER_ONLY_DIRECTORY });
    await syncDirectory(dirname(path));
  } catch (error) {
    const code = systemErrorCode(error);
    if (code === "EEXIST" && (await stat(path)).isDirectory()) return;
    const parent = dirname(path);
    if (code !== "ENOENT" || parent === path || (await exists(parent))) throw error;
    await makeDirectory(parent);
    await makeDirectory(path);
  }
}

/** Writes a file that must not exist yet. A crash leaves either nothing or all of it; a file that is there stays. */
export async function createPrivateFile(path: string, text: string): Promise<void> {
  await writeThrough(path, text, (temporary) => publishNewFile(temporary, path));
}

/** Gives a file its name, which no other must have. Rejects with what the file system says, EEXIST where there is one. */
export async function publishNewFile(temporary: string, path: string): Promise<void> {
  try {
    await link(temporary, path);
    await unlink(temporary);
  } catch (error) {
    // Some file systems of containers have no hard links. There the check and the rename are two steps.
    if (systemErrorCode(error) === "EEXIST" || (await exists(path))) throw error;
    await rename(temporary, path);
  }
}

/** Writes a file in place of one that may be there. A crash leaves either the old one or the new one. */
export async function replacePrivateFile(path: string, text: string): Promise<void> {
  await writeThrough(path, text, (temporary) => rename(temporary, path));
}

async function writeThrough(path: string, text: string, publish: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    const file = await open(temporary, "wx", OWNER_ONLY_FILE);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await publish(temporary);
    await syncDirectory(dirname(path));
  } catch (error) {
    await rm(temporary, { force: true });
    const code = systemErrorCode(error) ?? "unknown error";
    const remedy = code === "EEXIST" ? "it already exists and is not overwritten" : remedyForWrite(code);
    throw new ConfigurationError(`cannot write ${path} (${code}): ${remedy}`, { cause: error });
  }
}

/** A new name is on disk only once its directory is. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

export async function exists(path: string): Promise<boolean> {
  try {
    await (await open(path, "r")).close();
    return true;
  } catch (error) {
    return systemErrorCode(error) !== "ENOENT";
  }
}
