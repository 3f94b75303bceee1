// A cgroup with a limit of memory, for a server that must live within it as in a container.

import { mkdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

export type MemoryCgroup = AsyncDisposable & {
  /** The beginning of the command line of a program inside. */
  readonly run: readonly string[];
  /** How often the kernel has killed a process in it for lack of memory. */
  kills(): Promise<number>;
};

type Version = { readonly root: string; readonly limit: string; readonly kills: string };

/** Version 1, then version 2. */
const VERSIONS: readonly Version[] = [
  { root: "/sys/fs/cgroup/memory", limit: "memory.limit_in_bytes", kills: "memory.oom_control" },
  { root: "/sys/fs/cgroup", limit: "memory.max", kills: "memory.events" },
];

/** Undefined where this process may make none. */
export async function createMemoryCgroup(limitBytes: number): Promise<MemoryCgroup | undefined> {
  for (const { root, limit, kills } of VERSIONS) {
    const path = join(root, `postern-test-${process.pid}`);
    try {
      await mkdir(path);
      // With version 1, the root of version 2 is a folder like any other, in which these would be files.
      await writeFile(join(path, limit), String(limitBytes), { flag: "r+" });
    } catch {
      await rmdir(path).catch(() => {});
      continue;
    }
    return {
      run: ["sh", "-c", `echo $$ > ${path}/cgroup.procs && exec "$@"`, "sh"],
      async kills() {
        const found = /^oom_kill (\d+)$/m.exec(await readFile(join(path, kills), "utf8"));
        return Number(found?.[1] ?? 0);
      },
      [Symbol.asyncDispose]: () => rmdir(path),
    };
  }
  return undefined;
}
