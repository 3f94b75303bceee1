// How long the event loop has worked on requests in this turn. All parts of the server share one turn, so that waiting is not counted twice.

import { caught, throwLater } from "@postern/apimachinery/steps/caught";
import { runSteps, type Steps } from "@postern/apimachinery/steps/steps";
import type { Awaitable } from "../runtime/awaitable.ts";
import type { Clock } from "../runtime/clock.ts";
import { Lanes } from "./lanes.ts";
import type { ResultOf, WorkOf, WorkOwner, WorkThreads, WorkType } from "./work-threads.ts";

export type Turn = {
  /** Whether connections have to be looked after before further work. The first to ask begins the turn. */
  isOver(): boolean;
  /** They had a turn: work continues for the same time again. */
  beginAnew(): void;
  /** Runs the first step of a request whose turn it is. Until that waits for something, its turn is not over. */
  start<T>(begin: () => T): T;
  /** Work on a request of the user goes on from here, until other work begins or `rest`. */
  work(user: string): void;
  /** What follows is nobody's work. */
  rest(): void;
  /**
   * Milliseconds for which the user, after long work on its requests, still owes time: three times what it took. Where requests of others wait that
   * may be cheap, those of this user wait until it has paid.
   */
  owedMs(user: string): number;
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

/** What takes less is not counted: however many cheap requests a user sends, they take their turns. */
const DEAR_MS = 2;
/** A user in debt gets a quarter of the time. */
const PRICE = 3;
const MAX_OWED_MS = 500;

export function createTurn(clock: Pick<Clock, "elapsed">): Turn {
  const debts = createDebts(clock);
  let waits = (_user: string): boolean => false;
  const resumes: (() => void)[] = [];
  let startedAt: number | undefined;
  let isEnding = false;
  let isStarting = false;
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
      if (isStarting) return false;
      if (startedAt !== undefined) return clock.elapsed() - startedAt >= TURN_MS;
      begin();
      return false;
    },
    beginAnew: begin,
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

function createDebts(clock: Pick<Clock, "elapsed">): Pick<Turn, "work" | "rest" | "owedMs"> {
  /** When each user has paid; the user with the most recent debt is last. Users who never come back are dropped with the next debt. */
  const paidAt = new Map<string, number>();
  let worker: string | undefined;
  let since = 0;
  const settle = (): void => {
    if (worker === undefined) return;
    const now = clock.elapsed();
    const took = now - since;
    if (took > DEAR_MS) {
      const from = Math.max(now, paidAt.get(worker) ?? 0);
      for (const [user, until] of paidAt) {
        if (until > now) break;
        paidAt.delete(user);
      }
      paidAt.delete(worker);
      paidAt.set(worker, Math.min(from + PRICE * took, now + MAX_OWED_MS));
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
    owedMs(user) {
      const until = paidAt.get(user);
      return until === undefined ? 0 : Math.max(0, until - clock.elapsed());
    },
  };
}

// The order in which requests start that arrive faster than they are processed: round-robin by client, in slices short enough to serve connections in
// between. Unauthenticated clients share every second turn: strangers can come from any number of addresses, and a known client
// waits for one of them at most.

export type Arriving = {
  /** The user, or where it comes from: requests of the same client wait for each other. */
  readonly client: string;
  /** Whether the client has shown a valid credential before. */
  readonly isKnown: boolean;
};

export type Arrivals = {
  /** Calls `begin` soon: requests that the client cancels at the same moment do not start. */
  add(arriving: Arriving, begin: Begin): void;
  /** The same, but at once where there is time for it. */
  addAtOnce(arriving: Arriving, begin: Begin): void;
};

/** Starts a request. True if it has been answered: nothing of it is left to wait for. */
export type Begin = () => unknown;

/** Waiting requests by client; the most recently served client is last. */
type Crowd = Map<string, Begin[]>;

export function createArrivals(turn: Turn): Arrivals {
  const known: Crowd = new Map();
  const strangers: Crowd = new Map();
  let isStrangersTurn = false;
  const isEmpty = (): boolean => known.size === 0 && strangers.size === 0;
  const onNoneWaits = turn.follow((user) => strangers.size > 0 || known.size > (known.has(user) ? 1 : 0));

  /** An error must not hold up those that wait. */
  const failStep = (error: unknown): void => {
    if (!isEmpty()) setImmediate(beginTurn);
    throwLater(error);
  };
  const finish = caught(failStep, () => {
    turn.rest();
    if (isEmpty()) onNoneWaits();
  });
  const takeSteps = (): void => {
    for (;;) {
      turn.rest();
      if (isEmpty()) return;
      if (strangers.size === 0 && known.size === 1) onNoneWaits();
      if (turn.isOver()) {
        setImmediate(beginTurn);
        return;
      }
      const crowd = strangers.size > 0 && (isStrangersTurn || known.size === 0) ? strangers : known;
      isStrangersTurn = crowd === known;
      const begin = takeFirst(crowd);
      const goOn = isEmpty() ? finish : step;
      let isDone = false;
      try {
        isDone = begin !== undefined && turn.start(begin) === true;
      } finally {
        // It runs until it first waits before the next one starts, so that its time is known.
        const next = (): void => process.nextTick(goOn);
        if (!isDone) queueMicrotask(caught(failStep, next));
      }
      if (!isDone) return;
      if (goOn === finish) {
        finish();
        return;
      }
    }
  };
  const step = caught(failStep, takeSteps);
  const beginTurn = caught(failStep, () => {
    turn.beginAnew();
    takeSteps();
  });
  const add: Arrivals["add"] = ({ client, isKnown }, begin) => {
    if (isEmpty()) setImmediate(beginTurn);
    const crowd = isKnown ? known : strangers;
    const begins = crowd.get(client);
    if (begins === undefined) crowd.set(client, [begin]);
    else begins.push(begin);
  };
  return {
    add,
    addAtOnce(arriving, begin) {
      if (!isEmpty() || turn.isOver()) {
        add(arriving, begin);
        return;
      }
      turn.rest();
      turn.start(begin);
      turn.rest();
    },
  };
}

function takeFirst(crowd: Crowd): Begin | undefined {
  for (const [client, begins] of crowd) {
    crowd.delete(client);
    const begin = begins.shift();
    if (begins.length > 0) crowd.set(client, begins);
    return begin;
  }
  return undefined;
}

// In which order long work is gone on with. Work on one large object takes longer than others should wait: it is done in parts, of which one is
// done in each turn of the event loop, those of each tenant and its clients after the other.

export type LongWork = {
  /** Resolves when it is the client's turn: what has arrived for others meanwhile has been looked at. */
  turnOf(owner: WorkOwner): Promise<void>;
  readonly clock: Pick<Clock, "elapsed">;
  /** For work that cannot be done in parts. Undefined: all of it is done here. */
  readonly threads: WorkThreads | undefined;
  /** Counts results that were left out because they would take too much work. */
  readonly onOverBudget: () => void;
};

/** What is smaller is done at once: it has a few thousand members at most. */
export const LONG_WORK_BYTES = 16 * 1024;
/** A client that has worked for this long yields. */
const PART_MS = 4;

export function createLongWork(
  clock: Pick<Clock, "elapsed">,
  threads?: WorkThreads,
  onOverBudget: () => void = () => undefined,
): LongWork {
  const waiting = new Lanes<() => void>();
  /** An error must not hold up those that wait. */
  const failNext = (error: unknown): void => {
    if (waiting.isWaiting) setImmediate(next);
    throwLater(error);
  };
  const next = caught(failNext, () => {
    const found = waiting.take();
    if (found === undefined) return;
    waiting.finish(found.lane, 1);
    if (waiting.isWaiting) setImmediate(next);
    found.item();
  });
  return {
    clock,
    threads,
    onOverBudget,
    turnOf: ({ lane, client }) =>
      new Promise((resolve) => {
        if (!waiting.isWaiting) setImmediate(next);
        waiting.add(lane, client, resolve);
      }),
  };
}

/** The work on one request. Only what turns out to be large is done in parts. */
export class WorkParts {
  readonly #work: LongWork;
  #bytes = 0;
  #began: number | undefined;
  #lane: string | undefined;

  constructor(work: LongWork) {
    this.#work = work;
  }

  /** Says which tenant the rest of the work is for. Until then each client is a tenant of its own. */
  enter(lane: string): void {
    this.#lane = lane;
  }

  /** Reports the size of the processed object in bytes. */
  weigh(bytes: number): void {
    if (bytes > this.#bytes) this.#bytes = bytes;
  }

  get isLong(): boolean {
    return this.#bytes >= LONG_WORK_BYTES;
  }

  /** Undefined if it may continue immediately. */
  pause(client: string): Promise<void> | undefined {
    const { clock } = this.#work;
    if (!this.isLong || (this.#began !== undefined && clock.elapsed() - this.#began < PART_MS)) return undefined;
    return this.#work.turnOf(this.#ownerOf(client)).then(() => {
      this.#began = clock.elapsed();
    });
  }

  /** Another turn of the event loop, in the order of the clients. */
  nextTurn(client: string): Promise<void> {
    return this.#work.turnOf(this.#ownerOf(client));
  }

  run<T>(client: string, steps: Steps<T>): Awaitable<T> {
    return this.isLong ? this.#runInParts(client, steps) : runSteps(steps);
  }

  overBudget(): void {
    this.#work.onOverBudget();
  }

  /** Undefined where there are no threads. */
  aside<T extends WorkType>(
    client: string,
    type: T,
    work: () => WorkOf<T>,
    signal: AbortSignal,
  ): Promise<ResultOf<T>> | undefined {
    return this.#work.threads?.run(this.#ownerOf(client), type, work(), signal);
  }

  #ownerOf(client: string): WorkOwner {
    return { lane: this.#lane ?? `user:${client}`, client };
  }

  async #runInParts<T>(client: string, steps: Steps<T>): Promise<T> {
    for (;;) {
      await this.pause(client);
      const { done, value } = steps.next();
      if (done === true) return value;
    }
  }
}
