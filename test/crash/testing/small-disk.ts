// A disk of a few megabytes, in memory, that fills up as any other.

import { spawnSync } from "node:child_process";

/** On `folder`, which is empty, until it is disposed. Undefined where this user may not mount anything; throws what else goes wrong. */
export function mountSmallDisk(folder: string, bytes: number): Disposable | undefined {
  const { status, stderr, error } = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${bytes}`, "tmpfs", folder]);
  if (status !== 0) {
    const reason = error?.message ?? stderr.toString();
    if (/permission|permitted|superuser|ENOENT/i.test(reason)) return undefined;
    throw new Error(`mount on ${folder}: ${reason}`);
  }
  return { [Symbol.dispose]: () => void spawnSync("umount", [folder]) };
}

export const NO_SMALL_DISK = "a small disk can only be made by root";
