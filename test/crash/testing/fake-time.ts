// Sets the time of day of a process, and of no other, with libfaketime: forwards and backwards, while it runs.

import { existsSync, readdirSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Where Debian has it, on any of its architectures. */
function library(): string | undefined {
  const root = "/usr/lib";
  return readdirSync(root)
    .map((name) => join(root, name, "faketime/libfaketime.so.1"))
    .find((path) => existsSync(path));
}

/** Undefined where it is installed; where it is not, the reason to skip, except on CI, where it has to be. */
export function whyNoFakeTime(): string | undefined {
  if (library() !== undefined || process.env["CI"] !== undefined) return undefined;
  return "libfaketime is not installed (apt-get install libfaketime)";
}

export type FakeTime = {
  /** For the process to be started with. */
  readonly env: Readonly<Record<string, string>>;
  /** The clock of the process is so many seconds ahead of the right one from now on. */
  set(aheadSeconds: number): Promise<void>;
};

export async function createFakeTime(folder: string): Promise<FakeTime> {
  const path = join(folder, "time-of-day");
  const set = async (aheadSeconds: number): Promise<void> => {
    // Whole at any moment.
    await writeFile(`${path}.next`, `${aheadSeconds < 0 ? "-" : "+"}${Math.abs(aheadSeconds)}s\n`);
    await rename(`${path}.next`, path);
  };
  await set(0);
  return {
    env: {
      LD_PRELOAD: library() ?? "",
      FAKETIME_TIMESTAMP_FILE: path,
      FAKETIME_NO_CACHE: "1",
      // Elapsed time is measured by the monotonic clock, which is never set.
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      DONT_FAKE_MONOTONIC: "1",
      FAKETIME_DONT_FAKE_STAT: "1",
      NO_FAKE_STAT: "1",
    },
    set,
  };
}
