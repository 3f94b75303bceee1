// Brings memory up to the store for credentials that it does not know: another server may just have issued them.

import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import { sourceOf } from "@postern/apiserver/limits/rate-limiter";
import type { Clock, Scheduler } from "@postern/apiserver/runtime/clock";

/**
 * Resolves when memory shows everything that had been written at the call, or when that cannot be found out; undefined if it does already,
 * and where too many wait. Never rejects. `address` is that of the peer. `isFormless`: any client can make up such a value, so these have places of
 * their own to wait in.
 */
export type CatchUp = (address: string, value?: { readonly isFormless: boolean }) => Promise<void> | undefined;

/**
 * Time between two questions to the store. All waiting requests share one, so that guesses cost the store no more than this and delay no others
 * longer.
 */
const INTERVAL_MS = 25;
/** A credential that is still unknown then is refused: clients must not wait for a store that does not answer. */
const PATIENCE_MS = 1_500;
/** Further ones are refused at once, except that each source has one place in any case. */
const FORMED = { most: 5_000, ofSource: 500 } as const;
const FORMLESS = { most: 1_000, ofSource: 100 } as const;

export function createCatchUp(deps: {
  readonly cache: Pick<WatchCache, "isNewest" | "refresh">;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
}): CatchUp {
  const { cache, clock, scheduler } = deps;
  let askedAt = Number.NEGATIVE_INFINITY;
  /** The question that has not been put yet, so that its answer has everything from before. */
  let next: Promise<void> | undefined;
  const formed = createPlaces(FORMED);
  const formless = createPlaces(FORMLESS);

  const ask = async (): Promise<void> => {
    next = undefined;
    askedAt = clock.elapsed();
    const patience = new AbortController();
    const timer = scheduler.schedule(PATIENCE_MS, () => patience.abort());
    try {
      await cache.refresh({ signal: patience.signal });
    } catch {
      // The credential stays unknown.
    } finally {
      timer[Symbol.dispose]();
    }
  };

  const soon = (): Promise<void> => {
    const delay = askedAt + INTERVAL_MS - clock.elapsed();
    if (next === undefined && delay <= 0) return ask();
    next ??= new Promise<void>((resolve) => scheduler.schedule(delay, resolve)).then(ask);
    return next;
  };

  return (address, { isFormless } = { isFormless: false }) => {
    if (cache.isNewest()) return undefined;
    const leave = (isFormless ? formless : formed).take(sourceOf(address));
    return leave === undefined ? undefined : soon().finally(leave);
  };
}

/** Places to wait in. No source can take those of others, however many it guesses from. */
function createPlaces({ most, ofSource }: { readonly most: number; readonly ofSource: number }) {
  const taken = new Map<string, number>();
  let total = 0;
  return {
    /** Returns what gives the place back; undefined where there is none. */
    take(source: string): (() => void) | undefined {
      const own = taken.get(source) ?? 0;
      if (own > 0 && (own >= ofSource || total >= most)) return undefined;
      taken.set(source, own + 1);
      total++;
      return () => {
        const left = (taken.get(source) ?? 1) - 1;
        if (left > 0) taken.set(source, left);
        else taken.delete(source);
        total--;
      };
    },
  };
}
