// Time that passes as fast as the work in it: a scheduler whose tasks run in the order of their times, one after the other.

import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock, Scheduler } from "@postern/apiserver/runtime/clock";

/** The clock and scheduler of a simulation: that of the world, or that of one process. */
export type SimulatedTime = Scheduler & {
  elapsed(): number;
  pause(delayMs: number): Promise<void>;
};

type Task = { readonly at: number; readonly order: number; run: (() => void) | undefined };

export class VirtualTime implements Clock, Scheduler {
  /** A heap: no task before its parent. */
  readonly #tasks: Task[] = [];
  #now = 0;
  #order = 0;

  now(): number {
    return this.#now;
  }

  elapsed(): number {
    return this.#now;
  }

  schedule(delayMs: number, run: () => void): Disposable {
    const task: Task = { at: this.#now + delayMs, order: this.#order++, run };
    this.#push(task);
    return {
      [Symbol.dispose]: () => {
        task.run = undefined;
      },
    };
  }

  pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => void this.schedule(delayMs, resolve));
  }

  /** Everything that is due up to `time`, with all that promises make of it. */
  async runUntil(time: number): Promise<void> {
    for (let task = this.#tasks[0]; task !== undefined && task.at <= time; task = this.#tasks[0]) {
      this.#pop();
      if (task.run === undefined) continue;
      this.#now = task.at;
      task.run();
      await nextTurn();
    }
    this.#now = time;
  }

  #push(task: Task): void {
    const tasks = this.#tasks;
    let index = tasks.push(task) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!isBefore(task, tasks[parent]!)) break;
      tasks[index] = tasks[parent]!;
      index = parent;
    }
    tasks[index] = task;
  }

  #pop(): void {
    const tasks = this.#tasks;
    const last = tasks.pop()!;
    if (tasks.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= tasks.length) break;
      if (child + 1 < tasks.length && isBefore(tasks[child + 1]!, tasks[child]!)) child++;
      if (!isBefore(tasks[child]!, last)) break;
      tasks[index] = tasks[child]!;
      index = child;
    }
    tasks[index] = last;
  }
}

function isBefore(left: Task, right: Task): boolean {
  return left.at < right.at || (left.at === right.at && left.order < right.order);
}
