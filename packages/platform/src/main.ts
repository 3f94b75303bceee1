// The composition root: the only place that names stores, authenticators and controllers. Everything is made here, in order, and taken
// down in the opposite one.

import { hostname } from "node:os";
import { unionAuthenticator } from "@postern/apiserver/authentication/authenticator";
import { freshAuthenticator } from "@postern/apiserver/authentication/fresh-authenticator";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { ALWAYS_FRESH, followFreshness, freshnessCheck } from "@postern/apiserver/cache/freshness";
import { createHandlerChain } from "@postern/apiserver/chain/handler-chain";
import { pingCheck, shutdownCheck } from "@postern/apiserver/health/health-check";
import { createNonResourceHandler, nonResourcePaths } from "@postern/apiserver/health/non-resource-handler";
import { createLogger } from "@postern/apiserver/logging/create-logger";
import { createServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import { isLongRunning } from "@postern/apiserver/request/long-running";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { requiredResource } from "@postern/apiserver/server/standard-surface";
import { startCompactionSchedule } from "@postern/apiserver/storage/compaction-schedule";
import { createHttpTransport } from "@postern/apiserver/transport/http-transport";
import { createLastActivityWriter } from "./access-keys/last-activity-writer.ts";
import { createKeyUsageWriter } from "./authorization/key-usage-writer.ts";
import { notingUse } from "./authorization/noting-use.ts";
import { assertFilled } from "./backup/filling-mark.ts";
import { pathOf } from "./bootstrap/admin-kube-config.ts";
import { isFirstStart } from "./bootstrap/first-start.ts";
import { preparePlatform } from "./bootstrap/prepare-platform.ts";
import type { Configuration } from "./config/configuration.ts";
import { startReencryption } from "./encryption/reencryption.ts";
import { ensurePrivateDirectory } from "./pki/private-file.ts";
import { eventOfKey } from "./resources/owned-access-keys/key-events.ts";
import { openAuditLog } from "./server/audit-log.ts";
import { isLongRunningBackup, withBackup } from "./server/backup-route.ts";
import { createFrontDoor } from "./server/front-door.ts";
import { withKeyRing } from "./server/key-ring-route.ts";
import { createLeakReports, leakReportAuthorizer, leakReporters, leakReportLimits } from "./server/leak-reports.ts";
import { lockDataDirectory } from "./server/lock-data-directory.ts";
import { createManagementSurface } from "./server/management-surface.ts";
import { keyRingCheck, openSealedStore, SETTLE_MS } from "./server/open-sealed-store.ts";
import { openStore } from "./server/open-store.ts";
import { createPlatformCore } from "./server/platform-core.ts";
import {
  createProxyAuthorizer,
  createProxyCertificateAuthenticator,
  createProxyRoute,
  createProxyServiceAccountAuthenticator,
  isInsideIdentity,
  isLongRunningProxy,
} from "./server/proxy-route.ts";
import { failedLoginsOf, rateLimitsOf } from "./server/rate-limits.ts";
import { renewCertificate } from "./server/renew-certificate.ts";
import { repeat } from "./server/repeat.ts";
import { reportStoreCheck } from "./server/report-store-check.ts";
import { SERVED_VERSION } from "./server/served-version.ts";
import {
  createServerSecret,
  deriveServerKeys,
  readPreviousServerSecrets,
  readServerSecret,
} from "./server/server-keys.ts";
import { loadServingIdentity, publicUrl } from "./server/serving-identity.ts";
import { startControllers } from "./server/start-controllers.ts";
import { createTeardown, type Teardown } from "./server/teardown.ts";
import { whileLeading } from "./server/while-leading.ts";
import { withDiscoveryRefusals } from "./server/with-discovery-refusals.ts";

/** How often files with credentials of the store are looked at. */
const RELOAD_MS = 60_000;

/** A server that answers requests, until it is closed. */
export type RunningServer = {
  /** Such as `https://127.0.0.1:8443`. */
  readonly url: string;
  readonly adminKubeConfigPath: string;
  readonly caPath: string;
  /** Drains what is under way, and resolves when everything is written and closed. */
  close(): Promise<void>;
};

export type ServerSurroundings = {
  /** Is given each line of the log. Default: standard error. */
  readonly logDestination?: { write(line: string): void };
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
    return await compose(configuration, surroundings, teardown);
  } catch (error) {
    await teardown.run();
    throw error;
  }
}

async function compose(
  configuration: Configuration,
  { logDestination }: ServerSurroundings,
  teardown: Teardown,
): Promise<RunningServer> {
  const runtime = systemRuntime;
  const { clock, scheduler, random } = runtime;
  const lifetime = new AbortController();
  const logger = createLogger({
    level: configuration.log.level,
    ...(logDestination === undefined ? {} : { destination: logDestination }),
  });
  const metrics = createServerMetrics({ withProcessMetrics: true });
  await ensurePrivateDirectory(configuration.dataDir);
  teardown.use(lockDataDirectory(configuration));
  const earlierSecret = await readServerSecret(configuration);
  const previousSecrets = await readPreviousServerSecrets(configuration);
  const serving = await loadServingIdentity(configuration, runtime);

  const {
    storage: disk,
    election,
    isShared,
    reloadCredentials,
    checks,
  } = await openStore(configuration, reportStoreCheck(logger, metrics));
  teardown.use(disk);
  if (reloadCredentials !== undefined) {
    const onReloadError = (error: unknown) => logger.error({ error, component: "etcd" }, "new credentials do not work");
    teardown.use(repeat({ scheduler, everyMs: RELOAD_MS, work: reloadCredentials, onError: onReloadError }));
  }
  await assertFilled(disk);
  teardown.use(
    startCompactionSchedule({
      storage: disk,
      scheduler,
      keepMs: configuration.history.maxAgeSeconds * 1000,
      keepBytes: configuration.history.maxMiB * (1 << 20),
      onError: (error) => logger.error({ error }, "compaction failed"),
    }),
  );
  const serverSecret = earlierSecret ?? (await createServerSecret(configuration, random, await isFirstStart(disk)));
  const serverKeys = deriveServerKeys(serverSecret);
  const { keyRing, storage } = await openSealedStore({
    disk,
    isShared,
    serverSecrets: [serverSecret, ...previousSecrets],
    configuration,
    runtime,
    logger,
    metrics,
  });
  const onError = (error: unknown): void => logger.error({ error, component: "watch-cache" }, "work failed");
  const cache = teardown.use(createWatchCache({ storage, prefix: "/registry/", scheduler, onError }));
  await cache.ready();
  const freshness = isShared ? teardown.use(followFreshness({ cache, runtime })) : ALWAYS_FRESH;
  const auditLog = await openAuditLog(configuration);
  teardown.use(auditLog.sink);

  const core = teardown.use(
    createPlatformCore({
      configuration,
      storage,
      cache,
      runtime,
      keyRing,
      onKeyLocked: (key) => surface.recordKeyEvent(eventOfKey(core.names, key, "RetiredValueUsed")),
      onError,
    }),
  );
  teardown.use(
    createLastActivityWriter({
      ...core.keyRecords,
      storage,
      keys: core.keys,
      activity: core.activity,
      scheduler,
      onError,
    }),
  );
  teardown.use(
    createKeyUsageWriter({
      records: core.usageRecords,
      storage,
      keys: core.keys,
      usage: core.usage,
      scheduler,
      onError,
    }),
  );
  teardown.use(core.rotations);
  const draining = new AbortController();
  const health = {
    healthz: [pingCheck],
    livez: [pingCheck],
    readyz: [pingCheck, ...checks, keyRingCheck(keyRing), freshnessCheck(freshness), shutdownCheck(draining.signal)],
  };
  // The port is known once the server listens, and only then is anything written that names it.
  const listening = { url: "" };
  const surface = teardown.use(
    createManagementSurface({
      core,
      configuration,
      storage,
      cache,
      runtime,
      serverKeys,
      keyRing,
      logger,
      metrics,
      endpoint: { url: () => listening.url, certificateAuthorityPem: serving.certificateAuthorityPem },
      nonResource: withKeyRing(
        withBackup(createNonResourceHandler({ health, version: SERVED_VERSION, metrics, logger }), {
          core,
          storage: disk,
          cache,
          runtime,
          serverKey: serverKeys.backups,
        }),
        { ring: keyRing, keys: core.keys, storage: disk, clock },
      ),
      nonResourcePaths: nonResourcePaths({ health }),
      signal: lifetime.signal,
    }),
  );
  const identity = `${hostname()}-${process.pid}`;
  const reencryption = {
    ...core,
    storage: disk,
    ring: keyRing,
    settleMs: isShared ? SETTLE_MS : 0,
    onError: (error: unknown) => surface.onError(error, "re-encryption"),
  };
  teardown.use(
    whileLeading({
      election,
      name: "controllers",
      identity,
      runtime,
      start: (led) => [...startControllers(core, surface, led), startReencryption({ ...reencryption, runtime: led })],
    }),
  );
  teardown.defer(() => lifetime.abort());

  const chain = {
    runtime,
    logger,
    metrics,
    authenticator: freshAuthenticator(core.authenticator, freshness),
    authorizer: notingUse(core.authorizer, core.usage),
    audit: auditLog.options,
    flowControl: {
      maxReadOnly: configuration.maxRequestsInflight,
      maxMutating: configuration.maxMutatingRequestsInflight,
    },
    rateLimits: rateLimitsOf(configuration, clock),
    failedLogins: failedLoginsOf(configuration, clock),
  };
  const leakOptions = {
    ...core,
    policy: configuration.accessKeys.leaked,
    accessKeys: () => requiredResource(surface.registry, core.names.managementGroup, "OwnedAccessKey"),
    recordEvent: surface.recordKeyEvent,
    runtime,
    onError: surface.onError,
    signal: lifetime.signal,
  };
  const proxyAuthenticators = [
    // Before that of access keys, which refuses every token that is none.
    createProxyServiceAccountAuthenticator(core, surface),
    core.authenticator,
    createProxyCertificateAuthenticator(core, surface),
  ];
  const transport = createHttpTransport({
    tls: serving.tls,
    bindAddress: configuration.bindAddress,
    port: configuration.securePort,
    logger,
    scheduler,
    random: runtime.random,
    onTlsHandshakeError: () => metrics.tlsHandshakeError(),
    handler: createFrontDoor({
      management: createHandlerChain(surface.route, {
        ...chain,
        isLongRunning: (request, info) => isLongRunning(request, info) || isLongRunningBackup(request, info),
      }),
      leaks: createHandlerChain(createLeakReports(leakOptions), {
        ...chain,
        authenticator: leakReporters,
        authorizer: leakReportAuthorizer,
        rateLimits: leakReportLimits(clock),
      }),
      proxy: createHandlerChain(withDiscoveryRefusals(createProxyRoute(core, surface)), {
        ...chain,
        authenticator: freshAuthenticator(unionAuthenticator(proxyAuthenticators), freshness),
        authorizer: createProxyAuthorizer(core),
        isLongRunning: isLongRunningProxy,
        leavesImpersonation: isInsideIdentity,
      }),
    }),
  });
  teardown.defer(() => transport.close({ drainMs: configuration.shutdownDrainSeconds * 1000 }));
  const { port } = await transport.listen();
  listening.url = publicUrl(configuration, port);
  await preparePlatform({
    election,
    identity,
    core,
    surface,
    storage,
    runtime,
    dataDir: configuration.dataDir,
    url: listening.url,
    certificateAuthorityPem: serving.certificateAuthorityPem,
    signal: lifetime.signal,
  });
  teardown.use(renewCertificate({ configuration, runtime, transport, renewAt: serving.renewAt, onError }));
  teardown.defer(() => draining.abort());

  return {
    url: listening.url,
    adminKubeConfigPath: pathOf(configuration),
    caPath: serving.caPath,
    close: () => teardown.run(),
  };
}
