// Cost of a request to a server, as the kernel counts it: other work on the machine does not show in it.

import { readFile } from "node:fs/promises";

/** Milliseconds that the thread which serves everybody has run. Source: Documentation/scheduler/sched-stats.rst of Linux */
async function mainThreadMs(pid: number): Promise<number> {
  const [nanoseconds = ""] = (await readFile(`/proc/${pid}/task/${pid}/schedstat`, "utf8")).split(" ");
  return Number(nanoseconds) / 1e6;
}

/** Milliseconds of that thread while `work` was running, by any cause. */
export async function costOf<T>(
  pid: number,
  work: () => Promise<T>,
): Promise<{ readonly ms: number; readonly value: T }> {
  const before = await mainThreadMs(pid);
  const value = await work();
  return { ms: (await mainThreadMs(pid)) - before, value };
}

/** A server that does nothing, with turn-watch.mjs in it, uses less in a window. Milliseconds. */
const QUIET = { windowMs: 300, usedMs: 25, windows: 3 } as const;

/** As costOf, until controllers have nothing left to do either. */
export async function costUntilQuiet(pid: number, work: () => Promise<unknown>): Promise<number> {
  const before = await mainThreadMs(pid);
  await work();
  let last = await mainThreadMs(pid);
  let end = last;
  for (let windows = 0; windows < QUIET.windows; ) {
    await new Promise((resolve) => setTimeout(resolve, QUIET.windowMs));
    const now = await mainThreadMs(pid);
    const isQuiet = now - last < QUIET.usedMs;
    windows = isQuiet ? windows + 1 : 0;
    if (!isQuiet) end = now;
    last = now;
  }
  return end - before;
}

/** Cost that grows twice as fast as its input is not linear; a server also collects garbage now and then. */
const LINEAR = { floorMs: 150, factor: 3 } as const;

/**
 * Says so when the work is more than linear: what twice as much input costs, against what it cost before. The least of two runs, and only
 * where there is more work than noise.
 */
export async function superlinearity(
  cost: (size: number) => Promise<number>,
  size: number,
): Promise<string | undefined> {
  const least = async (of: number): Promise<number> => Math.min(await cost(of), await cost(of));
  const [one, two, four] = [await least(size), await least(2 * size), await least(4 * size)];
  const grows = four > LINEAR.floorMs && four > LINEAR.factor * two && two > (LINEAR.factor / 1.5) * one;
  return grows
    ? `${size}: ${one.toFixed(0)} ms, twice: ${two.toFixed(0)} ms, four times: ${four.toFixed(0)} ms`
    : undefined;
}
