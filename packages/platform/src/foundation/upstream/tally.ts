// Counts things by several names at once.

export type Tally = {
  of(name: string): number;
  /** Counts one thing by each of the names, until it is disposed. */
  count(...names: readonly (string | undefined)[]): Disposable;
};

export function createTally(): Tally {
  const counts = new Map<string, number>();
  const of = (name: string): number => counts.get(name) ?? 0;
  return {
    of,
    count(...names) {
      const counted = names.filter((name) => name !== undefined);
      for (const name of counted) counts.set(name, of(name) + 1);
      let isCounted = true;
      return {
        [Symbol.dispose]() {
          if (!isCounted) return;
          isCounted = false;
          for (const name of counted) {
            const left = of(name) - 1;
            if (left === 0) counts.delete(name);
            else counts.set(name, left);
          }
        },
      };
    },
  };
}
