// Fair sharing of concurrency. Every request in progress holds a place. Places are shared fairly between users, and revocations and administrators
// have reserved places.

import type { Clock, Scheduler } from "../runtime/clock.ts";
import { type BodyAccount, BodyMemory, type Claimant, NoPlaceError } from "./body-memory.ts";
import { createEventLoopBudget, type EventLoopBudget } from "./event-loop-budget.ts";
import { PlaceGranter } from "./place-granter.ts";

/**
 * `urgent` is for what must work while others attack: requests that withdraw a key, reports of leaked keys, and administrators. The shares
 * hold there as well, so that one of them does not keep the rest away.
 */
export type Lane = "readOnly" | "mutating" | "urgent";
export const LANES: readonly Lane[] = ["readOnly", "mutating", "urgent"];

export type FairShareLimits = {
  /** Places of each lane; 0 means no bound. Read for each request: they may change. */
  readonly places: Readonly<Record<Lane, number>>;
  /** How much of a lane, and of the memory for bodies, one user may hold; between 0 and 1. */
  readonly userShare: number;
  readonly keyShare: number;
  /** How long a request waits for a place. */
  readonly queueMs: number;
  /** Bytes of request bodies in memory. */
  readonly bodyBytes: number;
};

export const DEFAULT_FAIR_SHARES: FairShareLimits = {
  places: { readOnly: 400, mutating: 200, urgent: 600 },
  userShare: 0.5,
  keyShare: 0.25,
  // A quarter of the time that a request has, as upstream.
  queueMs: 15_000,
  bodyBytes: 256 << 20,
};

/** A request that waits: its signal is read only when it has to wait. */
export type Waitable = { readonly signal: AbortSignal };

/** Held until disposed, which may be done more than once. */
export type Place = Disposable;

export type FairShares = {
  /** At once, where there is a place; else when one is given back. Rejects with NoPlaceError, or with the signal's reason. */
  take(lane: Lane, claimant: Claimant, request: Waitable): Place | Promise<Place>;
  /** A place for more work on a request in progress: it may wait for a turn, and is never refused. */
  takeAgain(lane: Lane, claimant: Claimant, request: Waitable): Place | Promise<Place>;
  /** The same for the next part of a long answer, which is never made before its turn, even if no other request waits. */
  takeTurn(lane: Lane, claimant: Claimant, request: Waitable): Promise<Place>;
  /** Memory for a body; `giveUp` is called when it has to make way for others'. */
  body(claimant: Claimant, giveUp: (error: NoPlaceError) => void): BodyAccount;
  /** How many bodies are being received, or worked on. */
  readonly bodies: number;
  readonly state: Readonly<Record<Lane, { readonly taken: number; readonly waiting: number }>>;
};

/** How many requests may wait for each place that a user or key may hold. */
const WAITING_PER_PLACE = 10;

type Waiter = { readonly key: string; readonly grant: () => void };
type UserState = {
  taken: number;
  readonly isUnauthenticated: boolean;
  readonly keys: Map<string, number>;
  readonly waiting: Waiter[];
};

export type FairSharesDeps = {
  readonly clock: Pick<Clock, "elapsed">;
  readonly scheduler: Scheduler;
  /** After which the event loop looks for others' requests, of which the most modest come next. Default: one of their own. */
  readonly eventLoopBudget?: EventLoopBudget | undefined;
  /** Memory of the process is short: large bodies are refused. Default: it never is. */
  readonly isShort?: (() => boolean) | undefined;
};

export function createFairShares(
  limits: FairShareLimits,
  { clock, scheduler, eventLoopBudget: budget = createEventLoopBudget(clock), isShort }: FairSharesDeps,
): FairShares {
  const lanes = Object.fromEntries(
    LANES.map((lane) => [lane, new LaneState(limits, () => limits.places[lane])]),
  ) as Record<Lane, LaneState>;
  const bodies = new BodyMemory({ ...limits, isShort });
  const waiting = LANES.map((lane) => ({
    isUrgent: lane === "urgent",
    grantNext: (isGiven: (user: string) => boolean) => lanes[lane].grantNext(isGiven),
  }));
  const { stepSoon } = new PlaceGranter(waiting, budget, scheduler);
  const isAlone = (user: string): boolean => !budget.isAnyOtherWaiting(user);
  const placeIn = (state: LaneState, claimant: Claimant): Place => new HeldPlace(state, claimant, stepSoon);
  const wait = (state: LaneState, claimant: Claimant, signal: AbortSignal, maxMs: number | undefined): Promise<Place> =>
    new Promise((resolve, reject) => {
      const settle = (): void => {
        timer?.[Symbol.dispose]();
        signal.removeEventListener("abort", onAbort);
      };
      const leave = (error: unknown): void => {
        settle();
        state.leave(claimant, waiter);
        reject(error);
      };
      const onAbort = (): void => leave(signal.reason);
      const waiter = {
        key: claimant.key,
        grant() {
          settle();
          budget.work(claimant.user);
          resolve(placeIn(state, claimant));
        },
      };
      const timer =
        maxMs === undefined ? undefined : scheduler.schedule(maxMs, () => leave(new NoPlaceError("time-out")));
      signal.addEventListener("abort", onAbort, { once: true });
      state.enqueue(claimant, waiter);
      if (signal.aborted) onAbort();
      else stepSoon();
    });

  return {
    take(lane, claimant, request) {
      const state = lanes[lane];
      const hasPaid = lane === "urgent" || budget.debtMs(claimant.user) === 0 || isAlone(claimant.user);
      if (hasPaid && state.isFree(claimant) && !budget.isOver()) {
        budget.work(claimant.user);
        return placeIn(state, claimant);
      }
      if (state.isQueueFull(claimant) || (limits.queueMs === 0 && !state.isFree(claimant))) {
        throw new NoPlaceError("queue-full");
      }
      return wait(state, claimant, request.signal, limits.queueMs);
    },
    takeAgain(lane, claimant, request) {
      const state = lanes[lane];
      if (state.isFree(claimant) && !budget.isOver()) return placeIn(state, claimant);
      return wait(state, claimant, request.signal, undefined);
    },
    takeTurn: (lane, claimant, request) => wait(lanes[lane], claimant, request.signal, undefined),
    body: (claimant, giveUp) => bodies.open(claimant, giveUp),
    get bodies() {
      return bodies.count;
    },
    get state() {
      return lanes;
    },
  };
}

/** A class: every request has one, and objects with a method under a symbol are slow to make. */
class HeldPlace implements Disposable {
  readonly #state: LaneState;
  readonly #claimant: Claimant;
  readonly #onFree: () => void;
  #isHeld = true;

  constructor(state: LaneState, claimant: Claimant, onFree: () => void) {
    this.#state = state;
    this.#claimant = claimant;
    this.#onFree = onFree;
    state.hold(claimant);
  }

  [Symbol.dispose](): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#state.giveBack(this.#claimant);
    if (this.#state.waiting > 0) this.#onFree();
  }
}

/** The next user to get a place, and the index of its waiting request. */
type Next = { readonly user: string; readonly state: UserState; readonly at: number };

/**
 * The places of one lane. Users with and without a credential take turns; of each, the one with the fewest places comes first, then the one that
 * waits longest.
 */
class LaneState {
  readonly #limits: FairShareLimits;
  readonly #read: () => number;
  /** Users with places or waiting requests, the most recently served one last. */
  readonly #users = new Map<string, UserState>();
  /** The last user who left no request: most of the time it is the next one, too, and its state need not be made anew. */
  #idle: string | undefined;
  #isUnauthenticatedTurn = false;
  taken = 0;
  waiting = 0;

  constructor(limits: FairShareLimits, places: () => number) {
    this.#limits = limits;
    this.#read = places;
  }

  get #places(): number {
    const places = this.#read();
    return places === 0 ? Number.POSITIVE_INFINITY : places;
  }

  get #perUser(): number {
    return shareOf(this.#places, this.#limits.userShare);
  }

  get #perKey(): number {
    return shareOf(this.#places, this.#limits.keyShare);
  }

  /** Whether there is a place for the request, and for those of its user that wait. */
  isFree({ user, key }: Claimant): boolean {
    if (this.taken >= this.#places) return false;
    const state = this.#users.get(user);
    if (state === undefined) return true;
    const ahead = state.waiting.length;
    return this.taken + ahead < this.#places && this.#mayHold(state, key, ahead);
  }

  /** Waiting requests take little, and most of them are worked on within milliseconds. */
  isQueueFull({ user, key }: Claimant): boolean {
    const waiting = this.#users.get(user)?.waiting ?? [];
    const [ofUser, ofKey] = [this.#perUser * WAITING_PER_PLACE, this.#perKey * WAITING_PER_PLACE];
    if (waiting.length < ofKey) return false;
    return waiting.length >= ofUser || waiting.filter((waiter) => waiter.key === key).length >= ofKey;
  }

  hold(claimant: Claimant): void {
    const { key } = claimant;
    const state = this.#stateOf(claimant);
    state.taken += 1;
    state.keys.set(key, (state.keys.get(key) ?? 0) + 1);
    this.taken += 1;
  }

  giveBack(claimant: Claimant): void {
    const { user, key } = claimant;
    const state = this.#stateOf(claimant);
    state.taken -= 1;
    const left = (state.keys.get(key) ?? 0) - 1;
    if (left > 0 || state.keys.size === 1) state.keys.set(key, left);
    else state.keys.delete(key);
    this.taken -= 1;
    this.#forget(user, state);
  }

  enqueue(claimant: Claimant, waiter: Waiter): void {
    this.#stateOf(claimant).waiting.push(waiter);
    this.waiting += 1;
  }

  leave(claimant: Claimant, waiter: Waiter): void {
    const { user } = claimant;
    const state = this.#stateOf(claimant);
    const at = state.waiting.indexOf(waiter);
    if (at >= 0) {
      state.waiting.splice(at, 1);
      this.waiting -= 1;
    }
    this.#forget(user, state);
  }

  /** False if no waiting request of those users may have a place. */
  grantNext(isGiven: (user: string) => boolean): boolean {
    if (this.waiting === 0 || this.taken >= this.#places) return false;
    let known: Next | undefined;
    let unauthenticated: Next | undefined;
    for (const [user, state] of this.#users) {
      const best = state.isUnauthenticated ? unauthenticated : known;
      if (state.waiting.length === 0 || (best !== undefined && state.taken >= best.state.taken)) continue;
      if (!isGiven(user)) continue;
      const at = state.waiting.findIndex(({ key }) => this.#mayHold(state, key));
      if (at < 0) continue;
      if (state.isUnauthenticated) unauthenticated = { user, state, at };
      else known = { user, state, at };
    }
    const next = this.#isUnauthenticatedTurn ? (unauthenticated ?? known) : (known ?? unauthenticated);
    if (next === undefined) return false;
    const { user, state, at } = next;
    this.#isUnauthenticatedTurn = !state.isUnauthenticated;
    const [waiter] = state.waiting.splice(at, 1);
    this.waiting -= 1;
    this.#users.delete(user);
    this.#users.set(user, state);
    waiter?.grant();
    return true;
  }

  #mayHold({ taken, keys }: UserState, key: string, ahead = 0): boolean {
    return taken + ahead < this.#perUser && (keys.get(key) ?? 0) + ahead < this.#perKey;
  }

  #stateOf({ user, isUnauthenticated = false }: Claimant): UserState {
    const known = this.#users.get(user);
    if (known !== undefined && this.#idle !== user) return known;
    const isKept = known !== undefined && known.isUnauthenticated === isUnauthenticated;
    const state = isKept ? known : { taken: 0, isUnauthenticated, keys: new Map(), waiting: [] };
    if (this.#idle === user) this.#idle = undefined;
    // Behind those that wait longer.
    if (this.waiting > 0) this.#users.delete(user);
    if (!isKept || this.waiting > 0) this.#users.set(user, state);
    return state;
  }

  #forget(user: string, { taken, waiting }: UserState): void {
    if (taken > 0 || waiting.length > 0) return;
    if (this.#idle !== undefined && this.#idle !== user) this.#users.delete(this.#idle);
    this.#idle = user;
  }
}

const shareOf = (whole: number, share: number): number => Math.max(1, Math.ceil(whole * share));
