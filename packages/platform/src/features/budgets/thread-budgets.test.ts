import { describe, expect, it } from "vitest";
import { ALONE_THREADS, defaultClusterThreads, memoryBudgets } from "./memory-limit.ts";
import { threadBudgets } from "./thread-budgets.ts";

const MIB = 1 << 20;
const asked = { bodyBytes: 256 * MIB, backlogBytes: 128 * MIB };
/** Of the main thread without clusters. */
const IDLE = 128 * MIB;

describe("the memory of cluster threads", () => {
  it.each([
    [1024, 1],
    [1024, 2],
    [2048, 4],
    [8192, 8],
  ])("is within %i MiB together with that of the main thread, with %i of them", (limitMiB, threads) => {
    const limitBytes = limitMiB * MIB;
    const memory = memoryBudgets(limitBytes, asked, threads);
    const { shared, alone } = threadBudgets(memory);
    const front = IDLE + memory.bodyBytes + memory.backlogBytes + memory.platformBytes + memory.historyBytes;
    const margin = limitBytes / 8 - memory.threadMarginBytes;
    const sum = front + margin + threads * shared.limitBytes + ALONE_THREADS * alone.limitBytes;
    expect(sum).toBeLessThanOrEqual(limitBytes);
    expect(threads * shared.clustersBytes + ALONE_THREADS * alone.clustersBytes).toBeLessThanOrEqual(
      memory.clustersBytes,
    );
    expect(alone.limitBytes).toBeLessThan(shared.limitBytes);
  });

  it.each([
    { gib: 0.9, processors: 8, threads: 0 },
    { gib: 1, processors: 1, threads: 1 },
    { gib: 8, processors: 2, threads: 1 },
    { gib: 2, processors: 8, threads: 2 },
    { gib: 8, processors: 5, threads: 2 },
    { gib: 64, processors: 64, threads: 4 },
  ])("has $threads threads by default with $gib GiB and $processors processors", ({ gib, processors, threads }) => {
    expect(defaultClusterThreads(gib * 1024 * MIB, processors)).toBe(threads);
  });

  it("takes nothing where there are none", () => {
    const before = memoryBudgets(1024 * MIB, asked);
    expect(before).toMatchObject({ threadBacklogBytes: 0, threadMarginBytes: 0 });
    expect(before.platformBytes).toBeGreaterThan(memoryBudgets(1024 * MIB, asked, 1).platformBytes);
  });
});
