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
