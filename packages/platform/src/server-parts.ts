// The parts of a server that do not depend on its store, and the cache of the objects in it.

import { availableParallelism } from "node:os";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import { withLogLimit } from "@postern/apiserver/limits/log-limit";
import { createLogger } from "@postern/apiserver/logging/create-logger";
import { reportDroppedErrors } from "@postern/apiserver/logging/dropped-errors";
import { createFaults, type Faults, withGuardedTimers } from "@postern/apiserver/logging/faults";
import type { Logger } from "@postern/apiserver/logging/logger";
import { createServerMetrics, type ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import type { Teardown } from "@postern/apiserver/runtime/teardown";
import type { Tracing } from "@postern/apiserver/tracing/tracing";
import { cacheBudgets } from "./features/budgets/cache-budgets.ts";
import {
  defaultClusterThreads,
  detectedMemoryLimit,
  type MemoryBudgets,
  memoryBudgets,
} from "./features/budgets/memory-limit.ts";
import {
  type CountedClusters,
  createCountedClusters,
} from "./features/virtual-clusters/embedded/threads/front/counted-clusters.ts";
import type { Configuration } from "./foundation/config/configuration.ts";
import type { ServerStore } from "./foundation/store/open-server-store.ts";
import { openTracing } from "./foundation/tracing/open-tracing.ts";

export type ServerBasics = {
  readonly metrics: ServerMetrics;
  readonly logger: Logger;
  readonly faults: Faults;
  readonly runtime: Runtime;
  /** Undefined: no tracing. */
  readonly tracing: Tracing | undefined;
  /** The start is over: errors that nothing has caught are taken, and stalls are counted. */
  started(): void;
};

export type BasicsOptions = {
  /** Default: standard error. */
  readonly logDestination?: { write(line: string): void } | undefined;
  /** See ServerSurroundings. */
  readonly onFaults?: ((faults: Faults) => Disposable) | undefined;
  /** True for one server of a process. */
  readonly withProcessMetrics: boolean;
};

export async function openBasics(
  { log }: Pick<Configuration, "log">,
  { logDestination, onFaults, withProcessMetrics }: BasicsOptions,
  teardown: Teardown,
): Promise<ServerBasics> {
  const metrics = createServerMetrics({ withProcessMetrics });
  const wholeLog = createLogger({
    level: log.level,
    ...(logDestination === undefined ? {} : { destination: logDestination }),
  });
  const logger = teardown.use(withLogLimit(wholeLog, { ...systemRuntime, onLeftOut: metrics.logLineLeftOut }));
  const faults = createFaults({ logger, onFault: metrics.fault });
  const runtime = withGuardedTimers(systemRuntime, faults);
  let taken: Disposable | undefined;
  // The last to be taken down: the parts of a server that closes may fail as well.
  teardown.defer(() => taken?.[Symbol.dispose]());
  const { scheduler } = runtime;
  teardown.use(reportDroppedErrors(faults, scheduler));
  const tracing = await openTracing({ environment: process.env, logger, metrics, scheduler });
  if (tracing !== undefined) teardown.use(tracing);
  return {
    metrics,
    logger,
    faults,
    runtime,
    tracing,
    started() {
      // An error of the start ends the process: no client depends on it yet.
      taken = onFaults?.(faults);
      // A start loads modules and objects before there are clients to delay.
      teardown.use(metrics.stalls.start({ ...runtime, logger, processorMs }));
    },
  };
}

/** Processor time of this thread, in milliseconds; before Node 23.9 that of the process. */
function processorMs(): number {
  const { threadCpuUsage } = process as { readonly threadCpuUsage?: () => NodeJS.CpuUsage };
  const { user, system } = threadCpuUsage?.() ?? process.cpuUsage();
  return (user + system) / 1000;
}

const MIB = 1 << 20;

/** The memory of the process, and the share of each of `threads` servers that it has from its start on. */
export function memoryOf(
  configuration: Configuration,
  threads: number,
): {
  readonly wholeBytes: number;
  readonly budgets: MemoryBudgets;
} {
  const { memoryLimitMiB, fairness, watchBacklog } = configuration;
  const wholeBytes = memoryLimitMiB === 0 ? detectedMemoryLimit() : memoryLimitMiB * MIB;
  const asked = { bodyBytes: fairness.bodyMiB * MIB, backlogBytes: watchBacklog.totalMiB * MIB };
  const clusterThreads =
    configuration.clusterThreads ?? defaultClusterThreads(wholeBytes / threads, availableParallelism() / threads);
  return { wholeBytes, budgets: memoryBudgets(wholeBytes, asked, clusterThreads, threads) };
}

export type ServerCache = {
  readonly cache: WatchCache;
  /** Clusters whose objects the cache only counts, because threads serve them. Undefined: this thread does. */
  readonly counted: CountedClusters | undefined;
};

/** Begins to load. */
export function openServerCache(
  { storage }: Pick<ServerStore, "storage">,
  { historyBytes, clusterThreads }: Pick<MemoryBudgets, "historyBytes" | "clusterThreads">,
  { runtime: { scheduler }, logger }: Pick<ServerBasics, "runtime" | "logger">,
  teardown: Teardown,
): ServerCache {
  const counted = clusterThreads > 0 ? createCountedClusters() : undefined;
  const budgets = cacheBudgets(historyBytes);
  const cache = createWatchCache({
    storage,
    prefix: "/registry/",
    scheduler,
    onError: (error) => logger.error({ error, component: "watch-cache" }, "work failed"),
    counted,
    ...budgets,
  });
  return { cache: teardown.use(cache), counted };
}
