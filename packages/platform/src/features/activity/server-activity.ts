// Follows the requests of all surfaces of a server: counts by minute and by key, and the newest changes.

import type { ObservedRequest, RequestObserver } from "@postern/apiserver/chain/request-observer";
import type { Clock } from "@postern/apiserver/runtime/clock";
import type { ActivitySnapshot, CountedKey } from "./activity-snapshot.ts";
import { FrequentKeys } from "./frequent-keys.ts";
import { MinuteRing } from "./minute-ring.ts";
import { RecentCertificates } from "./recent-certificates.ts";
import { RecentChanges } from "./recent-changes.ts";

const DAY_MINUTES = 1_440;
const HOUR_MS = 3_600_000;
const METRICS_PATH = "/metrics";

export type ServerActivity = {
  readonly observer: RequestObserver;
  /** All of it, of this thread and of what others have added. */
  read(): ActivitySnapshot;
  /** The counts of this thread since they were taken last: they are forgotten here. */
  take(): ActivitySnapshot;
  /** Adds those that another thread has taken. */
  add(part: ActivitySnapshot, thread: number): void;
  /** A thread has ended, and its watches with it. */
  end(thread: number): void;
};

type Counted = {
  readonly minutes: MinuteRing;
  readonly used: FrequentKeys;
  readonly refused: FrequentKeys;
  readonly changes: RecentChanges;
  readonly certificates: RecentCertificates;
  /** Milliseconds since the epoch. */
  metricsReadAt: number | undefined;
};

const nothingCounted = (now: number): Counted => ({
  minutes: new MinuteRing(DAY_MINUTES, now),
  used: new FrequentKeys(),
  refused: new FrequentKeys(),
  changes: new RecentChanges(),
  certificates: new RecentCertificates(),
  metricsReadAt: undefined,
});

export function createServerActivity(clock: Pick<Clock, "now">): ServerActivity {
  let counted = nothingCounted(clock.now());
  let watches = 0;
  /** Of other threads, as far as they have said. */
  const watchesOf = new Map<number, number>();
  let watchesOfOthers = 0;
  const addUpWatches = (): void => {
    watchesOfOthers = [...watchesOf.values()].reduce((sum, each) => sum + each, 0);
  };
  const read = (): ActivitySnapshot => {
    const { minutes, used, refused, changes, certificates, metricsReadAt } = counted;
    const now = clock.now();
    const keysOf = (keys: FrequentKeys) =>
      keys.read(Number.POSITIVE_INFINITY, now).map((key) => ({ ...key, ...certificates.find(key.id) }));
    return {
      ...minutes.read(now),
      openWatches: watches + watchesOfOthers,
      metricsReadAt,
      used: keysOf(used),
      refused: keysOf(refused),
      changes: changes.since(now - HOUR_MS),
    };
  };
  const addKeys = (keys: FrequentKeys, added: readonly CountedKey[], now: number): void => {
    for (const { id, count, owner, virtualCluster } of added) {
      keys.add(id, now, count);
      if (owner !== undefined && virtualCluster !== undefined) counted.certificates.add(id, { owner, virtualCluster });
    }
  };
  return {
    read,
    take() {
      const taken = read();
      counted = nothingCounted(clock.now());
      return taken;
    },
    add({ from, counts, openWatches, metricsReadAt = 0, used, refused, changes }, thread) {
      const now = clock.now();
      const { minutes } = counted;
      minutes.addCounts(from, counts, now);
      watchesOf.set(thread, Math.max(openWatches, ...counts.watches));
      addUpWatches();
      minutes.raise("watches", watches + watchesOfOthers, now);
      watchesOf.set(thread, openWatches);
      addUpWatches();
      if (metricsReadAt > (counted.metricsReadAt ?? 0)) counted.metricsReadAt = metricsReadAt;
      addKeys(counted.used, used, now);
      addKeys(counted.refused, refused, now);
      for (const change of changes.toReversed()) counted.changes.add(change);
    },
    end(thread) {
      watchesOf.delete(thread);
      addUpWatches();
    },
    observer: {
      answered(call, status) {
        const now = clock.now();
        const { minutes, used, refused, changes, certificates } = counted;
        minutes.add("requests", now);
        const id = call.credential?.id ?? call.refusedCredentialId;
        if (id !== undefined) used.add(id, now);
        certificates.note(call);
        if (isRefusal(status)) {
          minutes.add("refused", now);
          if (id !== undefined) refused.add(id, now);
        } else if (status >= 500) minutes.add("failed", now);
        else if (status < 300) {
          if (call.info.path === METRICS_PATH) counted.metricsReadAt = now;
          changes.note(call, now);
        }
        if (isWatch(call, status)) watches++;
        minutes.raise("watches", watches + watchesOfOthers, now);
      },
      closed(call, status) {
        if (isWatch(call, status)) watches--;
      },
    },
  };
}

/** Without a valid credential, without a right, or over a limit. */
const isRefusal = (status: number): boolean => status === 401 || status === 403 || status === 429;

const isWatch = ({ info, innerRequest, isLongRunning }: ObservedRequest, status: number): boolean =>
  isLongRunning && status === 200 && (innerRequest?.info ?? info).verb === "watch";
