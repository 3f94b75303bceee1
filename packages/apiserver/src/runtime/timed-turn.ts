// How long work of one sort goes on in a turn of the event loop.

import { caught, throwLater } from "@postern/apimachinery/steps/caught";
import type { Clock } from "./clock.ts";

export type TimedTurn = {
  /** Whether the work has had its time in this turn. The first to ask begins it. */
  isOver(): boolean;
  /** The work has the same time again: everything else had its turn. */
  restart(): void;
};

export function createTimedTurn(clock: Pick<Clock, "elapsed">, limitMs: number): TimedTurn {
  let startedAt: number | undefined;
  let isEnding = false;
  const end = caught(throwLater, () => {
    startedAt = undefined;
    isEnding = false;
  });
  const restart = (): void => {
    startedAt = clock.elapsed();
    if (isEnding) return;
    isEnding = true;
    setImmediate(end);
  };
  return {
    isOver() {
      if (startedAt !== undefined) return clock.elapsed() - startedAt >= limitMs;
      restart();
      return false;
    },
    restart,
  };
}
