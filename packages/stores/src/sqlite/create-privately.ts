// Makes the file of a database for this user alone, before SQLite makes it for everybody.

import { closeSync, fsyncSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Leaves a file that is there alone. Only one that does not exist may be opened here: closing a descriptor of an open database would
 * drop this process's locks on it (https://www.sqlite.org/howtocorrupt.html section 2.2). Throws what the file system says.
 */
export function createPrivately(path: string): void {
  const folder = dirname(path);
  const first = mkdirSync(folder, { recursive: true, mode: 0o700 });
  // A new folder is on disk only once the one that it is in is. SQLite sees to the folder of the file.
  if (first !== undefined) for (const parent of parentsOf(folder, first)) syncFolder(parent);
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}

/** From that of `folder` up to that of `first`, which is `folder` or above it. */
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
