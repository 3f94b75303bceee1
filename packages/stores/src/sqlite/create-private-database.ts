// Creates the database file readable by its owner only, before SQLite would create it with default permissions.

import { closeSync, fsyncSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Does not touch an existing file. Only a missing file may be opened here: closing a descriptor of an open database would
 * drop this process's locks on it (https://www.sqlite.org/howtocorrupt.html section 2.2). Throws the error of the file system.
 */
export function createPrivateDatabase(path: string): void {
  const folder = dirname(path);
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 });
  // A new folder is durable only once its parent folder was synced. SQLite syncs the folder of the file.
  if (first !== undefined) for (const parent of parentsOf(folder, first)) syncFolder(parent);
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}

/** The folders from the parent of `folder` up to that of `first`, which is `folder` or above it. */
function* parentsOf(folder: string, first: string): Generator<string> {
  for (let made = folder; ; made = dirname(made)) {
    yield dirname(made);
    if (made === first || dirname(made) === made) return;
  }
}

function syncFolder(path: string): void {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
