// Measures, inside a server that is started with `--import` of this file, the turns of its event loop: the processor time of the
// main thread between two checks, which other load on the machine does not affect. Node 24 runs it directly.
// SIGUSR2 writes the result since the last one to $LOOP_METER_FILE, as a LoopReport.

import { renameSync, writeFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

/** Milliseconds of processor time. */
export type LoopReport = {
  readonly turns: number;
  readonly p99: number;
  /** The longest turns, longest first. */
  readonly longest: readonly number[];
  /** The number of turns longer than STALL_MS. */
  readonly stalls: number;
};

export const STALL_MS = 20;
const LOOK_MS = 1;
const KEPT = 10;

// Node 22 and later; missing in the types of Node 20.
type ThreadTimes = { threadCpuUsage?(): { readonly user: number; readonly system: number } };

const usedMs = (): number => {
  const { user, system } = (process as ThreadTimes).threadCpuUsage?.() ?? process.cpuUsage();
  return (user + system) / 1_000;
};

function measure(file: string): void {
  let turns: number[] = [];
  let before = usedMs();
  setInterval(() => {
    const used = usedMs();
    turns.push(used - before);
    before = used;
  }, LOOK_MS).unref();
  process.on("SIGUSR2", () => {
    const sorted = turns.sort((a, b) => b - a);
    const report: LoopReport = {
      turns: sorted.length,
      p99: sorted[Math.floor(sorted.length / 100)] ?? 0,
      longest: sorted.slice(0, KEPT),
      stalls: sorted.filter((each) => each > STALL_MS).length,
    };
    turns = [];
    // The file appears as a whole.
    writeFileSync(`${file}.part`, JSON.stringify(report));
    renameSync(`${file}.part`, file);
    before = usedMs();
  });
}

const { LOOP_METER_FILE: file } = process.env;
if (isMainThread && file !== undefined) measure(file);
