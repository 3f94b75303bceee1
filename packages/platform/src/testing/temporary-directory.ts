// Directories of servers under test: gone when the test is over, unless the whole test run looks through them at its end.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Environment variable by which a test run says that it removes the directories itself. */
export const KEEP_FILES = "TEST_RUN_KEEPS_FILES";

export type TemporaryDirectory = AsyncDisposable & { readonly path: string };

export async function temporaryDirectory(prefix = "postern-"): Promise<TemporaryDirectory> {
  const path = await mkdtemp(join(tmpdir(), prefix));
  return {
    path,
    async [Symbol.asyncDispose]() {
      if (process.env[KEEP_FILES] === undefined) await rm(path, { recursive: true, force: true });
    },
  };
}
