// Starts a server: opens the store, and loads modules meanwhile.

import type { Faults } from "@postern/apiserver/logging/faults";
import { createTeardown, type Teardown } from "@postern/apiserver/runtime/teardown";
import { createServerTable } from "@postern/stores/sqlite/server-table";
import type { Manifest } from "./bootstrap/manifests.ts";
import type { RunningServer } from "./compose-server.ts";
import { followMemoryPressure, type ProcessHeap } from "./features/budgets/memory-pressure.ts";
import type { ConsoleBuild } from "./features/console/console-build.ts";
import type { LoadDocumentation } from "./features/documentation/documentation-route.ts";
import type { Configuration } from "./foundation/config/configuration.ts";
import { ConfigurationError } from "./foundation/config/configuration-error.ts";
import { ensurePrivateDirectory } from "./foundation/pki/private-file.ts";
import { openServerStore } from "./foundation/store/open-server-store.ts";
import { readServerSecrets } from "./foundation/store/server-keys.ts";
import { proxyOfEnvironment } from "./foundation/upstream/outbound-proxy.ts";
import { frontCount, ONE_FRONT, ownMachine } from "./fronts/front-count.ts";
import type { DemandTimes } from "./fronts/front-demand.ts";
import { FrontPool, showFronts } from "./fronts/front-pool.ts";
import { createFrontShare, threadShareOf } from "./fronts/front-share.ts";
import type { StartFrontThread } from "./fronts/front-thread.ts";
import { lockDataDirectory } from "./server/lock-data-directory.ts";
import { adoptPlatformAuthority } from "./server/platform-authority.ts";
import { assertOwnCertificate, hasAuthority, loadServingIdentity } from "./server/serving-identity.ts";
import { memoryOf, openBasics, openServerCache } from "./server-parts.ts";

export type { RunningServer } from "./compose-server.ts";

export type ServerSurroundings = {
  /** Is given each line of the log. Default: standard error. */
  readonly logDestination?: { write(line: string): void };
  /** Loads the files of the console on the first request of a browser. Default: no console. */
  readonly loadConsole?: () => Promise<ConsoleBuild>;
  /** Loads the pages of the documentation on the first request for one. Default: no documentation. */
  readonly loadDocumentation?: LoadDocumentation;
  /** Is given the place that takes errors of the process which nothing else has caught, until it is disposed. Default: they end the process. */
  readonly onFaults?: (faults: Faults) => Disposable;
  /** The heap of the process, for a server that has the process for itself. Default: it is left alone. */
  readonly heap?: ProcessHeap;
  /** Starts a thread that serves requests, for --threads. Default: a configuration with more than one is refused. */
  readonly startFrontThread?: StartFrontThread;
  /** When further threads begin and end. Default: after ten seconds, and five minutes. */
  readonly demandTimes?: DemandTimes;
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
  {
    logDestination,
    loadConsole,
    loadDocumentation,
    stopping,
    onFaults,
    heap,
    startFrontThread,
    demandTimes,
  }: ServerSurroundings,
  teardown: Teardown,
): Promise<RunningServer> {
  const outbound = proxyOfEnvironment(configuration);
  // A server in another program has one thread by default.
  const isAlone = startFrontThread === undefined && configuration.threads === undefined;
  const count = isAlone ? ONE_FRONT : frontCount(configuration, ownMachine());
  const share = createFrontShare(count.first);
  const basics = await openBasics(configuration, { logDestination, onFaults, withProcessMetrics: true }, teardown);
  const { metrics, logger, runtime } = basics;
  if (outbound !== undefined)
    logger.info({ address: outbound.host }, "hosts outside are reached through an HTTP proxy");
  await ensurePrivateDirectory(configuration.dataDir);
  teardown.use(lockDataDirectory(configuration));
  const manifests = await readBootstrap(configuration);
  const secrets = await readServerSecrets(configuration);
  const earlierServing = (await hasAuthority(configuration))
    ? await loadServingIdentity(configuration, runtime)
    : undefined;

  const table = count.most > 1 ? createServerTable(count.most) : undefined;
  const opening = openServerStore({ ...basics, configuration, secrets, teardown, stopping, table });
  // Hundreds of modules, loaded while the thread of the database starts. A failure surfaces where they are awaited below.
  const loading = import("./compose-server.ts");
  loading.catch(() => {});
  const store = await opening;
  // Made only once it is certain that this is a server of the store, and that no other has one.
  const isAdopted = await adoptPlatformAuthority(configuration, { ...store, random: runtime.random });
  // Threads of this process have the files of one data directory.
  const hasOthers = store.isShared && store.connect === undefined;
  if (earlierServing === undefined && hasOthers && !store.isFirst && !isAdopted) assertOwnCertificate(configuration);
  const serving =
    earlierServing === undefined || isAdopted ? await loadServingIdentity(configuration, runtime) : earlierServing;
  if (configuration.tlsCaFile !== "" && serving.certificateAuthorityPem === undefined) {
    const cause = configuration.tlsCaFile;
    logger.warn({ cause }, "the file of --tls-ca-file is absent or empty: kubeconfigs name no CA");
  }
  const { wholeBytes, budgets } = memoryOf(configuration, count.first);
  // A start with much in the store needs it most.
  const pressure =
    heap && teardown.use(followMemoryPressure({ limitBytes: wholeBytes, heap, scheduler: runtime.scheduler }));
  const isMemoryShort = pressure && (() => pressure.isShort);
  const { cache, counted } = openServerCache(store, budgets, basics, teardown);
  const front =
    table === undefined
      ? void showFronts(metrics, () => 1)
      : teardown.use(
          new FrontPool({
            ...runtime,
            count,
            limitBytes: wholeBytes,
            demandTimes,
            data: {
              configuration,
              first: count.first,
              share,
              secrets: store.secrets,
              ticketKeys: runtime.random.bytes(TICKET_KEY_BYTES),
              table,
            },
            store: () => store,
            startThread: startFrontThread ?? noFrontThreads,
            metrics,
            isMemoryShort: isMemoryShort ?? (() => false),
            logger,
          }),
        );
  const { composeServer } = await loading;
  const server = await composeServer({
    ...basics,
    configuration,
    share: threadShareOf(share),
    manifests,
    store,
    serving,
    cache,
    memory: budgets,
    counted,
    isMemoryShort,
    loadConsole,
    loadDocumentation,
    front,
    teardown,
  });
  basics.started();
  return server;
}

/** As Node wants them. */
const TICKET_KEY_BYTES = 48;

const noFrontThreads = (): never => {
  throw new ConfigurationError("--threads is for the postern command: a server in another program has one");
};

/** Most servers have none, and need not load what reads them. */
async function readBootstrap({ bootstrap: { dir } }: Configuration): Promise<readonly Manifest[]> {
  if (dir === "") return [];
  const { readManifests } = await import("./bootstrap/manifests.ts");
  return await readManifests(dir);
}
