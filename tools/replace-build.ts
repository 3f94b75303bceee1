// Puts the files of a build in the place of those of the build before, under the feet of whoever runs it.

import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

export type BuiltFile = { readonly name: string; readonly contents: Uint8Array; readonly mode: number };

/** Which files the last build is made of, one on each line. */
const LIST = "files.txt";

/**
 * `entry` begins to be the new one once all that it loads is there, and at no moment is it missing. The files of the build before stay until
 * the next one: a command that has begun with them may still load some. All but the entry have names that tell their content.
 */
export async function replaceBuild(folder: string, files: readonly BuiltFile[], entry: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const before = await readFile(join(folder, LIST), "utf8").catch(() => "");
  // Whole or not at all, also where a build is interrupted, or runs twice at the same time.
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
