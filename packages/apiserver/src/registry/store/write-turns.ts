// Serializes retries on conflicting writes of one object. In parallel, the work of a hundred writers would grow with the square of their number.

export type WriteTurns = {
  /** Undefined when it is the caller's turn at once; otherwise resolves when it is. The turn lasts until `end`. */
  take(key: string): Promise<void> | undefined;
  end(key: string): void;
};

export function createWriteTurns(): WriteTurns {
  /** Waiting writers by the key of the object. */
  const waiting = new Map<string, (() => void)[]>();
  return {
    take(key) {
      const others = waiting.get(key);
      if (others !== undefined) return new Promise((resolve) => others.push(resolve));
      waiting.set(key, []);
      return undefined;
    },
    end(key) {
      const next = waiting.get(key)?.shift();
      if (next === undefined) waiting.delete(key);
      else next();
    },
  };
}
