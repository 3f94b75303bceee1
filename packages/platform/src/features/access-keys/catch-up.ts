// Brings memory up to the store for credentials that it does not know: another server may just have issued them.

import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import type { Clock, Scheduler } from "@postern/apiserver/runtime/clock";

/**
 * Resolves when memory shows everything that had been written at the call, or when that cannot be found out; undefined if it does already,
 * and where too many wait. Never rejects. `isFormless`: anybody can make up such values, so they have places of their own to wait in.
 */
export type CatchUp = (isFormless?: boolean) => Promise<void> | undefined;

export type CatchUpDeps = {
  readonly cache: Pick<WatchCache, "isNewest" | "refresh">;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
};

/** From one question to the next: all that wait share one, so that guesses cost the store no more than this, and delay nobody else longer. */
const INTERVAL_MS = 25;
/** A credential that is still unknown then is refused: clients must not wait for a store that does not answer. */
const PATIENCE_MS = 1_500;
/** Further ones are refused at once. */
const MAX_WAITING = 5_000;
const MAX_FORMLESS = 1_000;

export function createCatchUp({ cache, clock, scheduler }: CatchUpDeps): CatchUp {
  let askedAt = Number.NEGATIVE_INFINITY;
  /** The question that has not been put yet, so that its answer has everything from before. */
  let next: Promise<void> | undefined;
  const waiting = { formed: 0, formless: 0 };

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

  return (isFormless = false) => {
    const [kind, most] = isFormless ? (["formless", MAX_FORMLESS] as const) : (["formed", MAX_WAITING] as const);
    if (waiting[kind] >= most || cache.isNewest()) return undefined;
    waiting[kind]++;
    return soon().finally(() => {
      waiting[kind]--;
    });
  };
}
