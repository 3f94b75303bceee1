// The composition root: everything of a server with an open store is made here, in order, and taken down in the opposite one.

import { hostname } from "node:os";
import { ALWAYS_FRESH, bothFresh, FRESHNESS_BOUND_MS, followFreshness } from "@postern/apiserver/cache/freshness";
import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import type { HealthCheck } from "@postern/apiserver/health/health-check";
import { createEventLoopBudget } from "@postern/apiserver/limits/event-loop-budget";
import type { Faults } from "@postern/apiserver/logging/faults";
import type { Logger } from "@postern/apiserver/logging/logger";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { Teardown } from "@postern/apiserver/runtime/teardown";
import type { Tracing } from "@postern/apiserver/tracing/tracing";
import { createHttpTransport } from "@postern/apiserver/transport/http-transport";
import { pathOf, readAdministratorKey } from "./bootstrap/admin-kubeconfig.ts";
import { withDefaultTTL } from "./bootstrap/default-ttl.ts";
import { createInternalApi } from "./bootstrap/internal-api.ts";
import type { Manifest } from "./bootstrap/manifests.ts";
import { preparePlatform } from "./bootstrap/prepare-platform.ts";
import { createPlatformCore } from "./core/platform-core.ts";
import { eventOfKey } from "./features/access-keys/key-events.ts";
import { createLastActivityWriter } from "./features/access-keys/last-activity-writer.ts";
import { createKeyUsageWriter } from "./features/access-keys/usage/key-usage-writer.ts";
import { openAuditLog } from "./features/audit/audit-log.ts";
import type { MemoryBudgets } from "./features/budgets/memory-limit.ts";
import type { ConsoleBuild } from "./features/console/console-build.ts";
import { LINK_PARAMETER } from "./features/sign-in/link-routes.ts";
import { createOneTimeLink } from "./features/sign-in/one-time-link.ts";
import { LINK_PATH, PROFILE_PATH } from "./features/sign-in/sign-in-deps.ts";
import type { Configuration } from "./foundation/config/configuration.ts";
import { SETTLE_MS } from "./foundation/store/open-sealed-store.ts";
import type { ServerStore } from "./foundation/store/open-server-store.ts";
import { CONTROLLERS, runWhileLeading } from "./foundation/store/run-while-leading.ts";
import { startReencryption } from "./operations/reencryption.ts";
import { createDomainMetrics } from "./server/domain-metrics.ts";
import { createKeyCounts } from "./server/key-counts.ts";
import { createManagementSurface, followStorageMetrics } from "./server/management-surface.ts";
import { createNonResourceRoutes } from "./server/non-resource-routes.ts";
import { openNoticeWebhook } from "./server/notice-controller.ts";
import { transportLimitsOf } from "./server/rate-limits.ts";
import { createBootstrapHandler, createRequestHandler } from "./server/request-handler.ts";
import { publicUrl, type ServingIdentity } from "./server/serving-identity.ts";
import { createServingState, endOf, reloadCertificate } from "./server/serving-reload.ts";
import { createSignInParts } from "./server/sign-in.ts";
import { startControllers } from "./server/start-controllers.ts";
import { createStartingHandler } from "./server/starting-handler.ts";

/** A server that answers requests, until it is closed. */
export type RunningServer = {
  /** Such as `https://127.0.0.1:8443`. */
  readonly url: string;
  readonly adminKubeconfigPath: string;
  readonly caPath: string;
  /**
   * A link that signs a browser in as the first administrator: once, within minutes, while this process runs. Undefined without an administrator's
   * kubeconfig.
   */
  createSignInLink(): Promise<string | undefined>;
  /** Drains requests in progress, and resolves when everything is written and closed. */
  close(): Promise<void>;
};

export type ServerDeps = {
  readonly configuration: Configuration;
  /** Of --bootstrap-dir. */
  readonly manifests: readonly Manifest[];
  readonly store: ServerStore;
  readonly serving: ServingIdentity;
  /** Being loaded. */
  readonly cache: WatchCache;
  readonly memory: MemoryBudgets;
  /** Absent: it never is. */
  readonly isMemoryShort?: (() => boolean) | undefined;
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly faults: Faults;
  readonly metrics: ServerMetrics;
  /** Undefined: no tracing. */
  readonly tracing: Tracing | undefined;
  /** Undefined: there is no console in this process. */
  readonly loadConsole: (() => Promise<ConsoleBuild>) | undefined;
  /** Is given what must be closed. */
  readonly teardown: Teardown;
  readonly onError: (error: unknown) => void;
};

/** Resolves when the server is ready. Rejects with the error of a port that cannot be listened on. */
export async function composeServer(parts: ServerDeps): Promise<RunningServer> {
  const { store, cache, runtime, logger, metrics, tracing, teardown, onError } = parts;
  const { scheduler, random } = runtime;
  const { storage, election, isShared } = store;
  const configuration = await withDefaultTTL(parts.configuration, storage);
  const serving = createServingState(parts.serving);
  const lifetime = new AbortController();
  const { signal } = lifetime;
  const draining = new AbortController();
  // From before the objects are loaded, so that these are known to be the newest as soon as they are there.
  const followed = isShared ? teardown.use(followFreshness({ cache, runtime })) : undefined;
  const identity = `${hostname()}-${process.pid}`;
  const replicas = store.enter?.({
    id: `${identity}-${Buffer.from(random.bytes(6)).toString("hex")}`,
    waitFor: async (revision) => await cache.waitFor(revision, { timeoutMs: FRESHNESS_BOUND_MS }),
    refresh: () => cache.refresh({ signal, timeoutMs: FRESHNESS_BOUND_MS }),
    boundMs: FRESHNESS_BOUND_MS,
  });
  if (replicas !== undefined) teardown.use(replicas);
  const alone = followed ?? ALWAYS_FRESH;
  const freshness = replicas === undefined ? alone : bothFresh(alone, replicas);
  // Probes are answered from here on: very many objects take seconds to load.
  const starting = createStartingHandler(logger);
  const turn = createEventLoopBudget(runtime.clock);
  const transport = createHttpTransport({
    tls: serving.current.tls,
    bindAddress: configuration.bindAddress,
    port: configuration.securePort,
    logger,
    faults: parts.faults,
    clock: runtime.clock,
    scheduler,
    random,
    turn,
    onTlsHandshakeError: () => metrics.tlsHandshakeError(),
    onConnectionDropped: (reason) => metrics.connectionDropped(reason),
    onTakenBack: () => metrics.requestTakenBack(),
    limits: transportLimitsOf(configuration, parts.memory),
    handler: starting.handle,
  });
  // Only where the start fails; it is closed before everything below otherwise.
  teardown.defer(() => transport.close({ drainMs: 0 }));
  teardown.use(starting);
  const { port } = await transport.listen();
  const url = publicUrl(configuration, port);
  await cache.ready();
  const domainMetrics = createDomainMetrics(metrics, runtime.clock);
  const { options: audit, sink, path: auditPath } = await openAuditLog(configuration, domainMetrics.auditWritten);
  teardown.use(sink);
  const core = teardown.use(
    createPlatformCore({
      configuration,
      storage,
      cache,
      runtime,
      keyRing: store.keyRing,
      onKeyLocked: (key) => surface.recordKeyEvent(eventOfKey(core.names, key, "RetiredValueUsed")),
      onRetiredUse: domainMetrics.retiredValueUsed,
      onKeyRefused: domainMetrics.keyRefused,
      onError,
    }),
  );
  const written = { ...core, storage, scheduler, onError };
  teardown.use(createLastActivityWriter({ ...written, records: core.activityRecords }));
  teardown.use(createKeyUsageWriter({ ...written, records: core.usageRecords }));
  teardown.use(core.rotations);
  const preparation = createPreparation();
  const census = createKeyCounts({ ...core, clock: runtime.clock });
  domainMetrics.followCensus(census);
  const surface = teardown.use(
    createManagementSurface({
      core,
      configuration,
      storage,
      cache,
      memory: parts.memory,
      runtime,
      serverKeys: store.serverKeys,
      keyRing: store.keyRing,
      logger,
      metrics,
      domainMetrics,
      tracing,
      endpoint: {
        url: () => url,
        get certificateAuthorityPem() {
          return serving.current.certificateAuthorityPem;
        },
        onAuthorityChange: serving.onAuthorityChange,
      },
      ...createNonResourceRoutes({
        core,
        store,
        cache,
        freshness,
        runtime,
        logger,
        metrics,
        auditPath,
        prepared: preparation.check,
        draining: draining.signal,
      }),
      signal,
    }),
  );
  followStorageMetrics(domainMetrics, surface, census);
  const signIn = createSignInParts({
    core,
    surface,
    configuration,
    runtime,
    publicUrl: () => url,
    signal,
  });
  const webhook = await openNoticeWebhook(configuration, runtime);
  if (webhook !== undefined) teardown.use(webhook);
  teardown.use(
    runWhileLeading({
      election,
      name: CONTROLLERS,
      identity,
      runtime,
      start: (led) => [
        ...startControllers(core, surface, led, storage, configuration, { webhook, metrics: domainMetrics }, signIn),
        startReencryption({
          ...core,
          storage: store.disk,
          ring: store.keyRing,
          runtime: led,
          settleMs: isShared ? SETTLE_MS : 0,
          onError: (error) => surface.onError(error, "re-encryption"),
        }),
      ],
    }),
  );
  teardown.defer(() => lifetime.abort());

  const link = createOneTimeLink(runtime.clock, random);
  const handler = createRequestHandler({
    configuration,
    memory: parts.memory,
    isMemoryShort: parts.isMemoryShort,
    core,
    surface,
    signIn,
    administrator: {
      link,
      key: () => readAdministratorKey(configuration),
    },
    home: parts.loadConsole === undefined || !configuration.console ? PROFILE_PATH : "/",
    loadConsole: parts.loadConsole,
    freshness,
    replicas,
    audit,
    runtime,
    turn,
    logger,
    metrics,
    domainMetrics,
    tracing,
    signal,
  });
  transport.serve(handler);
  starting.open(handler);
  metrics.followBacklog(transport.backlog);
  teardown.defer(() => transport.close({ drainMs: configuration.shutdownDrainSeconds * 1000 }));
  const { dataDir } = configuration;
  await preparePlatform({
    election,
    identity,
    core,
    surface,
    storage,
    runtime,
    dataDir,
    isLasting: configuration.store.kind !== "memory",
    url,
    serving,
    bootstrap: {
      ...configuration.bootstrap,
      manifests: parts.manifests,
      api: createInternalApi(createBootstrapHandler({ core, surface, audit, runtime, logger, metrics }), signal),
      recordEvent: surface.recordEvent,
      logger,
      onApplied: domainMetrics.manifestApplied,
    },
    signal,
    onError,
  });
  preparation.done();
  // Until then all requests are refused.
  await followed?.confirmed;
  await replicas?.entered;
  domainMetrics.followServingCertificate(() => endOf(serving.current));
  const onReload = domainMetrics.servingCertificateReloaded;
  teardown.use(reloadCertificate({ configuration, runtime, transport, serving, logger, onReload, onError }));
  teardown.defer(() => draining.abort());

  return {
    url,
    adminKubeconfigPath: pathOf(configuration),
    caPath: serving.current.caPath,
    async createSignInLink() {
      if ((await readAdministratorKey(configuration)) === undefined) return undefined;
      return `${url}${LINK_PATH}?${LINK_PARAMETER}=${link.create()}`;
    },
    close: () => teardown.run(),
  };
}

function createPreparation(): { readonly check: HealthCheck; done(): void } {
  let isDone = false;
  return {
    check: {
      name: "store-prepared",
      check() {
        if (!isDone)
          throw new Error("the store is being prepared: roles, the first administrator and bootstrap manifests");
      },
    },
    done() {
      isDone = true;
    },
  };
}
