// Time as one process lives it: it can stand still while the world goes on, have its clock set, and end with all that it had planned.

import type { Clock, Scheduler } from "@postern/apiserver/runtime/clock";
import type { SimulatedTime, VirtualTime } from "./virtual-time.ts";

const START = Date.parse("2026-01-01T00:00:00Z");

export class ReplicaTime implements Clock, Scheduler, SimulatedTime {
  readonly #world: VirtualTime;
  #aheadMs = 0;
  #isStopped = false;
  #isOver = false;
  /** Tasks that became due while it stood still. */
  #held: (() => void)[] = [];
  #wake: (() => void)[] = [];

  constructor(world: VirtualTime) {
    this.#world = world;
  }

  now(): number {
    return START + this.#world.now() + this.#aheadMs;
  }

  elapsed(): number {
    return this.#world.now();
  }

  schedule(delayMs: number, run: () => void): Disposable {
    let isCancelled = false;
    const task = (): void => {
      if (!isCancelled) run();
    };
    const timer = this.#world.schedule(delayMs, () => {
      if (this.#isOver) return;
      if (this.#isStopped) this.#held.push(task);
      else task();
    });
    return {
      [Symbol.dispose]() {
        isCancelled = true;
        timer[Symbol.dispose]();
      },
    };
  }

  pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => void this.schedule(delayMs, resolve));
  }

  /** As SIGSTOP does. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Like SIGCONT: pending messages come first, then due timers. */
  resume(): void {
    if (!this.#isStopped) return;
    this.#isStopped = false;
    const [heard, held] = [this.#wake, this.#held];
    this.#wake = [];
    this.#held = [];
    for (const run of [...heard, ...held]) if (!this.#isOver) run();
  }

  /** Resolves while the process runs. */
  awake(): Promise<void> {
    if (!this.#isStopped) return Promise.resolve();
    return new Promise((resolve) => void this.#wake.push(resolve));
  }

  /** As kill -9 does: nothing that was planned happens. */
  end(): void {
    this.#isOver = true;
    this.resume();
  }

  /** So much ahead of the right time of day, in milliseconds. */
  setClock(aheadMs: number): void {
    this.#aheadMs = aheadMs;
  }
}
