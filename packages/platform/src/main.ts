// The composition root: everything is made here, in order, and taken down in the opposite one.

import { hostname } from "node:os";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { ALWAYS_FRESH, followFreshness } from "@postern/apiserver/cache/freshness";
import { createLogger } from "@postern/apiserver/logging/create-logger";
import { createServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createHttpTransport } from "@postern/apiserver/transport/http-transport";
import { createLastActivityWriter } from "./access-keys/last-activity-writer.ts";
import { createKeyUsageWriter } from "./authorization/key-usage-writer.ts";
import { pathOf } from "./bootstrap/admin-kube-config.ts";
import { preparePlatform } from "./bootstrap/prepare-platform.ts";
import type { Configuration } from "./config/configuration.ts";
import { startReencryption } from "./encryption/reencryption.ts";
import { ensurePrivateDirectory } from "./pki/private-file.ts";
import { eventOfKey } from "./resources/owned-access-keys/key-events.ts";
import { openAuditLog } from "./server/audit-log.ts";
import { lockDataDirectory } from "./server/lock-data-directory.ts";
import { createManagementSurface } from "./server/management-surface.ts";
import { createNonResourceRoutes } from "./server/non-resource-routes.ts";
import { SETTLE_MS } from "./server/open-sealed-store.ts";
import { openServerStore } from "./server/open-server-store.ts";
import { createPlatformCore } from "./server/platform-core.ts";
import { renewCertificate } from "./server/renew-certificate.ts";
import { createRequestHandler } from "./server/request-handler.ts";
import { readServerSecrets } from "./server/server-keys.ts";
import { assertOwnCertificate, hasAuthority, loadServingIdentity, publicUrl } from "./server/serving-identity.ts";
import { startControllers } from "./server/start-controllers.ts";
import { createTeardown, type Teardown } from "./server/teardown.ts";
import { CONTROLLERS, whileLeading } from "./server/while-leading.ts";

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
  const { scheduler, random } = runtime;
  const lifetime = new AbortController();
  const { signal } = lifetime;
  const draining = new AbortController();
  const logger = createLogger({
    level: configuration.log.level,
    ...(logDestination === undefined ? {} : { destination: logDestination }),
  });
  const metrics = createServerMetrics({ withProcessMetrics: true });
  await ensurePrivateDirectory(configuration.dataDir);
  teardown.use(lockDataDirectory(configuration));
  const secrets = await readServerSecrets(configuration);
  const earlierServing = (await hasAuthority(configuration))
    ? await loadServingIdentity(configuration, runtime)
    : undefined;

  const store = await openServerStore({ configuration, secrets, runtime, logger, metrics, teardown });
  const { storage, election, isShared } = store;
  // Made only once it is certain that this is a server of the store, and that no other has one.
  if (earlierServing === undefined && isShared && !store.isFirst) assertOwnCertificate(configuration);
  const serving = earlierServing ?? (await loadServingIdentity(configuration, runtime));
  const { certificateAuthorityPem } = serving;
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
      keyRing: store.keyRing,
      onKeyLocked: (key) => surface.recordKeyEvent(eventOfKey(core.names, key, "RetiredValueUsed")),
      onError,
    }),
  );
  const written = { ...core, storage, scheduler, onError };
  teardown.use(createLastActivityWriter({ ...written, ...core.keyRecords }));
  teardown.use(createKeyUsageWriter({ ...written, records: core.usageRecords }));
  teardown.use(core.rotations);
  // The port is known once the server listens, and only then is anything written that names it.
  const listening = { url: "" };
  const surface = teardown.use(
    createManagementSurface({
      core,
      configuration,
      storage,
      cache,
      runtime,
      serverKeys: store.serverKeys,
      keyRing: store.keyRing,
      logger,
      metrics,
      endpoint: { url: () => listening.url, certificateAuthorityPem },
      ...createNonResourceRoutes({
        core,
        store,
        cache,
        freshness,
        runtime,
        logger,
        metrics,
        draining: draining.signal,
      }),
      signal,
    }),
  );
  const identity = `${hostname()}-${process.pid}`;
  teardown.use(
    whileLeading({
      election,
      name: CONTROLLERS,
      identity,
      runtime,
      start: (led) => [
        ...startControllers(core, surface, led),
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

  const audit = auditLog.options;
  const transport = createHttpTransport({
    tls: serving.tls,
    bindAddress: configuration.bindAddress,
    port: configuration.securePort,
    logger,
    scheduler,
    random,
    onTlsHandshakeError: () => metrics.tlsHandshakeError(),
    handler: createRequestHandler({ configuration, core, surface, freshness, audit, runtime, logger, metrics, signal }),
  });
  teardown.defer(() => transport.close({ drainMs: configuration.shutdownDrainSeconds * 1000 }));
  const { port } = await transport.listen();
  const url = publicUrl(configuration, port);
  listening.url = url;
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
    certificateAuthorityPem,
    signal,
  });
  teardown.use(renewCertificate({ configuration, runtime, transport, renewAt: serving.renewAt, onError }));
  teardown.defer(() => draining.abort());

  return {
    url,
    adminKubeConfigPath: pathOf(configuration),
    caPath: serving.caPath,
    close: () => teardown.run(),
  };
}
