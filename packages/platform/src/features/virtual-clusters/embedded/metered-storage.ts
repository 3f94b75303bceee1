// Enforces the quota of one embedded cluster: a number of objects and of bytes (ADR 71), and its share of the server's memory (ADR 155).

import type { StoredAmount } from "@postern/apiserver/cache/stored-usage";
import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import type { LimitLocks } from "@postern/apiserver/registry/store/limit-locks";
import type { Storage } from "@postern/apiserver/storage/storage";
import { budgetedStorage, limitedBudget, PendingWrites } from "../../budgets/budgeted-storage.ts";
import type { ClusterMemory } from "../../budgets/cluster-memory.ts";

/** The quota of a cluster if its project has none. */
export const DEFAULT_SHARE: StoredAmount = { objects: 200_000, bytes: 512 * 1024 * 1024 };

export type MeteredStorage = {
  readonly storage: Storage;
  /** Until then, while the initial objects of the cluster are created, nothing is refused. */
  start(): void;
};

export function meteredStorage(deps: {
  readonly storage: Storage;
  readonly cache: Pick<WatchCache, "view" | "waitFor" | "usage">;
  readonly composition: string;
  readonly shareOf: () => StoredAmount;
  /** Absent: only the quota of the cluster counts. */
  readonly memory?: Pick<ClusterMemory, "budgetOf" | "pending"> | undefined;
  /** See budgetedStorage. */
  readonly quotaLocks?: LimitLocks | undefined;
}): MeteredStorage {
  const { storage, cache, composition, shareOf, memory, quotaLocks } = deps;
  const quota = limitedBudget(
    composition,
    () => cache.usage.of(composition),
    shareOf,
    (used, share) =>
      `this virtual cluster is full: it has ${used.objects} objects of ${share.objects} and ${used.bytes} bytes of ${share.bytes}; delete some, or raise spec.quotas of its project`,
  );
  const budgets = [quota, ...(memory === undefined ? [] : [memory.budgetOf(composition)])];
  let isStarted = false;
  return {
    start() {
      isStarted = true;
    },
    storage: budgetedStorage({
      storage,
      cache,
      limitLocks: quotaLocks,
      pending: memory?.pending ?? new PendingWrites(cache.usage),
      budgetsOf: () => (isStarted ? budgets : []),
    }),
  };
}
