// Prepares the store for the platform, at every start.

import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { LeaderElection } from "@postern/apiserver/storage/leader-election";
import type { Storage } from "@postern/apiserver/storage/storage";
import type { PlatformCore } from "../core/platform-core.ts";
import { markVerifiedElsewhere } from "../features/certificates/mark-verified-elsewhere.ts";
import type { Configuration } from "../foundation/config/configuration.ts";
import { MANAGEMENT_BASE } from "../server/api-router.ts";
import type { ManagementSurface } from "../server/management-surface.ts";
import type { ServingState } from "../server/serving-reload.ts";
import { type AdminKubeconfigDeps, refreshAdminKubeconfig, writeAdminKubeconfig } from "./admin-kubeconfig.ts";
import { type ApplyManifestsDeps, applyManifests } from "./apply-manifests.ts";
import { ensureRoles, FIRST_USER, firstStart } from "./first-start.ts";
import { createKeyFiles } from "./key-files.ts";

export type PreparePlatformDeps = {
  readonly election: LeaderElection;
  /** Identity of this server for others on the same store. */
  readonly identity: string;
  readonly core: PlatformCore;
  readonly surface: ManagementSurface;
  readonly storage: Storage;
  readonly runtime: Runtime;
  readonly dataDir: string;
  /** Whether the store outlives the server. */
  readonly isLasting: boolean;
  /** The address of the server. */
  readonly url: string;
  readonly serving: ServingState;
  readonly bootstrap: Pick<ApplyManifestsDeps, "manifests" | "api" | "recordEvent" | "logger" | "onApplied"> &
    Configuration["bootstrap"];
  readonly signal: AbortSignal;
  readonly onError: (error: unknown) => void;
};

export async function preparePlatform(deps: PreparePlatformDeps): Promise<void> {
  const { election, identity, core, surface, storage, runtime, dataDir, url, serving, signal } = deps;
  const { names } = core;
  const { registry, mint } = surface;
  const { clock } = runtime;
  const file: AdminKubeconfigDeps = {
    dataDir,
    server: `${url}${MANAGEMENT_BASE}`,
    get certificateAuthorityPem() {
      return serving.current.certificateAuthorityPem;
    },
    isLasting: deps.isLasting,
  };

  // If several servers start on an empty store, one of them fills it first.
  await using _turn = await election.campaign("first-start", identity, signal);
  await ensureRoles({ names, registry, clock }, signal);
  const isFirst = await firstStart(
    { names, registry, storage, clock },
    async () => {
      // A start that was interrupted may have left a key whose value is lost.
      await mint.revoke(FIRST_USER, signal);
      const key = await mint.mint(
        {
          metadata: { name: FIRST_USER },
          // The one key that is there when all others have ended: its file is only for who runs the server.
          spec: { displayName: "First administrator", user: FIRST_USER, type: "User", ttl: 0 },
        },
        signal,
      );
      await writeAdminKubeconfig(file, key);
    },
    signal,
  );
  if (!isFirst) await refreshAdminKubeconfig(file);
  serving.onAuthorityChange(() => {
    refreshAdminKubeconfig(file).catch(deps.onError);
  });
  await markVerifiedElsewhere({ ...core, lookup: surface.lookup });
  const { bootstrap } = deps;
  await applyManifests({
    ...bootstrap,
    directory: bootstrap.dir,
    overwrites: bootstrap.drift === "overwrite",
    names,
    registry,
    keyFiles: createKeyFiles({
      ...file,
      generate: () => core.secrets.generate(),
      async keyOf(value) {
        await core.keys.whenFound(value);
        return core.keys.find(value)?.name;
      },
    }),
  });
}
