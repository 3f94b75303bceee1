// Runs in every worker beside each file of tests (vitest's setupFiles): what the file took of the processor, and what the programs took that it
// started and waited for. Times on the clock say more of what else the machine was doing.

import { readFileSync } from "node:fs";
import { afterAll } from "vitest";

declare module "vitest" {
  // Vitest's own place for what a worker says of a file.
  interface TaskMeta {
    /** Seconds of all processors: of the worker itself, and of what it started. */
    processorSeconds?: number;
  }
}

/** What the kernel counts in; it has been the same on all machines for decades (sysconf(_SC_CLK_TCK)). */
const TICKS_PER_SECOND = 100;
/** Of what follows the name of the program in /proc/self/stat: utime, stime, cutime, cstime. */
const TIMES = { from: 11, to: 15 };

/** The seconds of this process and of its ended children; without the children where there is no /proc. */
function processorSeconds(): number {
  try {
    const stat = readFileSync("/proc/self/stat", "utf8");
    const times = stat
      .slice(stat.lastIndexOf(")") + 2)
      .split(" ")
      .slice(TIMES.from, TIMES.to);
    return times.reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_SECOND;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  }
}

/** Before the file is loaded: its modules are part of what it takes. */
const before = processorSeconds();
// biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern which fixtures a hook needs, and takes nothing else there.
afterAll(({}, file) => {
  file.meta.processorSeconds = processorSeconds() - before;
});
