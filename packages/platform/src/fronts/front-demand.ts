// When further fronts begin and end, and which connections move: decided from looks at the load of those that serve.

/** `busy`: the part of the time since the last look in which the event loop worked. */
export type FrontLoad = { readonly busy: number; readonly connections: number };

export const LOOK_MS = 1_000;

/** A front that is busy for longer answers late. */
const BUSY = 0.7;
/** Those that stay are far from busy: a front that ends is not needed again soon. */
const IDLE = 0.35;

export type DemandTimes = {
  /** Looks in a row in which the fronts are busy, before another begins. */
  readonly busyLooks: number;
  /** Looks in a row in which one of them is not needed, before it ends. */
  readonly idleLooks: number;
};

export const DEMAND_TIMES: DemandTimes = { busyLooks: 10, idleLooks: 300 };

/** The need at successive looks. It begins anew with each answer, so that the next one waits as long. */
export class FrontDemand {
  readonly #times: DemandTimes;
  #busy = 0;
  #idle = 0;

  constructor(times: DemandTimes = DEMAND_TIMES) {
    this.#times = times;
  }

  look(loads: readonly FrontLoad[]): "more" | "fewer" | undefined {
    const sum = loads.reduce((all, { busy }) => all + busy, 0);
    this.#busy = sum > BUSY * loads.length ? this.#busy + 1 : 0;
    this.#idle = loads.length > 1 && sum < IDLE * (loads.length - 1) ? this.#idle + 1 : 0;
    if (this.#busy >= this.#times.busyLooks) return this.#answer("more");
    if (this.#idle >= this.#times.idleLooks) return this.#answer("fewer");
    return undefined;
  }

  #answer<T>(need: T): T {
    this.#busy = 0;
    this.#idle = 0;
    return need;
  }
}

/** Fronts with fewer connections above the mean, or a smaller part of it, are left alone. */
const FEW = 2;
const SMALL_PART = 0.25;

/** How many connections of each front end, so that their clients open others. The kernel draws a front for each, of which many come back: more move at the next look. */
export function movesOf(loads: readonly FrontLoad[]): readonly number[] {
  const mean = loads.reduce((sum, { connections }) => sum + connections, 0) / loads.length;
  return loads.map(({ connections }) => {
    const excess = connections - mean;
    return excess > Math.max(FEW, SMALL_PART * mean) ? Math.ceil(excess) : 0;
  });
}
