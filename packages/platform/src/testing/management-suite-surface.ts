// The whole management surface, for the suite that every resource runs.

import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import { createServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createTeardown } from "@postern/apiserver/runtime/teardown";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import type { Storage } from "@postern/apiserver/storage/storage";
import type { SuiteSurface } from "@postern/kubernetes/testing/suite-surface";
import { cacheBudgets } from "../features/budgets/cache-budgets.ts";
import { composePlatform, type Platform } from "../server/compose.ts";
import { platformParts, TEST_MEMORY } from "./platform-parts.ts";

export type ManagementSuiteSurface = SuiteSurface & {
  /** Definitions that the platform has registered. */
  readonly definitions: readonly ResourceDefinition[];
  readonly storage: Storage;
  readonly cache: WatchCache;
  readonly platform: Platform;
  /** The text of /metrics. */
  metrics(): Promise<string>;
};

/**
 * No controllers run: nothing else writes between two requests of a case. Faults of hooks fail the test run. A given storage stays open; absent: a
 * new one in memory. The clock and the timers of `runtime` are those of the server; its cache follows the store by itself.
 */
export async function openManagementSuiteSurface(
  given?: Storage,
  runtime: Runtime = systemRuntime,
): Promise<ManagementSuiteSurface> {
  const storage = given ?? createMemoryStorage();
  const budgets = cacheBudgets(TEST_MEMORY.historyBytes);
  const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler, ...budgets });
  await cache.ready();
  const lifetime = new AbortController();
  const fail = (error: unknown): void => {
    // Events of keys may still be on their way when a case ends.
    if (!lifetime.signal.aborted) throw error;
  };
  const metrics = createServerMetrics({ withProcessMetrics: false });
  const teardown = createTeardown();
  const platform = await composePlatform(
    platformParts({
      storage,
      cache,
      runtime,
      signal: lifetime.signal,
      metrics,
      onError: fail,
      endpoint: { url: () => "https://platform.test:8443", isOwnName: () => false, certificateAuthorityPem: undefined },
    }),
    teardown,
  );
  const { api } = platform;
  return {
    storage,
    cache,
    platform,
    metrics: () => metrics.registry.metrics(),
    route: api.route,
    definitions: api.registry.definitions,
    async [Symbol.asyncDispose]() {
      lifetime.abort();
      await teardown.run();
      await cache[Symbol.asyncDispose]();
      if (given === undefined) await storage[Symbol.asyncDispose]();
    },
  };
}
