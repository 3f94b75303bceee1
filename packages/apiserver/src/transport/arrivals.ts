// In which order requests are begun that arrive faster than they are worked on: one of each client after the other, and for so long at a
// time that connections are looked after in between.

import type { Clock } from "../runtime/clock.ts";

export type Arrivals = {
  /** Calls `begin` soon: what the client takes back in the same moment need not be begun. */
  add(client: string, begin: () => void): void;
  /** The same, but at once where there is time for it. */
  addAtOnce(client: string, begin: () => void): void;
};

/** Work on what has arrived goes on for so long until the event loop looks for more. */
const TURN_MS = 10;

export function createArrivals(clock: Pick<Clock, "elapsed">): Arrivals {
  /** Whoever was served last stands last. */
  const waiting = new Map<string, (() => void)[]>();
  let turnEnds = 0;
  let isUnderWay = false;

  const step = (): void => {
    for (const [client, begins] of waiting) {
      waiting.delete(client);
      const begin = begins.shift();
      if (begins.length > 0) waiting.set(client, begins);
      // What the request does before it first waits runs before the next is begun, so that the time it takes is known.
      if (clock.elapsed() >= turnEnds) setImmediate(beginTurn);
      else queueMicrotask(() => process.nextTick(step));
      begin?.();
      return;
    }
    isUnderWay = false;
  };
  const beginTurn = (): void => {
    turnEnds = clock.elapsed() + TURN_MS;
    step();
  };
  const startSoon = (): void => {
    if (isUnderWay) return;
    isUnderWay = true;
    turnEnds = clock.elapsed() + TURN_MS;
    setImmediate(beginTurn);
  };
  const add: Arrivals["add"] = (client, begin) => {
    startSoon();
    const begins = waiting.get(client);
    if (begins === undefined) waiting.set(client, [begin]);
    else begins.push(begin);
  };
  return {
    add,
    addAtOnce(client, begin) {
      startSoon();
      if (waiting.size === 0 && clock.elapsed() < turnEnds) begin();
      else add(client, begin);
    },
  };
}
