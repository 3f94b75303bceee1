// Makes a file appear under its name only when it is complete and on disk.

import { access, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * `write` fills a new empty file, readable by the owner only, which is then renamed to `path`. Rejects with EEXIST if `path`
 * exists, else with the error of the file system or of `write`, and leaves nothing behind.
 */
export async function writeWhole<Result>(path: string, write: (partial: string) => Promise<Result>): Promise<Result> {
  if (await exists(path)) throw Object.assign(new Error(`${path} exists already`), { code: "EEXIST" });
  const partial = `${path}.partial`;
  await rm(partial, { force: true });
  await (await open(partial, "wx", 0o600)).close();
  try {
    const result = await write(partial);
    await sync(partial);
    await rename(partial, path);
    await sync(dirname(path));
    return result;
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
