// The activity of a server as plain data, which several servers of one process add up.

import type { FrequentKeys } from "./frequent-keys.ts";
import { MINUTE_MS, type MinuteCounts } from "./minute-ring.ts";
import type { CertificateUse } from "./recent-certificates.ts";
import type { RecentChange } from "./recent-changes.ts";
import type { ServerActivity } from "./server-activity.ts";

/** With the holder where it is a client certificate. */
type CountedKey = { readonly id: string; readonly count: number } & Partial<CertificateUse>;

export type ActivitySnapshot = {
  /** Milliseconds since the epoch: the begin of the first minute of `counts`. */
  readonly from: number;
  readonly counts: MinuteCounts;
  readonly openWatches: number;
  /** Milliseconds since the epoch; undefined since the start. */
  readonly metricsReadAt: number | undefined;
  /** The most frequent first. */
  readonly used: readonly CountedKey[];
  readonly refused: readonly CountedKey[];
  /** The changes of the last hour, the newest first. */
  readonly changes: readonly RecentChange[];
};

const HOUR_MS = 3_600_000;

/** `now`: milliseconds since the epoch. */
export const snapshotOf = (activity: ServerActivity, now: number): ActivitySnapshot => ({
  ...activity.minutes.read(now),
  openWatches: activity.openWatches(),
  metricsReadAt: activity.metricsReadAt(),
  used: countedIn(activity.used, activity, now),
  refused: countedIn(activity.refused, activity, now),
  changes: activity.changes.since(now - HOUR_MS),
});

const countedIn = (keys: FrequentKeys, { certificates }: ServerActivity, now: number): readonly CountedKey[] =>
  keys.read(Number.POSITIVE_INFINITY, now).map((key) => ({ ...key, ...certificates.find(key.id) }));

/** The most watches of a minute are added as well: they may have been open at different times of it. */
export function addActivity(one: ActivitySnapshot, ...others: readonly ActivitySnapshot[]): ActivitySnapshot {
  const all = [one, ...others];
  const from = Math.min(...all.map((each) => each.from));
  const sums = (name: keyof MinuteCounts): readonly number[] => {
    const sum: number[] = [];
    for (const { from: begin, counts } of all) {
      const first = (begin - from) / MINUTE_MS;
      for (const [index, count] of counts[name].entries()) sum[first + index] = (sum[first + index] ?? 0) + count;
    }
    return Array.from(sum, (count = 0) => count);
  };
  const read = all.flatMap(({ metricsReadAt }) => metricsReadAt ?? []);
  return {
    from,
    counts: { requests: sums("requests"), refused: sums("refused"), failed: sums("failed"), watches: sums("watches") },
    openWatches: all.reduce((sum, { openWatches }) => sum + openWatches, 0),
    metricsReadAt: read.length === 0 ? undefined : Math.max(...read),
    used: addKeys(all.map(({ used }) => used)),
    refused: addKeys(all.map(({ refused }) => refused)),
    changes: all.flatMap(({ changes }) => changes).sort((a, b) => b.at - a.at),
  };
}

function addKeys(lists: readonly (readonly CountedKey[])[]): readonly CountedKey[] {
  const sums = new Map<string, CountedKey>();
  for (const key of lists.flat()) {
    const before = sums.get(key.id);
    sums.set(key.id, { ...before, ...key, count: (before?.count ?? 0) + key.count });
  }
  return [...sums.values()].sort((a, b) => b.count - a.count);
}
