import { expect, it } from "vitest";
import { processHeap } from "./process-heap.ts";

it("collects garbage of this process", () => {
  let garbage: unknown[] | undefined = Array.from({ length: 1_000_000 }, (_, index) => ({ index }));
  const before = process.memoryUsage().heapUsed;
  expect(garbage).toHaveLength(1_000_000);
  garbage = undefined;
  processHeap.collect();
  expect(process.memoryUsage().heapUsed).toBeLessThan(before - (16 << 20));
});

it("has V8 grow the heap less, and as before", () => {
  processHeap.limitGrowth(true);
  processHeap.limitGrowth(false);
  expect(processHeap.residentBytes()).toBeGreaterThan(1 << 20);
});
