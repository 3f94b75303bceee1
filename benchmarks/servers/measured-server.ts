// A server for the scenarios, and what the operating system knows about its process.

import { readdirSync, readFileSync } from "node:fs";
import type { Target } from "../load/order.ts";

export type MeasuredServer = {
  readonly target: Target;
  /** Absent if the server runs on another machine. */
  readonly pid?: number;
};

/**
 * Processor time of all threads so far in seconds, from the scheduler's nanosecond counters; undefined if
 * unknown. Ended threads are not included, but servers keep theirs.
 */
export function cpuSeconds({ pid }: MeasuredServer): number | undefined {
  if (pid === undefined) return undefined;
  const folder = `/proc/${pid}/task`;
  const nanoseconds = readdirSync(folder).map((task) =>
    Number(readFileSync(`${folder}/${task}/schedstat`, "utf8").split(" ")[0]),
  );
  return nanoseconds.reduce((sum, value) => sum + value, 0) / 1e9;
}

/** Resident memory in MB. */
export function residentMegabytes({ pid }: MeasuredServer): number | undefined {
  if (pid === undefined) return undefined;
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1_000;
}
