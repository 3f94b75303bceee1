// Time that moves when a test says so: the passing of time, and the time of day, which can be set.

import type { Clock, Scheduler } from "../clock.ts";

export type ManualTime = {
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** How many tasks wait for their time. */
  readonly waiting: number;
  /** Lets time pass; every task runs at its time. */
  advance(milliseconds: number): void;
  /** Lets time pass while nothing runs, as for a process that is stopped; what was due meanwhile runs with the next `advance`. */
  standStill(milliseconds: number): void;
  /** Sets the clock: the time of day changes, and no time passes. */
  setTimeOfDay(time: number): void;
};

type Task = { readonly at: number; readonly run: () => void };

/** `start` in milliseconds since the epoch. */
export function manualTime(start = Date.parse("2026-01-01T00:00:00Z")): ManualTime {
  let elapsed = 0;
  let offset = start;
  let tasks: readonly Task[] = [];
  const without = (task: Task): void => {
    tasks = tasks.filter((other) => other !== task);
  };
  return {
    clock: { now: () => offset + elapsed, elapsed: () => elapsed },
    scheduler: {
      schedule(delayMs, run) {
        const task: Task = { at: elapsed + delayMs, run };
        // Behind those of the same time.
        tasks = [...tasks, task].sort((a, b) => a.at - b.at);
        return { [Symbol.dispose]: () => without(task) };
      },
    },
    get waiting() {
      return tasks.length;
    },
    advance(milliseconds) {
      const end = elapsed + milliseconds;
      for (let [task] = tasks; task !== undefined && task.at <= end; [task] = tasks) {
        without(task);
        elapsed = Math.max(elapsed, task.at);
        task.run();
      }
      elapsed = end;
    },
    standStill(milliseconds) {
      elapsed += milliseconds;
    },
    setTimeOfDay(time) {
      offset = time - elapsed;
    },
  };
}
