// Prepares the store for the platform, at every start.

import type { AuditOptions } from "@postern/apiserver/audit/audit-backend";
import type { Logger } from "@postern/apiserver/logging/logger";
import type { LeaderElection } from "@postern/apiserver/storage/leader-election";
import { markVerifiedElsewhere } from "../features/certificates/mark-verified-elsewhere.ts";
import type { PlatformEndpoint } from "../features/virtual-clusters/platform-endpoint.ts";
import { MANAGEMENT_BASE } from "../server/api-router.ts";
import type { Platform } from "../server/compose.ts";
import {
  ADMIN_KUBE_CONFIG_FILE,
  type AdminKubeconfigDeps,
  refreshAdminKubeconfig,
  writeAdminKubeconfig,
} from "./admin-kubeconfig.ts";
import { applyManifests } from "./apply-manifests.ts";
import { ensureRoles, FIRST_USER, firstStart } from "./first-start.ts";
import { createInternalApi } from "./internal-api.ts";
import { createKeyFiles } from "./key-files.ts";
import { gaugeManifests } from "./manifest-metrics.ts";
import type { Manifest } from "./manifests.ts";

export type PreparePlatformDeps = {
  readonly election: LeaderElection;
  /** Identity of this server for others on the same store. */
  readonly identity: string;
  readonly endpoint: PlatformEndpoint;
  /** Of --bootstrap-dir. */
  readonly manifests: readonly Manifest[];
  readonly audit: AuditOptions;
  readonly logger: Logger;
};

export async function preparePlatform(platform: Platform, deps: PreparePlatformDeps): Promise<void> {
  const {
    base,
    keys,
    certificates,
    mint,
    api: { registry },
  } = platform;
  const { election, identity, endpoint, manifests, logger } = deps;
  const { configuration, names, signal } = base;
  const { dataDir } = configuration;
  const file: AdminKubeconfigDeps = {
    dataDir,
    server: `${endpoint.url()}${MANAGEMENT_BASE}`,
    get certificateAuthorityPem() {
      return endpoint.certificateAuthorityPem;
    },
    isLasting: configuration.store.kind !== "memory",
  };

  // If several servers start on an empty store, one of them fills it first.
  await using _turn = await election.campaign("first-start", identity, signal);
  await ensureRoles(base);
  const isFirst = await firstStart(base, async () => {
    // A start that was interrupted may have left a key whose value is lost.
    await mint.revoke(FIRST_USER, signal);
    const key = await mint.mint(
      {
        metadata: { name: FIRST_USER },
        // The one key that exists when all others have ended: its file is for the operator of the server alone.
        spec: { displayName: "First administrator", user: FIRST_USER, type: "User", ttl: 0 },
      },
      signal,
    );
    await writeAdminKubeconfig(file, key);
  });
  if (!isFirst) await refreshAdminKubeconfig(file);
  endpoint.onAuthorityChange?.(() => {
    refreshAdminKubeconfig(file).catch((error: unknown) => base.onError(error, ADMIN_KUBE_CONFIG_FILE));
  });
  await markVerifiedElsewhere(base, certificates);
  const { dir: directory, drift } = configuration.bootstrap;
  await applyManifests({
    manifests,
    api: createInternalApi(platform, deps),
    logger,
    directory,
    overwrites: drift === "overwrite",
    recordEvent: base.recordEvent,
    onApplied: gaugeManifests(base.metrics),
    names,
    registry,
    keyFiles: createKeyFiles({
      ...file,
      generate: () => keys.secrets.generate(),
      async keyOf(value) {
        await keys.index.whenFound(value);
        return keys.index.find(value)?.name;
      },
    }),
  });
}
