// Routes outside the resources: health, version, metrics, backup, audit search, and key ring.

import { type Freshness, freshnessCheck } from "@postern/apiserver/cache/freshness";
import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import {
  createNonResourceHandler,
  type NonResourceHandler,
  nonResourcePaths,
} from "@postern/apiserver/endpoints/non-resource-handler";
import { type HealthCheck, pingCheck, shutdownCheck } from "@postern/apiserver/health/health-check";
import type { Logger } from "@postern/apiserver/logging/logger";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { PlatformCore } from "../core/platform-core.ts";
import { withAuditSearch } from "../features/audit/audit-route.ts";
import { SERVED_VERSION, WITH_PRODUCT_VERSION } from "../foundation/served-version.ts";
import { keyRingCheck } from "../foundation/store/open-sealed-store.ts";
import type { ServerStore } from "../foundation/store/open-server-store.ts";
import { withBackup } from "./backup-route.ts";
import { withKeyRing } from "./key-ring-route.ts";

export type NonResourceRoutesDeps = {
  readonly core: PlatformCore;
  readonly store: ServerStore;
  readonly cache: WatchCache;
  readonly freshness: Freshness;
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly metrics: ServerMetrics;
  /** The newest file of the audit log; undefined if it goes to standard output. */
  readonly auditPath: string | undefined;
  /** Fails until the store is prepared, and admin.kubeconfig is written. */
  readonly prepared: HealthCheck;
  /** Aborts when the server is to take no new requests. */
  readonly draining: AbortSignal;
};

export type NonResourceRoutes = {
  readonly nonResource: NonResourceHandler;
  /** For the list at `/`. */
  readonly nonResourcePaths: readonly string[];
};

export function createNonResourceRoutes(deps: NonResourceRoutesDeps): NonResourceRoutes {
  const { core, store, cache, freshness, runtime, logger, metrics, auditPath, prepared, draining } = deps;
  const { disk, keyRing, serverKeys, checks } = store;
  const health = {
    healthz: [pingCheck],
    livez: [pingCheck],
    readyz: [pingCheck, ...checks, keyRingCheck(keyRing), freshnessCheck(freshness), prepared, shutdownCheck(draining)],
  };
  const everyServer = createNonResourceHandler({
    health,
    version: { ...SERVED_VERSION, ...WITH_PRODUCT_VERSION },
    metrics,
    logger,
  });
  const backup = { core, storage: disk, cache, runtime, serverKey: serverKeys.backups };
  const ring = { ring: keyRing, keys: core.keys, storage: disk, clock: runtime.clock };
  return {
    nonResource: withKeyRing(withBackup(withAuditSearch(everyServer, auditPath), backup), ring),
    nonResourcePaths: nonResourcePaths({ health }),
  };
}
