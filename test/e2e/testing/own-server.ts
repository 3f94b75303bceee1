// A server of a test file: in a directory of its own, which is removed with it.

import { join } from "node:path";
import { type PosternProcess, type PosternSurroundings, startPostern, temporaryDirectory } from "./postern-process.ts";

export type OwnServer = PosternProcess & {
  /** For files of the test; the server has its data in a folder of it. */
  readonly directory: string;
};

/** As `startPostern`, whose data directory it makes. `flags` may name files of the directory. */
export async function startOwnServer(
  flags: readonly string[] | ((directory: string) => readonly string[]) = [],
  surroundings?: PosternSurroundings,
): Promise<OwnServer> {
  const directory = await temporaryDirectory();
  const own = typeof flags === "function" ? flags(directory.path) : flags;
  const server = await startPostern(join(directory.path, "data"), own, surroundings);
  return {
    ...server,
    directory: directory.path,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
}
