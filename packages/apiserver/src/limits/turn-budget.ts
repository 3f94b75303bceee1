// How much work of one sort is done in a turn of the event loop, in units of that work. Further work waits for a later turn, in order.

import { caught, throwLater } from "@postern/apimachinery/steps/caught";

export type TurnBudget = {
  /** Counts work that is done in this turn. */
  spend(units: number): void;
  /** Whether further work has to wait: this turn has had enough of it, or other work waits already. */
  isOver(): boolean;
  /** Calls `work` in a later turn, of which it takes `units` at that time. Disposed before, it is not called. */
  later(work: () => unknown, units: () => number): Disposable;
};

export function createTurnBudget(unitsInATurn: number): TurnBudget {
  const waiting = new Set<{ readonly work: () => unknown; readonly units: () => number }>();
  let spent = 0;
  let isAttended = false;

  const attend = (): void => {
    if (isAttended) return;
    isAttended = true;
    setImmediate(endTurn);
  };
  /** An error must not hold up those that wait. */
  const failTurn = (error: unknown): void => {
    attend();
    throwLater(error);
  };
  const endTurn = caught(failTurn, () => {
    isAttended = false;
    spent = 0;
    let begun = 0;
    for (const next of waiting) {
      if (begun >= unitsInATurn) break;
      waiting.delete(next);
      begun += next.units();
      next.work();
    }
    if (waiting.size > 0) attend();
  });
  return {
    spend(units) {
      spent += units;
      attend();
    },
    isOver: () => spent >= unitsInATurn || waiting.size > 0,
    later(work, units) {
      const item = { work, units };
      waiting.add(item);
      attend();
      return { [Symbol.dispose]: () => void waiting.delete(item) };
    },
  };
}
