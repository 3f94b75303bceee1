// How long the cache can be trusted if other servers write to the same store: without a connection to the store, this server does not learn of their
// changes and revocations.

import type { HealthCheck } from "../health/health-check.ts";
import type { Runtime } from "../runtime/clock.ts";
import type { WatchCache } from "./watch-cache.ts";

export type Freshness = {
  /** False when something may have been written longer than the bound ago that the cache does not show. */
  isFresh(): boolean;
  /** Calls back once when that ends, until disposed; soon where it has ended already. */
  onStale(listener: () => void): Disposable;
};

/** For a store that this process owns: the cache shows everything that has happened. */
export const ALWAYS_FRESH: Freshness = {
  isFresh: () => true,
  onStale: () => ({ [Symbol.dispose]: () => undefined }),
};

/** As long as both are. */
export const bothFresh = (one: Freshness, other: Freshness): Freshness => ({
  isFresh: () => one.isFresh() && other.isFresh(),
  onStale(listener) {
    const watches: Disposable[] = [];
    const first = (): void => {
      for (const watch of watches.splice(0)) {
        watch[Symbol.dispose]();
      }
      listener();
    };
    watches.push(one.onStale(first), other.onStale(first));
    return {
      [Symbol.dispose]: () => {
        for (const watch of watches.splice(0)) watch[Symbol.dispose]();
      },
    };
  },
});

/**
 * Writes to the store this long ago, in milliseconds, are in force on every server that answers. Longer than a member of etcd
 * takes to be given up and a new leader of theirs to be found, so that a server stays fresh through the loss of one.
 */
export const FRESHNESS_BOUND_MS = 10_000;
const INTERVAL_MS = 1_000;

export type FollowedFreshness = Freshness &
  Disposable & {
    /** Resolves once the store has answered for the first time; stays open where this is disposed before. */
    readonly confirmed: Promise<void>;
  };

/** Asks the store for its revision once a second, until it is disposed; not fresh before the first answer. */
export function followFreshness(deps: {
  readonly cache: Pick<WatchCache, "refresh">;
  readonly runtime: Pick<Runtime, "clock" | "scheduler">;
}): FollowedFreshness {
  const { cache, runtime } = deps;
  const { clock, scheduler } = runtime;
  const stopping = new AbortController();
  const listeners = new Set<() => void>();
  /** All that had been written then is shown: when the question was asked, not when the answer came. */
  let confirmedAt = Number.NEGATIVE_INFINITY;
  let next: Disposable | undefined;
  let end: Disposable | undefined;
  let settleConfirmed = (): void => {};
  const confirmed = new Promise<void>((resolve) => {
    settleConfirmed = resolve;
  });

  // By elapsed time: a process that was suspended notices it first, and setting the clock has no effect.
  const isFresh = (): boolean => clock.elapsed() - confirmedAt <= FRESHNESS_BOUND_MS;

  const notifyWhenStale = (): void => {
    end?.[Symbol.dispose]();
    // One more than the bound, which is still fresh.
    const left = Math.max(confirmedAt + FRESHNESS_BOUND_MS + 1 - clock.elapsed(), 0);
    end = scheduler.schedule(left, () => {
      if (isFresh()) return notifyWhenStale();
      for (const listener of [...listeners]) listener();
    });
  };
  const confirm = async (): Promise<void> => {
    const askedAt = clock.elapsed();
    // A confirmation of any age within the bound will do: a slow store does not lock clients out.
    await cache.refresh({ signal: stopping.signal, timeoutMs: FRESHNESS_BOUND_MS });
    if (askedAt <= confirmedAt || stopping.signal.aborted) return;
    confirmedAt = askedAt;
    notifyWhenStale();
    settleConfirmed();
  };
  // A question without an answer does not delay the next one.
  const ask = (): void => {
    // An unreachable store shows as a missing confirmation.
    confirm().catch(() => undefined);
    next = scheduler.schedule(INTERVAL_MS, ask);
  };
  ask();

  return {
    confirmed,
    isFresh,
    onStale(listener) {
      // Told apart from the same function given twice.
      const own = (): void => {
        listeners.delete(own);
        listener();
      };
      listeners.add(own);
      if (!isFresh()) queueMicrotask(() => listeners.has(own) && own());
      return { [Symbol.dispose]: () => void listeners.delete(own) };
    },
    [Symbol.dispose]() {
      stopping.abort();
      listeners.clear();
      for (const timer of [next, end]) timer?.[Symbol.dispose]();
    },
  };
}

/** Fails while no request can be admitted. */
export const freshnessCheck = (freshness: Freshness): HealthCheck => ({
  name: "freshness",
  check() {
    if (!freshness.isFresh()) throw new Error("the store has not confirmed the state of this server for too long");
  },
});
