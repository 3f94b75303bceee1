// Which of those that wait is next: tenants have a lane each and share the time equally, however many clients a tenant has; the clients of a lane take turns.

import { addWaiting, takeFirst, type WaitingByClient } from "./waiting-by-client.ts";

type Lane<T> = {
  /** Cost of its work so far, in the unit of `finish`. A lane that was idle has no advance over the others. */
  spent: number;
  isServed: boolean;
  readonly waiting: WaitingByClient<T>;
};

/** More lanes than this forget what those have spent that wait for nothing. */
const MOST_IDLE = 1_000;

/** Works on one item of a lane at a time. */
export class Lanes<T> {
  /** The lane with the most recent turn is last. */
  readonly #lanes = new Map<string, Lane<T>>();

  get isWaiting(): boolean {
    for (const { waiting } of this.#lanes.values()) if (waiting.size > 0) return true;
    return false;
  }

  add(name: string, client: string, item: T): void {
    const lane = this.#lanes.get(name) ?? this.#begin(name);
    if (isIdle(lane)) lane.spent = Math.max(lane.spent, this.#least());
    addWaiting(lane.waiting, client, item);
  }

  /** The next item of the lane that has spent least. The caller calls `finish` for the lane. */
  take(): { readonly lane: string; readonly item: T } | undefined {
    let next: readonly [name: string, lane: Lane<T>] | undefined;
    for (const [name, lane] of this.#lanes) {
      if (lane.isServed || lane.waiting.size === 0) continue;
      if (next === undefined || lane.spent < next[1].spent) next = [name, lane];
    }
    if (next === undefined) return undefined;
    const [name, lane] = next;
    this.#lanes.delete(name);
    this.#lanes.set(name, lane);
    const item = takeFirst(lane.waiting);
    if (item === undefined) return undefined;
    lane.isServed = true;
    return { lane: name, item };
  }

  finish(name: string, cost: number): void {
    const lane = this.#lanes.get(name);
    if (lane === undefined) return;
    lane.isServed = false;
    lane.spent += cost;
    if ([...this.#lanes.values()].every(isIdle)) this.#lanes.clear();
  }

  #begin(name: string): Lane<T> {
    if (this.#lanes.size >= MOST_IDLE)
      for (const [other, lane] of this.#lanes) if (isIdle(lane)) this.#lanes.delete(other);
    const lane: Lane<T> = { spent: 0, isServed: false, waiting: new Map() };
    this.#lanes.set(name, lane);
    return lane;
  }

  #least(): number {
    let least = Number.POSITIVE_INFINITY;
    for (const lane of this.#lanes.values()) if (!isIdle(lane)) least = Math.min(least, lane.spent);
    return least === Number.POSITIVE_INFINITY ? 0 : least;
  }
}

const isIdle = ({ isServed, waiting }: Lane<unknown>): boolean => !isServed && waiting.size === 0;
