// Limits of writes hold for all threads together: the first one has the locks.

import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import type { LimitLocks } from "@postern/apiserver/registry/store/limit-locks";

/** The locks that one further thread holds, each by a number. Disposed when the thread has ended: others go on. */
export type ThreadLimits = Disposable & {
  hold(names: readonly string[]): Promise<number>;
  release(number: number): void;
};

export function createThreadLimits(locks: LimitLocks): ThreadLimits {
  const held = new Map<number, () => void>();
  let last = 0;
  let isOver = false;
  return {
    async hold(names) {
      const release = await locks.hold(names);
      const number = ++last;
      if (isOver) release();
      else held.set(number, release);
      return number;
    },
    release(number) {
      held.get(number)?.();
      held.delete(number);
    },
    [Symbol.dispose]() {
      isOver = true;
      for (const release of held.values()) release();
      held.clear();
    },
  };
}

/** To a thread with `ThreadLimits` for this one. */
type LimitsLink = {
  call(method: "holdLimits", names: readonly string[]): Promise<number>;
  note(method: "releaseLimits", number: number): void;
};

/** Those of the thread at the other end. */
export const limitLocksBehind = (link: () => LimitsLink): LimitLocks => ({
  async hold(names) {
    const number = await link().call("holdLimits", names);
    return () => link().note("releaseLimits", number);
  },
});

/** Behind a lock, memory shows what other threads have written under it. */
export const currentLimitLocks = (locks: LimitLocks, cache: Pick<WatchCache, "isNewest" | "refresh">): LimitLocks => ({
  async hold(names) {
    const release = await locks.hold(names);
    try {
      if (!cache.isNewest()) await cache.refresh();
    } catch (error) {
      release();
      throw error;
    }
    return release;
  },
});
