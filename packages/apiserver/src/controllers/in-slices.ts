// Goes through very many items without keeping requests waiting.

import { setImmediate as nextTurn } from "node:timers/promises";

/** Well under a millisecond where an item takes a fraction of a microsecond. */
const SLICE = 1_000;

/**
 * Visits every item, one after the other: some of them at once and each further slice in a turn of the event loop of its own. Ends early
 * when `signal` is aborted. Items may come and go meanwhile, as far as `items` allows it.
 */
export async function inSlices<Item>(
  items: Iterable<Item>,
  visit: (item: Item) => void | Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let visited = 0;
  for (const item of items) {
    if (signal.aborted) return;
    const visiting = visit(item);
    if (visiting !== undefined) await visiting;
    if (++visited % SLICE === 0) await nextTurn();
  }
}
