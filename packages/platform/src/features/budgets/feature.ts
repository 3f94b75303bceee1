// Budgets of the management API, with the limits that the configuration and the projects set.

import { MANAGEMENT } from "@postern/api/platform-names";
import type { Project } from "@postern/api/project";
import { storageQuotaOf } from "@postern/api/project-quotas";
import type { StoredAmount } from "@postern/apiserver/cache/stored-usage";
import { followView } from "@postern/apiserver/cache/view-informer";
import type { Foundation } from "../../foundation/foundation.ts";
import { followingValues } from "../../foundation/lookup/follow-values.ts";
import { labelledCounter } from "../../foundation/metrics/counters.ts";
import type { AccessKeys } from "../access-keys/feature.ts";
import { createManagementBudgets, type ManagementBudgets } from "./management-budgets.ts";
import type { MemoryBudgets } from "./memory-limit.ts";

export type Budgets = Disposable & {
  readonly management: ManagementBudgets;
  /** Counts a write that was answered with 507. Projects, owners of access keys, and embedded clusters have budgets. */
  readonly countRefusal: (scope: "projects" | "access-keys" | "clusters") => void;
};

const MIB = 1 << 20;

export function openBudgets(
  base: Foundation,
  { keys, memory }: { readonly keys: AccessKeys; readonly memory: MemoryBudgets },
): Budgets {
  const { configuration, names, storage, cache, runtime, limitLocks } = base;
  const countRefusal = labelledCounter(
    base.metrics.registry,
    "postern_storage_refused_writes_total",
    "Writes that were answered with 507, by budget: projects, access-keys or clusters",
    "scope",
  );
  const quotas = new Map<string, Partial<StoredAmount>>();
  const following = followView(
    base.objects("projects"),
    runtime.scheduler,
    followingValues<Project, Partial<StoredAmount>>(quotas, (project) => [
      project.metadata.name ?? "",
      storageQuotaOf(project),
    ]),
  );
  const { projects, accessKeys } = configuration;
  const management = createManagementBudgets({
    storage,
    cache,
    limitLocks,
    composition: MANAGEMENT,
    accessKeysPrefix: keys.records.prefix,
    keys: keys.index,
    names,
    quotaOf: (project) => quotas.get(project),
    limits: {
      project: { objects: projects.maxObjects, bytes: projects.maxMiB * MIB },
      ownerBytes: accessKeys.maxMiBPerOwner * MIB,
      platformBytes: memory.platformBytes,
    },
    onRefused: countRefusal,
  });
  return { management, countRefusal, [Symbol.dispose]: () => following[Symbol.dispose]() };
}
