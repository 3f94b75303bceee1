// Starts a server: opens the store, and loads modules meanwhile.

import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { withLogLimit } from "@postern/apiserver/limits/log-limit";
import { createLogger } from "@postern/apiserver/logging/create-logger";
import { reportDroppedErrors } from "@postern/apiserver/logging/dropped-errors";
import { createFaults, type Faults, withGuardedTimers } from "@postern/apiserver/logging/faults";
import { createServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createTeardown, type Teardown } from "@postern/apiserver/runtime/teardown";
import type { Manifest } from "./bootstrap/manifests.ts";
import type { RunningServer } from "./compose-server.ts";
import { cacheBudgets } from "./features/budgets/cache-budgets.ts";
import { detectedMemoryLimit, type MemoryBudgets, memoryBudgets } from "./features/budgets/memory-limit.ts";
import { followMemoryPressure, type ProcessHeap } from "./features/budgets/memory-pressure.ts";
import type { ConsoleBuild } from "./features/console/console-build.ts";
import { createCountedClusters } from "./features/virtual-clusters/embedded/threads/counted-clusters.ts";
import type { Configuration } from "./foundation/config/configuration.ts";
import { ensurePrivateDirectory } from "./foundation/pki/private-file.ts";
import { openServerStore } from "./foundation/store/open-server-store.ts";
import { readServerSecrets } from "./foundation/store/server-keys.ts";
import { openTracing } from "./foundation/tracing/open-tracing.ts";
import { lockDataDirectory } from "./server/lock-data-directory.ts";
import { assertOwnCertificate, hasAuthority, loadServingIdentity } from "./server/serving-identity.ts";

export type { RunningServer } from "./compose-server.ts";

export type ServerSurroundings = {
  /** Is given each line of the log. Default: standard error. */
  readonly logDestination?: { write(line: string): void };
  /** Loads the files of the console on the first request of a browser. Default: no console. */
  readonly loadConsole?: () => Promise<ConsoleBuild>;
  /** Is given the place that takes errors of the process which nothing else has caught, until it is disposed. Default: they end the process. */
  readonly onFaults?: (faults: Faults) => Disposable;
  /** The heap of the process, for a server that has the process for itself. Default: it is left alone. */
  readonly heap?: ProcessHeap;
  /** Aborted while the server starts: it waits for its store no longer, and the start fails. */
  readonly stopping?: AbortSignal;
};

/**
 * Resolves when the server is ready. Rejects with ConfigurationError, or with the error of a port that cannot be listened on; then nothing is
 * left running.
 */
export async function startServer(
  configuration: Configuration,
  surroundings: ServerSurroundings = {},
): Promise<RunningServer> {
  const teardown = createTeardown();
  try {
    return await start(configuration, surroundings, teardown);
  } catch (error) {
    await teardown.run();
    throw error;
  }
}

async function start(
  configuration: Configuration,
  { logDestination, loadConsole, stopping, onFaults, heap }: ServerSurroundings,
  teardown: Teardown,
): Promise<RunningServer> {
  const metrics = createServerMetrics({ withProcessMetrics: true });
  const wholeLog = createLogger({
    level: configuration.log.level,
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
  await ensurePrivateDirectory(configuration.dataDir);
  teardown.use(lockDataDirectory(configuration));
  const manifests = await readBootstrap(configuration);
  const secrets = await readServerSecrets(configuration);
  const earlierServing = (await hasAuthority(configuration))
    ? await loadServingIdentity(configuration, runtime)
    : undefined;

  const opening = openServerStore({ configuration, secrets, runtime, logger, metrics, tracing, teardown, stopping });
  // Hundreds of modules, loaded while the thread of the database starts. A failure surfaces where they are awaited below.
  const loading = import("./compose-server.ts");
  loading.catch(() => {});
  const store = await opening;
  // Made only once it is certain that this is a server of the store, and that no other has one.
  if (earlierServing === undefined && store.isShared && !store.isFirst) assertOwnCertificate(configuration);
  const serving = earlierServing ?? (await loadServingIdentity(configuration, runtime));
  if (configuration.tlsCaFile !== "" && serving.certificateAuthorityPem === undefined) {
    const cause = configuration.tlsCaFile;
    logger.warn({ cause }, "the file of --tls-ca-file is absent or empty: kubeconfigs name no CA");
  }
  const onError = (error: unknown): void => logger.error({ error, component: "watch-cache" }, "work failed");
  const { storage } = store;
  const memory = memoryBudgetsOf(configuration);
  // A start with much in the store needs it most.
  const pressure = heap && teardown.use(followMemoryPressure({ ...memory, heap, scheduler }));
  const budgets = cacheBudgets(memory.historyBytes);
  const counted = configuration.clusterThreads > 0 ? createCountedClusters() : undefined;
  const cache = teardown.use(
    createWatchCache({ storage, prefix: "/registry/", scheduler, onError, counted, ...budgets }),
  );
  const { composeServer } = await loading;
  const server = await composeServer({
    configuration,
    manifests,
    store,
    serving,
    cache,
    memory,
    counted,
    isMemoryShort: pressure && (() => pressure.isShort),
    runtime,
    logger,
    faults,
    metrics,
    tracing,
    loadConsole,
    teardown,
    onError,
  });
  // An error of the start ends the process: no client depends on it yet.
  taken = onFaults?.(faults);
  // A start loads modules and objects before there are clients to delay.
  teardown.use(metrics.stalls.start({ ...runtime, logger, processorMs }));
  return server;
}

function memoryBudgetsOf({ memoryLimitMiB, fairness, watchBacklog, clusterThreads }: Configuration): MemoryBudgets {
  const limitBytes = memoryLimitMiB === 0 ? detectedMemoryLimit() : memoryLimitMiB * MIB;
  const asked = { bodyBytes: fairness.bodyMiB * MIB, backlogBytes: watchBacklog.totalMiB * MIB };
  return memoryBudgets(limitBytes, asked, clusterThreads);
}

const MIB = 1 << 20;

/** Most servers have none, and need not load what reads them. */
async function readBootstrap({ bootstrap: { dir } }: Configuration): Promise<readonly Manifest[]> {
  if (dir === "") return [];
  const { readManifests } = await import("./bootstrap/manifests.ts");
  return await readManifests(dir);
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
