// Exclusive locks by key. They serialize retries of conflicting writes: in parallel, the work of a hundred writers would grow with the square of their
// number.

export type KeyedLock = {
  /** Undefined if the lock is free; otherwise resolves when the caller holds it. In order of arrival, until `release`. */
  acquire(key: string): Promise<void> | undefined;
  release(key: string): void;
};

export function createKeyedLock(): KeyedLock {
  /** By key: those that wait for the one that holds the lock. */
  const waiting = new Map<string, (() => void)[]>();
  return {
    acquire(key) {
      const others = waiting.get(key);
      if (others !== undefined) return new Promise((resolve) => others.push(resolve));
      waiting.set(key, []);
      return undefined;
    },
    release(key) {
      const next = waiting.get(key)?.shift();
      if (next === undefined) waiting.delete(key);
      else next();
    },
  };
}
