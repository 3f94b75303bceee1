// How long the event loop has been at work on requests in this turn. Everything that begins or goes on with requests looks at the same turn:
// with one for each of them, what one has waited for is late again for the next.

import type { Clock } from "../runtime/clock.ts";

export type Turn = {
  /** Whether connections have to be looked after before further work. The first to ask begins the turn. */
  isOver(): boolean;
  /** They have been: work goes on for as long again. */
  beginAnew(): void;
};

const TURN_MS = 10;

export function createTurn(clock: Pick<Clock, "elapsed">): Turn {
  let startedAt: number | undefined;
  let isEnding = false;
  const end = (): void => {
    startedAt = undefined;
    isEnding = false;
  };
  const begin = (): void => {
    startedAt = clock.elapsed();
    if (isEnding) return;
    isEnding = true;
    setImmediate(end);
  };
  return {
    isOver() {
      if (startedAt !== undefined) return clock.elapsed() - startedAt >= TURN_MS;
      begin();
      return false;
    },
    beginAnew: begin,
  };
}

// In which order requests are begun that arrive faster than they are worked on: one of each client after the other, and for so long at a
// time that connections are looked after in between.

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
