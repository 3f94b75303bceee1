// Serves the resources of CustomResourceDefinitions through the API server library alone: no product strategy is in the way
// when its answers are compared with those of kube-apiserver.

import { randomUUID } from "node:crypto";
import { mkdir, readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { decodeYaml } from "@postern/apimachinery/yaml/decode-yaml";
import { createBearerTokenAuthenticator } from "@postern/apiserver/authentication/bearer-token-authenticator";
import { createTokenFileAuthenticator } from "@postern/apiserver/authentication/token-file-authenticator";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { createHandlerChain } from "@postern/apiserver/chain/handler-chain";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { createNonResourceHandler, nonResourcePaths } from "@postern/apiserver/endpoints/non-resource-handler";
import { type HealthCheck, pingCheck, shutdownCheck } from "@postern/apiserver/health/health-check";
import { createLogger } from "@postern/apiserver/logging/create-logger";
import { createServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { createContinueTokens } from "@postern/apiserver/registry/store/continue-token";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import type { Storage } from "@postern/apiserver/storage/storage";
import { textResponse } from "@postern/apiserver/transport/api-response";
import { createHttpTransport } from "@postern/apiserver/transport/listener/http-transport";
import { definitionsFromCrd } from "@postern/kubernetes/custom-resources/definition-from-crd";
import { createStandardSurface } from "@postern/kubernetes/server/standard-surface";
import { loadOrCreateAuthority } from "@postern/platform/foundation/pki/authority-files";
import { loadOrCreateServingCertificate, servingNames } from "@postern/platform/foundation/pki/serving-certificate";
import { openEtcdStorage } from "@postern/stores/etcd/etcd-storage";
import { openSqliteStorage } from "@postern/stores/sqlite/sqlite-storage";
import type { ConformanceOptions } from "./options.ts";

const DRAIN_MS = 1_000;

/** Version that kube-apiserver of this release reports; clients look at the minor version. */
const VERSION = {
  major: "1",
  minor: "36",
  emulationMajor: "1",
  emulationMinor: "36",
  minCompatibilityMajor: "1",
  minCompatibilityMinor: "35",
  gitVersion: "v1.36.2",
  gitCommit: "conformance",
  gitTreeState: "clean",
  buildDate: "2026-01-01T00:00:00Z",
  goVersion: "go1.23.5",
  compiler: "gc",
  platform: "linux/amd64",
};

export type ConformanceServer = AsyncDisposable & {
  readonly url: string;
  readonly caFile: string;
  /** Forgets the history of the store, so that old versions and continue tokens expire. */
  compact(): Promise<void>;
  /** Says from now on that it is not ready, and goes on serving: what comes before it closes. */
  announceShutdown(): void;
};

export async function startConformanceServer(options: ConformanceOptions): Promise<ConformanceServer> {
  await mkdir(options.dataDir, { recursive: true });
  const logger = createLogger({ level: options.logLevel ?? "warn" });
  const runtime = systemRuntime;
  const storage = await openStorage(options);
  const compact = (): Promise<void> => forgetHistory(storage);
  await compact();
  const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: runtime.scheduler });
  await cache.ready();
  const metrics = createServerMetrics({ withProcessMetrics: true });
  const stopping = new AbortController();
  const live = [pingCheck, logCheck, storeCheck(storage)];
  const ready = [...live, shutdownCheck(stopping.signal)];
  const health = { healthz: live, livez: live, readyz: ready };
  const nonResource = createNonResourceHandler({ health, version: VERSION, metrics, logger });
  const tokens = createTokenFileAuthenticator(await readFile(options.tokenFile, "utf8"));

  const surface = createStandardSurface({
    composition: "conformance",
    storage,
    cache,
    runtime,
    continueTokens: createContinueTokens(),
    resources: await readDefinitions(options.crdFiles),
    tokens,
    audiences: ["https://kubernetes.default.svc"],
    namespaces: ["default", "kube-system", "kube-public", "kube-node-lease", "other"],
    nonResource: (context) => onDebugRequest(context, compact) ?? nonResource(context),
    nonResourcePaths: nonResourcePaths({ health }),
    onHookError: (error) => logger.error({ error }, "hook failed"),
    onControllerError: (error) => logger.error({ error }, "controller failed"),
    queueMetrics: metrics.workQueues,
    watchMetrics: {
      watchEvent: ({ definition: { group, version, plural } }) => metrics.watchEvent(group, version, plural),
      watchTerminated: ({ definition: { group, plural } }, scope) => metrics.watchTerminated(group, plural, scope),
    },
  });
  await surface.bootstrap(stopping.signal);
  await compact();

  const authority = await loadOrCreateAuthority(options.dataDir, { commonName: "conformance", ...runtime });
  const names = servingNames(options.bindAddress, [hostname()]);
  const certificate = await loadOrCreateServingCertificate(options.dataDir, { authority, names, ...runtime });
  const { observe = (request) => request } = options;
  const handle = createHandlerChain(surface.route, {
    runtime,
    logger,
    metrics,
    isServed: surface.serves,
    authenticator: createBearerTokenAuthenticator(tokens),
    authorizer: surface.authorizer,
    ...options.chain,
  });
  const transport = createHttpTransport({
    tls: { key: certificate.privateKeyPem, cert: certificate.certificatePem },
    bindAddress: options.bindAddress,
    port: options.securePort,
    logger,
    clock: runtime.clock,
    scheduler: runtime.scheduler,
    random: runtime.random,
    handler: (request) => handle(observe(request)),
  });
  const { port } = await transport.listen();
  return {
    url: `https://${options.bindAddress}:${port}`,
    caFile: join(options.dataDir, "ca.crt"),
    compact,
    announceShutdown: () => stopping.abort(),
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await transport.close({ drainMs: DRAIN_MS });
      surface[Symbol.dispose]();
      await cache[Symbol.asyncDispose]();
      await storage[Symbol.asyncDispose]();
    },
  };
}

/** Makes every version so far an old one, also those that are the newest of their resource, and forgets them. */
async function forgetHistory(storage: Storage): Promise<void> {
  const key = `/conformance/${randomUUID()}`;
  await storage.delete(key, await storage.create(key, new Uint8Array()));
  await storage.compact(await storage.currentRevision());
}

const logCheck: HealthCheck = { name: "log", check: () => undefined };

/** Under the name that clients know the check of the store by. */
const storeCheck = (storage: Storage): HealthCheck => ({
  name: "etcd",
  check: async () => void (await storage.currentRevision()),
});

async function openStorage({ store, dataDir }: ConformanceOptions): Promise<Storage> {
  switch (store.kind) {
    case "memory":
      return createMemoryStorage();
    case "sqlite":
      return await openSqliteStorage({ path: join(dataDir, "conformance.db") });
    case "etcd":
      return await openEtcdStorage(store);
  }
}

async function readDefinitions(files: readonly string[]): Promise<readonly ResourceDefinition[]> {
  const definitions: ResourceDefinition[] = [];
  for (const file of files) {
    for (const document of (await readFile(file, "utf8")).split(/^---\s*$/m)) {
      if (document.trim() === "") continue;
      const { value } = decodeYaml(document);
      if (isJsonObject(value)) definitions.push(...definitionsFromCrd(value));
    }
  }
  return definitions;
}

/** `POST /debug/compact`, for runners that cannot send a signal, and `POST /debug/panic`, for a fault that nobody foresaw. */
function onDebugRequest({ info, request }: RequestContext, compact: () => Promise<void>) {
  if (request.method !== "POST") return undefined;
  if (info.path === "/debug/panic") return Promise.reject(new Error("asked to fail"));
  return info.path === "/debug/compact" ? compact().then(() => textResponse(200, "ok")) : undefined;
}
