// How long the event loop has worked on requests in this turn. All parts of the server share one turn, so that waiting is not counted twice.

import type { Clock } from "../runtime/clock.ts";
import { createTimedTurn } from "../runtime/timed-turn.ts";

export type EventLoopBudget = {
  /** Whether connections have to be looked after before further work. The first to ask begins the turn. */
  isOver(): boolean;
  /** They had a turn: work continues for the same time again. */
  restart(): void;
  /** Runs the first step of a request whose turn it is. Until that waits for something, its turn is not over. */
  start<T>(begin: () => T): T;
  /** Work on a request of the user goes on from here, until other work begins or `rest`. */
  work(user: string): void;
  /** The work that follows is charged to no user. */
  rest(): void;
  /**
   * Milliseconds for which the user, after long work on its requests, still owes time: three times what it took. Where requests of others wait that
   * may be cheap, those of this user wait until it has paid.
   */
  debtMs(user: string): number;
  /**
   * Sets what reports whether requests of others than a user wait that have not started. Their cost is unknown. Returns what to call when requests of
   * one user at most are left of them.
   */
  follow(isAnyOtherWaiting: (user: string) => boolean): () => void;
  isAnyOtherWaiting(user: string): boolean;
  /** Calls `resume` each time that requests of one user at most are left of these. */
  whenNoneWaits(resume: () => void): void;
};

const TURN_MS = 5;

/** Work that takes less is not counted: however many cheap requests a user sends, they take their turns. */
const EXPENSIVE_MS = 2;
/** A user in debt gets a quarter of the time. */
const DEBT_FACTOR = 3;
const MAX_OWED_MS = 500;

export function createEventLoopBudget(clock: Pick<Clock, "elapsed">): EventLoopBudget {
  const debts = createDebts(clock);
  let waits = (_user: string): boolean => false;
  const resumes: (() => void)[] = [];
  const turn = createTimedTurn(clock, TURN_MS);
  let isStarting = false;
  return {
    isOver: () => !isStarting && turn.isOver(),
    restart: turn.restart,
    start(work) {
      isStarting = true;
      try {
        return work();
      } finally {
        isStarting = false;
      }
    },
    ...debts,
    follow(isAnyOtherWaiting) {
      waits = isAnyOtherWaiting;
      return () => {
        for (const resume of resumes) resume();
      };
    },
    isAnyOtherWaiting: (user) => waits(user),
    whenNoneWaits(resume) {
      resumes.push(resume);
    },
  };
}

function createDebts(clock: Pick<Clock, "elapsed">): Pick<EventLoopBudget, "work" | "rest" | "debtMs"> {
  /** When each user has paid; the user with the most recent debt is last. Users who never come back are dropped with the next debt. */
  const paidAt = new Map<string, number>();
  let worker: string | undefined;
  let since = 0;
  const settle = (): void => {
    if (worker === undefined) return;
    const now = clock.elapsed();
    const took = now - since;
    if (took > EXPENSIVE_MS) {
      const from = Math.max(now, paidAt.get(worker) ?? 0);
      for (const [user, until] of paidAt) {
        if (until > now) break;
        paidAt.delete(user);
      }
      paidAt.delete(worker);
      paidAt.set(worker, Math.min(from + DEBT_FACTOR * took, now + MAX_OWED_MS));
    }
    worker = undefined;
  };
  return {
    work(user) {
      settle();
      worker = user;
      since = clock.elapsed();
    },
    rest: settle,
    debtMs(user) {
      const until = paidAt.get(user);
      return until === undefined ? 0 : Math.max(0, until - clock.elapsed());
    },
  };
}
