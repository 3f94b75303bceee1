// The order in which requests start that arrive faster than they are processed: round-robin by client, in slices short enough to serve connections in
// between. Unauthenticated clients share every second turn: they can come from any number of addresses, and a known client
// waits for one of them at most.

import { caught, throwLater } from "@postern/apimachinery/steps/caught";
import type { EventLoopBudget } from "./event-loop-budget.ts";
import { addWaiting, takeFirst, type WaitingByClient } from "./waiting-by-client.ts";

export type Arriving = {
  /** The user, or where it comes from: requests of the same client wait for each other. */
  readonly client: string;
  /** Whether the client has shown a valid credential before. */
  readonly isKnown: boolean;
};

export type RequestQueue = {
  /** Calls `begin` soon: requests that the client cancels at the same moment do not start. */
  add(arriving: Arriving, begin: Begin): void;
  /** The same, but at once where there is time for it. */
  addAtOnce(arriving: Arriving, begin: Begin): void;
};

/** Starts a request. True if it has been answered: nothing of it is left to wait for. */
export type Begin = () => unknown;

export function createRequestQueue(budget: EventLoopBudget): RequestQueue {
  const known: WaitingByClient<Begin> = new Map();
  const unauthenticated: WaitingByClient<Begin> = new Map();
  let isUnauthenticatedTurn = false;
  const isEmpty = (): boolean => known.size === 0 && unauthenticated.size === 0;
  const onNoneWaits = budget.follow((user) => unauthenticated.size > 0 || known.size > (known.has(user) ? 1 : 0));

  /** An error must not hold up those that wait. */
  const failStep = (error: unknown): void => {
    if (!isEmpty()) setImmediate(beginTurn);
    throwLater(error);
  };
  const finish = caught(failStep, () => {
    budget.rest();
    if (isEmpty()) onNoneWaits();
  });
  const takeSteps = (): void => {
    for (;;) {
      budget.rest();
      if (isEmpty()) return;
      if (unauthenticated.size === 0 && known.size === 1) onNoneWaits();
      if (budget.isOver()) {
        setImmediate(beginTurn);
        return;
      }
      const waiting = unauthenticated.size > 0 && (isUnauthenticatedTurn || known.size === 0) ? unauthenticated : known;
      isUnauthenticatedTurn = waiting === known;
      const begin = takeFirst(waiting);
      const proceed = isEmpty() ? finish : step;
      let isDone = false;
      try {
        isDone = begin !== undefined && budget.start(begin) === true;
      } finally {
        // It runs until it first waits before the next one starts, so that its time is known.
        const next = (): void => process.nextTick(proceed);
        if (!isDone) queueMicrotask(caught(failStep, next));
      }
      if (!isDone) return;
      if (proceed === finish) {
        finish();
        return;
      }
    }
  };
  const step = caught(failStep, takeSteps);
  const beginTurn = caught(failStep, () => {
    budget.restart();
    takeSteps();
  });
  const add: RequestQueue["add"] = ({ client, isKnown }, begin) => {
    if (isEmpty()) setImmediate(beginTurn);
    addWaiting(isKnown ? known : unauthenticated, client, begin);
  };
  return {
    add,
    addAtOnce(arriving, begin) {
      if (!isEmpty() || budget.isOver()) {
        add(arriving, begin);
        return;
      }
      budget.rest();
      budget.start(begin);
      budget.rest();
    },
  };
}
