// Replaces a file as a whole or not at all, also with two concurrent builds.

import { randomUUID } from "node:crypto";
import { rename, writeFile } from "node:fs/promises";

export async function replaceFile(path: string, text: string): Promise<void> {
  const partial = `${path}.${randomUUID()}.partial`;
  await writeFile(partial, text);
  await rename(partial, path);
}
