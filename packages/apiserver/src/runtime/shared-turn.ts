// The part of a turn of the event loop that background work may take. All of it shares one: pieces that each keep to a limit would otherwise add up.

import { caught, throwLater } from "@postern/apimachinery/steps/caught";
import type { Clock } from "./clock.ts";

export type SharedTurn = {
  /** Whether background work has taken its part of this turn. The first to ask begins it. */
  isOver(): boolean;
  /** Resolves in a turn of its own, in the order of the calls. */
  next(): Promise<void>;
};

/** After this time, background work continues in the next turn of the event loop. */
const TURN_MS = 4;

/** By the clock of their server. */
const turns = new WeakMap<Pick<Clock, "elapsed">, SharedTurn>();

/** The turn of everything that measures by this clock. */
export function sharedTurnOf(clock: Pick<Clock, "elapsed">): SharedTurn {
  const known = turns.get(clock) ?? createSharedTurn(clock);
  turns.set(clock, known);
  return known;
}

function createSharedTurn(clock: Pick<Clock, "elapsed">): SharedTurn {
  const waiting: (() => void)[] = [];
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
    setImmediate(caught(throwLater, end));
  };
  /** An error must not hold up those that wait. */
  const failNext = (error: unknown): void => {
    if (waiting.length > 0) setImmediate(resume);
    throwLater(error);
  };
  const resume = caught(failNext, () => {
    const next = waiting.shift();
    if (waiting.length > 0) setImmediate(resume);
    begin();
    next?.();
  });
  return {
    isOver() {
      if (startedAt !== undefined) return clock.elapsed() - startedAt >= TURN_MS;
      begin();
      return false;
    },
    next: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        if (waiting.length === 1) setImmediate(resume);
      }),
  };
}
