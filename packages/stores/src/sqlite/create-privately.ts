// Makes the file of a database for this user alone, before SQLite makes it for everybody.

import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Leaves a file that is there alone. Only one that does not exist may be opened here: closing a descriptor of an open database would
 * drop this process's locks on it (https://www.sqlite.org/howtocorrupt.html section 2.2). Throws what the file system says.
 */
export function createPrivately(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
}
