// In which order requests are begun that arrive faster than they are worked on: one of each client after the other, and for so long at a
// time that connections are looked after in between.

import type { Turn } from "../limits/turn.ts";

export type Arrivals = {
  /** Calls `begin` soon: what the client takes back in the same moment need not be begun. */
  add(client: string, begin: () => void): void;
  /** The same, but at once where there is time for it. */
  addAtOnce(client: string, begin: () => void): void;
};

export function createArrivals(turn: Turn): Arrivals {
  /** Whoever was served last stands last. */
  const waiting = new Map<string, (() => void)[]>();

  const step = (): void => {
    for (const [client, begins] of waiting) {
      if (turn.isOver()) {
        setImmediate(beginTurn);
        return;
      }
      waiting.delete(client);
      const begin = begins.shift();
      if (begins.length > 0) waiting.set(client, begins);
      // What the request does before it first waits runs before the next is begun, so that the time it takes is known.
      if (waiting.size > 0) queueMicrotask(() => process.nextTick(step));
      begin?.();
      return;
    }
  };
  const beginTurn = (): void => {
    turn.beginAnew();
    step();
  };
  const add: Arrivals["add"] = (client, begin) => {
    if (waiting.size === 0) setImmediate(beginTurn);
    const begins = waiting.get(client);
    if (begins === undefined) waiting.set(client, [begin]);
    else begins.push(begin);
  };
  return {
    add,
    addAtOnce(client, begin) {
      if (waiting.size === 0 && !turn.isOver()) begin();
      else add(client, begin);
    },
  };
}
