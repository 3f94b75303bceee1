// Replaces the files of the previous build while processes may be running from it.

import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

export type BuiltFile = { readonly name: string; readonly contents: Uint8Array; readonly mode: number };

/** The files of the last build, one per line. */
const LIST = "files.txt";

/**
 * `entry` is replaced once everything that it loads exists, and is never missing. The files of the previous build stay until
 * the next one: running commands may still load some. All names but the entry's contain a hash of the content.
 */
export async function replaceBuild(folder: string, files: readonly BuiltFile[], entry: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const before = await readFile(join(folder, LIST), "utf8").catch(() => "");
  // As a whole or not at all, also if a build is interrupted or runs twice at the same time.
  const write = async ({ name, contents, mode }: BuiltFile): Promise<void> => {
    const partial = join(folder, `${name}.${randomUUID()}.partial`);
    await writeFile(partial, contents, { mode });
    await rename(partial, join(folder, name));
  };
  await Promise.all(files.filter(({ name }) => name !== entry).map(write));
  for (const file of files) if (file.name === entry) await write(file);

  const names = files.map(({ name }) => name);
  const kept = new Set([...names, ...before.split("\n"), LIST]);
  for (const name of await readdir(folder)) {
    if (!kept.has(name) && !name.endsWith(".partial")) await rm(join(folder, name), { force: true });
  }
  await write({ name: LIST, contents: Buffer.from(names.join("\n")), mode: 0o644 });
}
