// Runs in every worker beside each test file (vitest's setupFiles): the processor time of the file, and of the programs that it
// started and waited for. Wall-clock times depend on what else the machine is doing.

import { readFileSync } from "node:fs";
import { afterAll } from "vitest";

declare module "vitest" {
  // Vitest's own place for data of a worker about a file.
  interface TaskMeta {
    /** Processor seconds of the worker itself, and of the programs that it started. */
    processorSeconds?: number;
  }
}

/** The unit of the kernel's counters, the same on all machines for decades (sysconf(_SC_CLK_TCK)). */
const TICKS_PER_SECOND = 100;
/** Fields after the program name in /proc/self/stat: utime, stime, cutime, cstime. */
const TIMES = { from: 11, to: 15 };

/** The seconds of this process and of its ended children; without the children if there is no /proc. */
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

/** Before the file is loaded, because loading counts. */
const before = processorSeconds();
// biome-ignore lint/correctness/noEmptyPattern: vitest reads from the pattern which fixtures a hook needs, and takes nothing else there.
afterAll(({}, file) => {
  file.meta.processorSeconds = processorSeconds() - before;
});
