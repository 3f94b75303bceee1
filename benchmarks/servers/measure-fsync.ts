// The speed of the disk: append a page, sync, repeat.

import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { latenciesOf } from "../load/latencies.ts";
import type { LoadReport } from "../load/order.ts";

const PAGE_BYTES = 4_096;

/** Milliseconds of each append, for `seconds`; `startedAt` by `performance.now()`. */
export function syncPages(path: string, seconds: number): { readonly startedAt: number; readonly latencies: number[] } {
  const file = openSync(path, "w");
  const page = Buffer.alloc(PAGE_BYTES);
  const latencies: number[] = [];
  const startedAt = performance.now();
  while (performance.now() - startedAt < seconds * 1_000) {
    const before = performance.now();
    writeSync(file, page);
    fdatasyncSync(file);
    latencies.push(performance.now() - before);
  }
  closeSync(file);
  return { startedAt, latencies };
}

export function measureFsync(path: string, seconds: number): LoadReport {
  const { startedAt, latencies } = syncPages(path, seconds);
  return {
    count: latencies.length,
    seconds: (performance.now() - startedAt) / 1_000,
    bytes: latencies.length * PAGE_BYTES,
    latencies: latenciesOf(latencies),
    failures: {},
  };
}
