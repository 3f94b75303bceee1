// A server as the scenarios see it, and what the operating system knows about its process.

import { readFileSync } from "node:fs";
import type { Target } from "../load/order.ts";

export type MeasuredServer = {
  readonly target: Target;
  /** Absent where the server runs on another machine. */
  readonly pid?: number;
};

/** What Linux counts processor time in, on every machine that Node runs on. */
const TICKS_PER_SECOND = 100;

/** Processor time of all threads so far, in seconds; undefined where it cannot be known. */
export function cpuSeconds({ pid }: MeasuredServer): number | undefined {
  if (pid === undefined) return undefined;
  // The second field is the command in parentheses, which may hold spaces.
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Resident memory in MB. */
export function residentMegabytes({ pid }: MeasuredServer): number | undefined {
  if (pid === undefined) return undefined;
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1_000;
}
