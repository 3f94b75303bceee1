// Gives places to waiting requests, one in each step, in an order that is fair between lanes, and between users with and without expensive requests.

import { caught, throwLater } from "@postern/apimachinery/steps/caught";
import type { Scheduler } from "../runtime/clock.ts";
import type { EventLoopBudget } from "./event-loop-budget.ts";

/** The waiting requests of one lane. */
export type WaitingLane = {
  /** Whether its users get places while they owe time. */
  readonly isUrgent: boolean;
  /** Gives a place to the next request of these users. False if none may have one. */
  grantNext(isGiven: (user: string) => boolean): boolean;
};

/** Delay of the next step after an error. */
const RETRY_MS = 10;

export class PlaceGranter {
  readonly #lanes: readonly WaitingLane[];
  readonly #budget: EventLoopBudget;
  readonly #scheduler: Scheduler;
  readonly #step: () => void;
  readonly #stepAnew: () => void;
  #isStepping = false;
  /** Round-robin between lanes: a lane with a permanent queue must not starve the others. */
  #nextLane = 0;
  /** Fires when the first of the waiting users has paid its debt. */
  #payment: Disposable | undefined;
  #soonestMs = Number.POSITIVE_INFINITY;

  constructor(lanes: readonly WaitingLane[], budget: EventLoopBudget, scheduler: Scheduler) {
    this.#lanes = lanes;
    this.#budget = budget;
    this.#scheduler = scheduler;
    this.#step = caught(this.#failStep, () => this.#takeStep());
    // Newly arrived requests may take whole turns, one after the other: earlier ones go on beside them.
    this.#stepAnew = caught(this.#failStep, () => {
      budget.restart();
      this.#takeStep();
    });
    budget.whenNoneWaits(() => {
      if (this.#payment !== undefined) this.stepSoon();
    });
  }

  /** Begins to give places, unless that is under way. */
  readonly stepSoon = (): void => {
    if (this.#isStepping) return;
    this.#isStepping = true;
    process.nextTick(this.#step);
  };

  #takeStep(): void {
    this.#budget.rest();
    this.#payment?.[Symbol.dispose]();
    this.#payment = undefined;
    if (this.#budget.isOver()) {
      setImmediate(this.#stepAnew);
      return;
    }
    this.#soonestMs = Number.POSITIVE_INFINITY;
    // The request that got the place runs first, so that its time is known.
    if (this.#grantNext(this.#owesNothing) || this.#grantNext(this.#isAlone)) {
      const stepNext = (): void => process.nextTick(this.#step);
      queueMicrotask(caught(this.#failStep, stepNext));
      return;
    }
    this.#isStepping = false;
    if (Number.isFinite(this.#soonestMs))
      this.#payment = this.#scheduler.schedule(Math.ceil(this.#soonestMs), this.stepSoon);
  }

  #grantNext(isGiven: (user: string) => boolean): boolean {
    for (let tried = 0; tried < this.#lanes.length; tried++) {
      const lane = this.#lanes[this.#nextLane];
      this.#nextLane = (this.#nextLane + 1) % this.#lanes.length;
      if (lane?.grantNext(lane.isUrgent ? anyUser : isGiven) === true) return true;
    }
    return false;
  }

  readonly #owesNothing = (user: string): boolean => {
    const debtMs = this.#budget.debtMs(user);
    if (debtMs > 0) this.#soonestMs = Math.min(this.#soonestMs, debtMs);
    return debtMs === 0;
  };

  readonly #isAlone = (user: string): boolean => !this.#budget.isAnyOtherWaiting(user);

  /** An error must not hold up those that wait. */
  readonly #failStep = (error: unknown): void => {
    this.#isStepping = false;
    this.#payment ??= this.#scheduler.schedule(RETRY_MS, this.stepSoon);
    throwLater(error);
  };
}

const anyUser = (): boolean => true;
