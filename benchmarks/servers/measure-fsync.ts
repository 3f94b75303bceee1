// The speed of the disk: append a page, sync, repeat.

import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { latenciesOf } from "../load/latencies.ts";
import type { LoadReport } from "../load/order.ts";

export function measureFsync(path: string, seconds: number): LoadReport {
  const file = openSync(path, "w");
  const page = Buffer.alloc(4_096);
  const latencies: number[] = [];
  const startedAt = performance.now();
  while (performance.now() - startedAt < seconds * 1_000) {
    const before = performance.now();
    writeSync(file, page);
    fdatasyncSync(file);
    latencies.push(performance.now() - before);
  }
  closeSync(file);
  return {
    count: latencies.length,
    seconds: (performance.now() - startedAt) / 1_000,
    bytes: latencies.length * page.length,
    latencies: latenciesOf(latencies),
    failures: {},
  };
}
