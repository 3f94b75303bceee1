// Routes outside the resources: health, version, metrics, activity, backup, audit search, doctor, and key ring.

import { type Freshness, freshnessCheck } from "@postern/apiserver/cache/freshness";
import type { Handler } from "@postern/apiserver/context/request-context";
import { createNonResourceHandler, nonResourcePaths } from "@postern/apiserver/endpoints/non-resource-handler";
import { type HealthCheck, pingCheck, shutdownCheck } from "@postern/apiserver/health/health-check";
import type { Logger } from "@postern/apiserver/logging/logger";
import type { AccessKeys } from "../features/access-keys/feature.ts";
import { ACTIVITY_PATH, createActivityHandler } from "../features/activity/activity-route.ts";
import { type ActivitySnapshot, snapshotOf } from "../features/activity/activity-snapshot.ts";
import type { ServerActivity } from "../features/activity/server-activity.ts";
import { AUDIT_EVENTS_PATH, createAuditSearchHandler } from "../features/audit/audit-route.ts";
import type { CertificateLedger } from "../features/certificates/certificate-ledger.ts";
import { credentialPrefixes } from "../features/certificates/feature.ts";
import type { VirtualClusters } from "../features/virtual-clusters/feature.ts";
import type { PlatformEndpoint } from "../features/virtual-clusters/platform-endpoint.ts";
import type { Foundation } from "../foundation/foundation.ts";
import { SERVED_VERSION, WITH_PRODUCT_VERSION } from "../foundation/served-version.ts";
import { keyRingCheck } from "../foundation/store/open-sealed-store.ts";
import type { ServerStore } from "../foundation/store/open-server-store.ts";
import { BACKUP_PATH, createBackupHandler } from "../operations/backup-route.ts";
import { createDoctorHandler, DOCTOR_PATH, type Examine } from "../operations/doctor-route.ts";
import { createKeyRingHandler, KEY_RING_PATH } from "../operations/key-ring-route.ts";
import { AUTHORITY_PATH, createAuthorityHandler } from "./authority-route.ts";
import type { NonResourceRoutes } from "./management-api.ts";

export type NonResourceParts = {
  readonly store: ServerStore;
  readonly endpoint: PlatformEndpoint;
  readonly freshness: Freshness;
  readonly logger: Logger;
  /** Resolves with the text of `/metrics`, which is of all servers of this process. Undefined: this is the only one. */
  readonly scrape: (() => Promise<string>) | undefined;
  /** Adds that of the other servers of this process. Undefined: this is the only one. */
  readonly readActivity: ((own: ActivitySnapshot) => Promise<ActivitySnapshot>) | undefined;
  /** The newest file of the audit log; undefined if it goes to standard output. */
  readonly auditPath: string | undefined;
  readonly examine: Examine;
  /** Fails until the store is prepared, and admin.kubeconfig is written. */
  readonly prepared: HealthCheck;
  /** Aborts when the server is to take no new requests. */
  readonly draining: AbortSignal;
};

export const createNonResourceRoutes =
  (parts: NonResourceParts) =>
  (
    base: Foundation,
    {
      keys,
      certificates,
      clusters: { rotations },
      activity,
    }: {
      readonly keys: AccessKeys;
      readonly certificates: CertificateLedger;
      readonly clusters: Pick<VirtualClusters, "rotations">;
      readonly activity: ServerActivity;
    },
  ): NonResourceRoutes => {
    const { store, endpoint, freshness, logger, scrape, readActivity, auditPath, examine, prepared, draining } = parts;
    const { cache, runtime, metrics } = base;
    const { disk, keyRing, serverKeys, checks } = store;
    const readiness = [...checks, keyRingCheck(keyRing), freshnessCheck(freshness), prepared, shutdownCheck(draining)];
    const health = { healthz: [pingCheck], livez: [pingCheck], readyz: [pingCheck, ...readiness] };
    const everyServer = createNonResourceHandler({
      health,
      version: { ...SERVED_VERSION, ...WITH_PRODUCT_VERSION },
      metrics,
      scrape,
      logger,
    });
    const inForce = { keys: keys.index, certificates, prefixes: credentialPrefixes(base), cache };
    const handlers = new Map<string, Handler>([
      [
        ACTIVITY_PATH,
        createActivityHandler({
          read: (now) => readActivity?.(snapshotOf(activity, now)) ?? snapshotOf(activity, now),
          keys: keys.index,
          clock: runtime.clock,
          hasWebhook: base.configuration.notices.webhook.url !== "",
        }),
      ],
      [
        AUTHORITY_PATH,
        createAuthorityHandler(base, {
          store: { ...store, random: runtime.random },
          rotations,
          certificates,
          keys,
          endpoint,
        }),
      ],
      [AUDIT_EVENTS_PATH, createAuditSearchHandler(auditPath)],
      [BACKUP_PATH, createBackupHandler({ ...inForce, storage: disk, runtime, serverKey: serverKeys.backups })],
      [DOCTOR_PATH, createDoctorHandler({ examine, clock: runtime.clock })],
      [KEY_RING_PATH, createKeyRingHandler(store, keys.index, runtime.clock)],
    ]);
    return {
      nonResource(context) {
        const { isResourceRequest, path } = context.info;
        const handler = isResourceRequest ? undefined : handlers.get(path);
        return handler === undefined ? everyServer(context) : handler(context);
      },
      nonResourcePaths: nonResourcePaths({ health }),
    };
  };
