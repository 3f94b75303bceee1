// The order in which long work continues. Work on one large object takes longer than other requests should wait: it is done in parts, one in each
// turn of the event loop. Tenants take turns, and so do the clients of each.

import { caught, throwLater } from "@postern/apimachinery/steps/caught";
import type { Steps } from "@postern/apimachinery/steps/steps";
import type { Awaitable } from "../runtime/awaitable.ts";
import type { Clock } from "../runtime/clock.ts";
import { Lanes } from "./lanes.ts";
import type { ResultOf, WorkOf, WorkOwner, WorkThreads, WorkType } from "./work-threads.ts";

export type LongWork = {
  /** Resolves when it is the client's turn: what has arrived for others meanwhile has been looked at. */
  turnOf(owner: WorkOwner): Promise<void>;
  readonly clock: Pick<Clock, "elapsed">;
  /** For work that cannot be done in parts. Undefined: all of it is done here. */
  readonly threads: WorkThreads | undefined;
  /** Counts results that were left out because they would take too much work. */
  readonly onOverBudget: () => void;
};

/** Smaller work is done at once: it has a few thousand members at most. */
export const LONG_WORK_BYTES = 16 * 1024;
/** A client that has worked for this long yields. */
const PART_MS = 4;

export function createLongWork(
  clock: Pick<Clock, "elapsed">,
  threads?: WorkThreads,
  onOverBudget: () => void = () => undefined,
): LongWork {
  const waiting = new Lanes<() => void>();
  /** An error must not hold up those that wait. */
  const failNext = (error: unknown): void => {
    if (waiting.isWaiting) setImmediate(next);
    throwLater(error);
  };
  const next = caught(failNext, () => {
    const found = waiting.take();
    if (found === undefined) return;
    waiting.finish(found.lane, 1);
    if (waiting.isWaiting) setImmediate(next);
    found.item();
  });
  return {
    clock,
    threads,
    onOverBudget,
    turnOf: ({ lane, client }) =>
      new Promise((resolve) => {
        if (!waiting.isWaiting) setImmediate(next);
        waiting.add(lane, client, resolve);
      }),
  };
}

/** The work on one request. Only what turns out to be large is done in parts. */
export class WorkParts {
  readonly #work: LongWork;
  #bytes = 0;
  #began: number | undefined;
  #lane: string | undefined;

  constructor(work: LongWork) {
    this.#work = work;
  }

  /** Says which tenant the rest of the work is for. Until then each client is a tenant of its own. */
  enter(lane: string): void {
    this.#lane = lane;
  }

  /** Reports the size of the processed object in bytes. */
  weigh(bytes: number): void {
    if (bytes > this.#bytes) this.#bytes = bytes;
  }

  get isLong(): boolean {
    return this.#bytes >= LONG_WORK_BYTES;
  }

  /** Undefined if it may continue immediately. */
  pause(client: string): Promise<void> | undefined {
    const { clock } = this.#work;
    if (!this.isLong || (this.#began !== undefined && clock.elapsed() - this.#began < PART_MS)) return undefined;
    return this.#work.turnOf(this.#ownerOf(client)).then(() => {
      this.#began = clock.elapsed();
    });
  }

  /** Another turn of the event loop, in the order of the clients. */
  nextTurn(client: string): Promise<void> {
    return this.#work.turnOf(this.#ownerOf(client));
  }

  /** Work that takes longer than its size says is long from then on, such as that of a small request on what others have stored. */
  run<T>(client: string, steps: Steps<T>): Awaitable<T> {
    if (this.isLong) return this.#runInParts(client, steps);
    const { clock } = this.#work;
    const began = clock.elapsed();
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) return value;
      if (clock.elapsed() - began < PART_MS) continue;
      this.weigh(LONG_WORK_BYTES);
      return this.#runInParts(client, steps);
    }
  }

  overBudget(): void {
    this.#work.onOverBudget();
  }

  /** Undefined where there are no threads. */
  runInThread<T extends WorkType>(
    client: string,
    type: T,
    work: () => WorkOf<T>,
    signal: AbortSignal,
  ): Promise<ResultOf<T>> | undefined {
    return this.#work.threads?.run(this.#ownerOf(client), type, work(), signal);
  }

  #ownerOf(client: string): WorkOwner {
    return { lane: this.#lane ?? `user:${client}`, client };
  }

  async #runInParts<T>(client: string, steps: Steps<T>): Promise<T> {
    for (;;) {
      await this.pause(client);
      const { done, value } = steps.next();
      if (done === true) return value;
    }
  }
}
