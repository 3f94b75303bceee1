// The keys that are counted most often within a day, in a structure that does not grow with the number of keys.
// Source: Misra and Gries, Finding repeated elements (1982); in batches, as in Agarwal et al., Mergeable summaries (2012)

const HOUR_MS = 3_600_000;
const HOURS = 24;
/** Keys of each hour that are kept for certain if they have more than this part of its counts: one of 128. */
const KEPT = 128;

/**
 * Each hour has at most twice as many keys as are kept. When it is full, all counts are lowered by that of the first key that is not kept, so that a
 * count is never too high, and too low by at most a 128th of the hour's counts.
 */
export class FrequentKeys {
  readonly #hours: { hour: number; readonly counts: Map<string, number> }[] = Array.from({ length: HOURS }, () => ({
    hour: -1,
    counts: new Map(),
  }));

  /** `id`: the public handle of the credential. `now`: milliseconds since the epoch. */
  add(id: string, now: number, count = 1): void {
    const hour = Math.floor(now / HOUR_MS);
    const slot = this.#hours[hour % HOURS];
    if (slot === undefined) return;
    if (slot.hour !== hour) {
      slot.counts.clear();
      slot.hour = hour;
    }
    const { counts } = slot;
    counts.set(id, (counts.get(id) ?? 0) + count);
    if (counts.size >= 2 * KEPT) lower(counts);
  }

  /** The first `limit` keys of the last 24 hours, the most frequent first. */
  read(limit: number, now: number): readonly { readonly id: string; readonly count: number }[] {
    const hour = Math.floor(now / HOUR_MS);
    const sums = new Map<string, number>();
    for (const { hour: of, counts } of this.#hours) {
      if (of <= hour - HOURS || of > hour) continue;
      for (const [id, count] of counts) sums.set(id, (sums.get(id) ?? 0) + count);
    }
    return [...sums]
      .map(([id, count]) => ({ id, count }))
      .sort((one, other) => other.count - one.count)
      .slice(0, limit);
  }
}

function lower(counts: Map<string, number>): void {
  const [limit = 0] = [...counts.values()].sort((one, other) => other - one).slice(KEPT);
  for (const [id, count] of counts) {
    if (count <= limit) counts.delete(id);
    else counts.set(id, count - limit);
  }
}
