// Makes a directory and the missing ones above it. The recursion of `mkdir` never ends in Node 20 where a parent is there and still nothing can be made
// in it, such as in /proc.

import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** `mode` is that of every directory that it makes. Throws the error of the file system. */
export async function makeDirectory(path: string, mode = 0o777): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EEXIST" && (await stat(path)).isDirectory()) return;
    const parent = dirname(path);
    if (code !== "ENOENT" || parent === path || (await exists(parent))) throw error;
    await makeDirectory(parent, mode);
    await makeDirectory(path, mode);
  }
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
