// Prepares the store for the platform, at every start.

import type { LeaderElection } from "@postern/apiserver/storage/leader-election";
import { markVerifiedElsewhere } from "../features/certificates/mark-verified-elsewhere.ts";
import { MANAGEMENT_BASE } from "../server/api-router.ts";
import type { Platform } from "../server/compose.ts";
import type { ServingState } from "../server/serving-reload.ts";
import { type AdminKubeconfigDeps, refreshAdminKubeconfig, writeAdminKubeconfig } from "./admin-kubeconfig.ts";
import { type ApplyManifestsDeps, applyManifests } from "./apply-manifests.ts";
import { ensureRoles, FIRST_USER, firstStart } from "./first-start.ts";
import { createKeyFiles } from "./key-files.ts";
import { gaugeManifests } from "./manifest-metrics.ts";

type PreparedPlatform = Pick<Platform, "base" | "keys" | "certificates" | "mint" | "api">;

export type PreparePlatformDeps = {
  readonly election: LeaderElection;
  /** Identity of this server for others on the same store. */
  readonly identity: string;
  /** The address of the server. */
  readonly url: string;
  readonly serving: ServingState;
  readonly manifests: Pick<ApplyManifestsDeps, "manifests" | "api" | "logger">;
};

export async function preparePlatform(
  { base, keys, certificates, mint, api: { registry } }: PreparedPlatform,
  deps: PreparePlatformDeps,
): Promise<void> {
  const { election, identity, url, serving } = deps;
  const { configuration, names, signal } = base;
  const { dataDir } = configuration;
  const file: AdminKubeconfigDeps = {
    dataDir,
    server: `${url}${MANAGEMENT_BASE}`,
    get certificateAuthorityPem() {
      return serving.current.certificateAuthorityPem;
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
  serving.onAuthorityChange(() => {
    refreshAdminKubeconfig(file).catch(base.onError);
  });
  await markVerifiedElsewhere(base, certificates);
  const { dir: directory, drift } = configuration.bootstrap;
  await applyManifests({
    ...deps.manifests,
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
