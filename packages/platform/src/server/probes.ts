// Answers of the management API to monitors: health, version and metrics.

import { type Freshness, freshnessCheck } from "@postern/apiserver/cache/freshness";
import { createNonResourceHandler, nonResourcePaths } from "@postern/apiserver/endpoints/non-resource-handler";
import { type HealthCheck, NotReadyError, pingCheck, shutdownCheck } from "@postern/apiserver/health/health-check";
import type { Logger } from "@postern/apiserver/logging/logger";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { ApiSurfaceDeps } from "@postern/apiserver/server/api-surface";
import { SERVED_VERSION, WITH_PRODUCT_VERSION } from "../foundation/served-version.ts";
import { keyRingCheck } from "../foundation/store/open-sealed-store.ts";
import type { ServerStore } from "../foundation/store/open-server-store.ts";

export type Probes = Pick<ApiSurfaceDeps, "nonResource" | "nonResourcePaths">;

export function createProbes(parts: {
  readonly store: Pick<ServerStore, "checks" | "keyRing">;
  readonly freshness: Freshness;
  /** Whether the store is prepared, and admin.kubeconfig is written. */
  readonly isPrepared: () => boolean;
  /** Aborts when the server is to take no new requests. */
  readonly draining: AbortSignal;
  readonly metrics: ServerMetrics;
  /** Resolves with the text of `/metrics`, which is of all servers of this process. Undefined: this is the only one. */
  readonly scrape: (() => Promise<string>) | undefined;
  readonly logger: Logger;
}): Probes {
  const { store, freshness, isPrepared, draining, metrics, scrape, logger } = parts;
  const { checks, keyRing } = store;
  const prepared: HealthCheck = {
    name: "store-prepared",
    check() {
      if (isPrepared()) return;
      throw new NotReadyError("the store is being prepared: roles, the first administrator and bootstrap manifests");
    },
  };
  const readiness = [...checks, keyRingCheck(keyRing), freshnessCheck(freshness), prepared, shutdownCheck(draining)];
  const health = { healthz: [pingCheck], livez: [pingCheck], readyz: [pingCheck, ...readiness] };
  const version = { ...SERVED_VERSION, ...WITH_PRODUCT_VERSION };
  return {
    nonResource: createNonResourceHandler({ health, version, metrics, scrape, logger }),
    nonResourcePaths: nonResourcePaths({ health }),
  };
}
