// Iterates over many items without blocking requests.

import { setImmediate as nextTurn } from "node:timers/promises";
import type { Steps } from "@postern/apimachinery/steps/steps";
import type { Clock } from "./clock.ts";
import { sharedTurnOf } from "./shared-turn.ts";

/** Well under a millisecond where an item takes a fraction of a microsecond. */
const SLICE = 1_000;

/**
 * Visits every item, one after the other: some of them at once and each further slice in a turn of the event loop of its own. Ends early
 * when `signal` is aborted. Items may come and go meanwhile, as far as `items` allows it.
 */
export async function inSlices<Item>(
  items: Iterable<Item>,
  visit: (item: Item) => void | Promise<void>,
  signal: AbortSignal | undefined,
): Promise<void> {
  let visited = 0;
  for (const item of items) {
    if (signal?.aborted === true) return;
    const visiting = visit(item);
    if (visiting !== undefined) await visiting;
    if (++visited % SLICE === 0) await nextTurn();
  }
}

/** Undefined to continue immediately; otherwise after all other work of this turn. */
export function createTurns(clock: Pick<Clock, "elapsed">): () => Promise<void> | undefined {
  const turn = sharedTurnOf(clock);
  return () => (turn.isOver() ? turn.next() : undefined);
}

/**
 * Begins the work of each item within a few milliseconds of a turn of the event loop, without waiting for that of the others. Resolves when all is
 * done; rejects with the first error.
 */
export async function allInTurns<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
  clock: Pick<Clock, "elapsed">,
): Promise<void> {
  const pause = createTurns(clock);
  const begun: Promise<void>[] = [];
  for (const item of items) {
    await pause();
    const done = work(item);
    // Its error is that of the whole, below, and must not count as unhandled until then.
    done.catch(() => undefined);
    begun.push(done);
  }
  await Promise.all(begun);
}

/** Returns the result of the steps; each begins within a few milliseconds of a turn of the event loop. */
export async function inTurns<T>(steps: Steps<T>, clock: Pick<Clock, "elapsed">): Promise<T> {
  const pause = createTurns(clock);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    const pausing = pause();
    if (pausing !== undefined) await pausing;
  }
}
