// Routes of a virtual cluster beside its API: health, version, metrics, and how to verify tokens of its ServiceAccounts.

import type { NonResourceHandler } from "@postern/apiserver/endpoints/non-resource-handler";
import { nonResourcePaths } from "@postern/apiserver/endpoints/non-resource-handler";
import { type HealthCheck, NotReadyError, pingCheck, shutdownCheck } from "@postern/apiserver/health/health-check";
import { createHealthHandler } from "@postern/apiserver/health/health-handler";
import { silentLogger } from "@postern/apiserver/logging/logger";
import { healthLinesOf, SLIS_PATH } from "@postern/apiserver/metrics/health-metrics";
import type { Storage } from "@postern/apiserver/storage/storage";
import { textResponse } from "@postern/apiserver/transport/api-response";
import { createVersionHandler, type VersionInfo } from "@postern/apiserver/version/version-info";
import { createIssuerDiscovery, ISSUER_DISCOVERY_PATHS } from "@postern/kubernetes/service-accounts/issuer-discovery";
import type { ServiceAccountKeys } from "@postern/kubernetes/service-accounts/service-account-key";
import { type ClusterMetrics, METRICS_PATH, METRICS_TYPE } from "./cluster-metrics.ts";

export type ClusterRoutesDeps = {
  readonly version: VersionInfo;
  readonly keys: ServiceAccountKeys;
  readonly storage: Pick<Storage, "currentRevision">;
  readonly metrics: Pick<ClusterMetrics, "health" | "text">;
  /** Its first roles and namespaces exist. */
  readonly isBootstrapped: () => boolean;
  readonly stopped: AbortSignal;
};

export type ClusterRoutes = { readonly handle: NonResourceHandler; readonly paths: readonly string[] };

export function createClusterRoutes(deps: ClusterRoutesDeps): ClusterRoutes {
  const { version, keys, storage, metrics, isBootstrapped, stopped } = deps;
  const live = [pingCheck, storeCheck(storage), rolesCheck(isBootstrapped)];
  const health = { healthz: live, livez: live, readyz: [...live, shutdownCheck(stopped)] };
  const answerDiscovery = createIssuerDiscovery(keys);
  const answerVersion = createVersionHandler(version);
  const answerHealth = createHealthHandler(health, silentLogger, metrics.health);
  const answerMetrics = (text: string) => textResponse(200, text, { "content-type": METRICS_TYPE });
  return {
    paths: [...ISSUER_DISCOVERY_PATHS, ...nonResourcePaths({ health })],
    handle(context) {
      const { request, info } = context;
      const { path, isResourceRequest } = info;
      if (isResourceRequest) return undefined;
      if (path === "/version" || path === "/version/") return Promise.resolve(answerVersion(request.method));
      if (path === METRICS_PATH) return answerMetrics(metrics.text());
      if (path === SLIS_PATH) return answerMetrics(healthLinesOf(metrics.text()));
      return answerDiscovery(context) ?? answerHealth({ path, query: request.query });
    },
  };
}

/** Under the name that clients know the check of the store by. */
const storeCheck = (storage: ClusterRoutesDeps["storage"]): HealthCheck => ({
  name: "etcd",
  check: async () => void (await storage.currentRevision()),
});

/** As above, for the roles that a cluster begins with. */
const rolesCheck = (isBootstrapped: () => boolean): HealthCheck => ({
  name: "poststarthook/rbac/bootstrap-roles",
  check() {
    if (!isBootstrapped()) throw new NotReadyError("not finished");
  },
});
