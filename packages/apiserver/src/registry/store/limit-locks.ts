// The locks of limits: writes under a limit of the same name go one after the other.

import { createKeyedLock } from "./keyed-lock.ts";

export type LimitLocks = {
  /** Resolves once the caller alone holds all of these names, with what releases them. */
  hold(names: readonly string[]): Promise<() => void>;
};

export function createLimitLocks(): LimitLocks {
  const locks = createKeyedLock();
  return {
    async hold(names) {
      // Two writes that wait for each other would wait for ever: all lock the names in one order, and each name once.
      const held = [...new Set(names)].sort();
      for (const name of held) await locks.acquire(name);
      return () => {
        for (const name of held) locks.release(name);
      };
    },
  };
}
