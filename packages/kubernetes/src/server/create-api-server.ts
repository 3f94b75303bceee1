// A complete API server, from a store, resources and credentials.

import { createBearerTokenAuthenticator } from "@postern/apiserver/authentication/bearer-token-authenticator";
import type { TokenAuthenticator } from "@postern/apiserver/authentication/token-authenticator";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { createHandlerChain } from "@postern/apiserver/chain/handler-chain";
import { createNonResourceHandler, nonResourcePaths } from "@postern/apiserver/endpoints/non-resource-handler";
import { type HealthCheck, pingCheck, shutdownCheck } from "@postern/apiserver/health/health-check";
import { withLogLimit } from "@postern/apiserver/limits/log-limit";
import { createLogger } from "@postern/apiserver/logging/create-logger";
import { createFaults, withGuardedTimers } from "@postern/apiserver/logging/faults";
import type { Logger } from "@postern/apiserver/logging/logger";
import { createServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { ResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import { createContinueTokens } from "@postern/apiserver/registry/store/continue-token";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createTeardown, type Teardown } from "@postern/apiserver/runtime/teardown";
import { startCompactionSchedule } from "@postern/apiserver/storage/compaction-schedule";
import type { Storage } from "@postern/apiserver/storage/storage";
import { createHttpTransport } from "@postern/apiserver/transport/listener/http-transport";
import type { TlsCredentials } from "@postern/apiserver/transport/tls/secure-server";
import type { VersionInfo } from "@postern/apiserver/version/version-info";
import { createStandardSurface } from "./standard-surface.ts";

/** The parts of a server. `storage`, `resources`, `tokens` and `tls` are required. */
export type ApiServerOptions = {
  /** The store. The server does not close it: the code that opened it does, after the server. */
  readonly storage: Storage;
  /** Your resources. Namespaces, RBAC, Secrets, ConfigMaps, Events, Leases and the reviews are served beside them. */
  readonly resources: readonly ResourceDefinition[];
  /** Resolves a bearer token to its user. Members of the group `system:masters` may do everything; RBAC decides about all others. */
  readonly tokens: TokenAuthenticator;
  /** PEM of the serving certificate and its private key. */
  readonly tls: TlsCredentials;
  /** An IP address or host name. Default: 127.0.0.1. */
  readonly bindAddress?: string;
  /** Default 0: the operating system chooses a free port. */
  readonly port?: number;
  /** Default: JSON lines on standard error, from level `warn`. */
  readonly logger?: Logger;
  /** Answer of `/version`. Default: a Kubernetes version that current releases of kubectl accept. */
  readonly version?: VersionInfo;
  /** Clock, randomness and timers. Default: those of the process. */
  readonly runtime?: Runtime;
  /** How long requests under way may take when the server is disposed, in milliseconds. Default: 10 seconds. */
  readonly drainMs?: number;
};

/** A server that runs. Dispose it to stop it: requests under way are drained, watches end. */
export type ApiServer = AsyncDisposable & {
  /** `https://127.0.0.1:6443`. */
  readonly url: string;
  readonly port: number;
  /** Resources that are served. Definitions may be installed while the server runs. */
  readonly registry: ResourceRegistry;
  /** Replaces the serving certificate; connections that are open keep the old one. */
  setCredentials(tls: TlsCredentials): void;
};

/** Names the part of the store with the objects: it must stay the same for as long as the store is used. */
const COMPOSITION = "api";
const DRAIN_MS = 10_000;

const VERSION: VersionInfo = {
  major: "1",
  minor: "36",
  emulationMajor: "1",
  emulationMinor: "36",
  minCompatibilityMajor: "1",
  minCompatibilityMinor: "35",
  gitVersion: "v1.36.2",
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "",
  platform: `${process.platform}/${process.arch}`,
};

/**
 * Serves resources as kube-apiserver would: discovery, OpenAPI, Tables, every patch type, server-side apply, watches, dry run, RBAC.
 * Resolves when the server accepts requests. Rejects when the port is taken or the store cannot be read.
 *
 * **1. A resource.** `s` describes the fields, once for validation, defaults, `kubectl explain` and the TypeScript type. `defineResource` adds names and
 * columns. A `strategy` checks what a schema cannot say.
 *
 * **2. A store.** `createMemoryStorage()` forgets everything at the end. `openSqliteStorage` and `openEtcdStorage` of `@postern/stores` do not. The server
 * does not close it: dispose the server first, then the store.
 *
 * **3. Credentials.** `createTokenFileAuthenticator` takes lines of `token,user,uid,"group1,group2"`. Members of `system:masters` may do everything. All
 * others need a Role or ClusterRole and a binding, which they or you create with kubectl.
 *
 * **4. A certificate.** `createSelfSignedCertificate()` is for development: clients verify the server with its `cert`.
 *
 * @example
 * ```ts
 * import { randomBytes } from "node:crypto";
 * import { writeFileSync } from "node:fs";
 * import {
 *   createApiServer,
 *   createMemoryStorage,
 *   createSelfSignedCertificate,
 *   createTokenFileAuthenticator,
 *   defineResource,
 *   invalidError,
 *   type KindOf,
 *   kindSchema,
 *   type Strategy,
 *   s,
 * } from "@postern/kubernetes";
 *
 * const fields = s.object({
 *   spec: s
 *     .object({
 *       flour: s.string({ enum: ["rye", "wheat"] }).required().describe("The flour that the loaf is made of."),
 *       grams: s.int32({ minimum: 100 }).default(750).describe("Weight in grams."),
 *     })
 *     .required(),
 * });
 * const strategy: Strategy<KindOf<typeof fields>> = {
 *   validateUpdate: ({ spec }, old) =>
 *     spec.flour === old.spec.flour ? [] : [invalidError("spec.flour", spec.flour, "field is immutable")],
 * };
 * const loaves = defineResource({
 *   group: "bakery.example.com",
 *   version: "v1",
 *   kind: "Loaf",
 *   plural: "loaves",
 *   singular: "loaf",
 *   namespaced: true,
 *   schema: kindSchema(fields.schema),
 *   strategy,
 *   columns: [{ name: "Flour", type: "string", value: ".spec.flour" }],
 * });
 *
 * const token = randomBytes(24).toString("hex");
 * const tls = createSelfSignedCertificate();
 * await using storage = createMemoryStorage();
 * await using server = await createApiServer({
 *   storage,
 *   resources: [loaves],
 *   tokens: createTokenFileAuthenticator(`${token},admin,1,"system:masters"`),
 *   tls,
 * });
 *
 * // kubectl --server URL --certificate-authority tls.crt --token "$(cat token)" get loaves
 * writeFileSync("tls.crt", tls.cert);
 * writeFileSync("token", token, { mode: 0o600 });
 * console.log(server.url);
 * await new Promise((resolve) => process.once("SIGTERM", resolve));
 * ```
 */
export async function createApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const teardown = createTeardown();
  try {
    return await startServer(options, teardown);
  } catch (error) {
    await teardown.run();
    throw error;
  }
}

async function startServer(options: ApiServerOptions, teardown: Teardown): Promise<ApiServer> {
  const { storage, tls, tokens, bindAddress = "127.0.0.1", port = 0, version = VERSION, drainMs = DRAIN_MS } = options;
  const metrics = createServerMetrics({ withProcessMetrics: false });
  const { runtime: { clock: logClock, scheduler: logScheduler } = systemRuntime } = options;
  const limit = { clock: logClock, scheduler: logScheduler, onLeftOut: metrics.logLineLeftOut };
  const logger = teardown.use(withLogLimit(options.logger ?? createLogger({ level: "warn" }), limit));
  const faults = createFaults({ logger, onFault: metrics.fault });
  const runtime = withGuardedTimers(options.runtime ?? systemRuntime, faults);
  const { clock, random, scheduler } = runtime;

  const cache = teardown.use(createWatchCache({ storage, prefix: "/registry/", scheduler }));
  await cache.ready();
  teardown.use(
    startCompactionSchedule({ storage, scheduler, onError: (error) => logger.warn({ error }, "compaction failed") }),
  );
  const stopping = new AbortController();
  teardown.defer(() => stopping.abort());
  const live = [pingCheck, storeCheck(storage)];
  const health = { healthz: live, livez: live, readyz: [...live, shutdownCheck(stopping.signal)] };

  const surface = teardown.use(
    createStandardSurface({
      composition: COMPOSITION,
      storage,
      cache,
      runtime,
      continueTokens: createContinueTokens(),
      resources: options.resources,
      tokens,
      audiences: ["https://kubernetes.default.svc"],
      nonResource: createNonResourceHandler({ health, version, metrics, logger }),
      nonResourcePaths: nonResourcePaths({ health }),
      onHookError: (error) => logger.error({ error }, "hook failed"),
      onControllerError: (error) => logger.error({ error }, "controller failed"),
      queueMetrics: metrics.workQueues,
      watchMetrics: {
        watchEvent: ({ definition: { group, version: served, plural } }) => metrics.watchEvent(group, served, plural),
        watchTerminated: ({ definition: { group, plural } }, scope) => metrics.watchTerminated(group, plural, scope),
      },
    }),
  );
  await surface.bootstrap(stopping.signal);

  const handler = createHandlerChain(surface.route, {
    runtime,
    logger,
    metrics,
    isServed: surface.serves,
    authenticator: createBearerTokenAuthenticator(tokens),
    authorizer: surface.authorizer,
  });
  const transport = createHttpTransport({ tls, bindAddress, port, logger, faults, clock, scheduler, random, handler });
  const listening = await transport.listen();
  teardown.defer(() => transport.close({ drainMs }));
  teardown.defer(() => stopping.abort());

  const host = bindAddress.includes(":") ? `[${bindAddress}]` : bindAddress;
  return {
    url: `https://${host}:${listening.port}`,
    port: listening.port,
    registry: surface.registry,
    setCredentials: (next) => transport.setCredentials(next),
    [Symbol.asyncDispose]: () => teardown.run(),
  };
}

/** Under the name that clients know the check of the store by. */
const storeCheck = (storage: Storage): HealthCheck => ({
  name: "etcd",
  check: async () => void (await storage.currentRevision()),
});
