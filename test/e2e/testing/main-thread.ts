// The tasks of the main thread of a page: milliseconds of the processor, so that other programs on the machine do not count.

import type { CDPSession } from "playwright-core";

/** As the browser's own measure of long tasks has it. */
export const LONG_TASK_MS = 50;
/** The best of so many: a collection of garbage that comes in the middle of one is not the page's doing. */
const ROUNDS = 3;

type TraceEvent = {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds of the thread. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
};

/** Milliseconds of each task while `work` ran, longest first. */
export async function tasksDuring(work: () => Promise<void>, devtools: CDPSession): Promise<readonly number[]> {
  const events: TraceEvent[] = [];
  const take = ({ value }: { readonly value: unknown[] }): void => void events.push(...(value as TraceEvent[]));
  devtools.on("Tracing.dataCollected", take);
  await devtools.send("Tracing.start", {
    transferMode: "ReportEvents",
    traceConfig: { includedCategories: ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"] },
  });
  try {
    await work();
  } finally {
    // Another one could not begin otherwise.
    const complete = new Promise<void>((resolve) => devtools.once("Tracing.tracingComplete", () => resolve()));
    await devtools.send("Tracing.end");
    await complete;
  }
  devtools.off("Tracing.dataCollected", take);
  const main = new Set(
    events
      .filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain")
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  return events
    .filter(({ name, pid, tid }) => name === "RunTask" && main.has(`${pid} ${tid}`))
    .map(({ tdur = 0 }) => tdur / 1_000)
    .sort((one, other) => other - one);
}

export type TaskFigures = { readonly longest: number; readonly sum: number };

/** The least of several rounds. */
export async function leastOf(tasksOf: () => Promise<readonly number[]>): Promise<TaskFigures> {
  const figures: TaskFigures[] = [];
  while (figures.length < ROUNDS) {
    const tasks = await tasksOf();
    figures.push({ longest: tasks[0] ?? Number.NaN, sum: tasks.reduce((sum, each) => sum + each, 0) });
  }
  process.stdout.write(`milliseconds of the processor: ${JSON.stringify(figures)}\n`);
  return {
    longest: Math.min(...figures.map(({ longest }) => longest)),
    sum: Math.min(...figures.map(({ sum }) => sum)),
  };
}
