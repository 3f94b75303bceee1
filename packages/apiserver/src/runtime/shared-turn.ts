// The part of a turn of the event loop that background work may take. All of it shares one: pieces that each keep to a limit would otherwise add up.

import { caught, throwLater } from "@postern/apimachinery/steps/caught";
import type { Clock } from "./clock.ts";
import { createTimedTurn } from "./timed-turn.ts";

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
  const turn = createTimedTurn(clock, TURN_MS);
  const waiting: (() => void)[] = [];
  /** An error must not hold up those that wait. */
  const failNext = (error: unknown): void => {
    if (waiting.length > 0) setImmediate(resume);
    throwLater(error);
  };
  const resume = caught(failNext, () => {
    const next = waiting.shift();
    if (waiting.length > 0) setImmediate(resume);
    turn.restart();
    next?.();
  });
  return {
    isOver: turn.isOver,
    next: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
        if (waiting.length === 1) setImmediate(resume);
      }),
  };
}
