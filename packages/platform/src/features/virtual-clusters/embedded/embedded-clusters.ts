// All embedded virtual clusters of this process: creates them, runs them while they are used, and deletes them.

import { serviceUnavailableError } from "@postern/apimachinery/meta/api-error";
import type { CredentialLineage } from "@postern/apiserver/authentication/credential-lineage";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createResourceKeys, type ResourceLocation } from "@postern/apiserver/cache/resource-keys";
import { followView, type ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { createCompiledDefinitions } from "@postern/kubernetes/custom-resources/compiled-definitions";
import {
  createServiceAccountKeyPem,
  type ServiceAccountKey,
  serviceAccountKeyFromPem,
} from "@postern/kubernetes/service-accounts/service-account-key";
import {
  compositionPrefix,
  createInternalRecords,
  eraseComposition,
  type InternalRecords,
  type InternalValues,
  virtualClusterComposition,
} from "../../../foundation/encryption/internal-records.ts";
import {
  authorityFromPem,
  type CertificateAuthority,
  createCertificateAuthority,
} from "../../../foundation/pki/certificate-authority.ts";
import {
  type ClusterSettings,
  type EmbeddedCluster,
  type EmbeddedClusterDeps,
  startEmbeddedCluster,
} from "./embedded-cluster.ts";
import { DEFAULT_SHARE } from "./metered-storage.ts";
import { createRunningClusters } from "./running-clusters.ts";

export type EmbeddedClusters = Disposable & {
  /** Creates the CA and the initial objects of a cluster if they are missing, and leaves it running. */
  provision(uid: string, signal: AbortSignal): Promise<void>;
  /** Starts it if it is not running. Rejects with ApiError 503 if it has not been created yet, or was deleted. */
  open(uid: string): Promise<EmbeddedCluster>;
  /** Whether it was created; does not start it. */
  exists(uid: string): Promise<boolean>;
  /** The view of one of its resources, without starting it. */
  viewOf(uid: string, location: ResourceLocation): readonly CachedObject[];
  /** Calls back after every change of that view, until disposed; does not start it. */
  follow(uid: string, location: ResourceLocation, listener: () => void): Disposable;
  /** Closes its requests, and frees its memory. The next request starts it again. */
  stop(uid: string): Promise<void>;
  /** Stops it, and deletes everything that it has in the store. */
  remove(uid: string, signal: AbortSignal): Promise<void>;
  /** How many are running. */
  readonly running: number;
};

export type EmbeddedClustersDeps = Omit<
  EmbeddedClusterDeps,
  "composition" | "customResources" | "authority" | "serviceAccountKey" | "onCertificateSigned" | "settings"
> & {
  /** Settings of the cluster, by the uid of its instance. Absent: the defaults. */
  readonly settingsOf?: ((uid: string) => ClusterSettings) | undefined;
  /** Encrypts the private keys of the CAs. */
  readonly sealedValues: InternalValues;
  /** Called with each client certificate of a cluster, with the cluster's uid, before it is issued. */
  readonly onCertificateSigned?: (
    uid: string,
    certificatePem: string,
    lineage: CredentialLineage | undefined,
  ) => Promise<void>;
};

const NO_SETTINGS: ClusterSettings = { keepsWorkloads: false, completesJobs: false, share: DEFAULT_SHARE, project: "" };

export function createEmbeddedClusters(deps: EmbeddedClustersDeps): EmbeddedClusters {
  const { storage, cache, sealedValues, runtime } = deps;
  const customResources = createCompiledDefinitions();

  const viewAt = (uid: string, location: ResourceLocation): ViewPrefix => {
    const { prefix } = createResourceKeys(virtualClusterComposition(uid), location);
    return { view: cache.view(prefix), prefix };
  };

  const recordsOf = (uid: string): InternalRecords =>
    createInternalRecords({ storage, sealedValues }, virtualClusterComposition(uid));

  const forget = (uid: string): void => cache.forget(compositionPrefix(virtualClusterComposition(uid)));

  const start = async (uid: string, signal: AbortSignal): Promise<EmbeddedCluster> => {
    const records = recordsOf(uid);
    const authority = await loadClusterAuthority(records);
    if (authority === undefined) throw serviceUnavailableError("the virtual cluster has not been set up yet");
    const serviceAccountKey = await loadOrCreateServiceAccountKey(records);
    return await startEmbeddedCluster(
      {
        ...deps,
        customResources,
        composition: virtualClusterComposition(uid),
        settings: deps.settingsOf === undefined ? undefined : () => deps.settingsOf?.(uid) ?? NO_SETTINGS,
        authority,
        serviceAccountKey,
        onCertificateSigned: async (certificatePem, lineage) =>
          await deps.onCertificateSigned?.(uid, certificatePem, lineage),
      },
      signal,
    );
  };
  const clusters = createRunningClusters(start, forget, runtime);

  return {
    open: clusters.open,
    stop: clusters.stop,
    async provision(uid, signal) {
      signal.throwIfAborted();
      deps.memory?.checkNewCluster(virtualClusterComposition(uid));
      await createClusterAuthority(recordsOf(uid), `${virtualClusterComposition(uid)}-ca`, runtime);
      await clusters.open(uid);
    },
    exists: (uid) => hasClusterAuthority(recordsOf(uid)),
    viewOf(uid, location) {
      const { view, prefix } = viewAt(uid, location);
      return view.list(prefix);
    },
    follow: (uid, location, listener) =>
      followView(viewAt(uid, location), runtime.scheduler, { replace: listener, put: listener, delete: listener }),
    async remove(uid, signal) {
      await clusters.stop(uid);
      await eraseComposition(storage, virtualClusterComposition(uid), signal);
      await cache.refresh({ signal });
      forget(uid);
    },
    get running() {
      return clusters.count;
    },
    [Symbol.dispose]: () => clusters[Symbol.dispose](),
  };
}

// The CA of one embedded virtual cluster: created once, with its private key encrypted in the store.

const AUTHORITY_RECORD = "certificate-authority";

/** Undefined if it does not exist yet. */
async function loadClusterAuthority(records: InternalRecords): Promise<CertificateAuthority | undefined> {
  const record = await records.read(AUTHORITY_RECORD);
  if (record === undefined) return undefined;
  const { certificate, privateKey } = record;
  if (typeof certificate !== "string" || typeof privateKey !== "string") {
    throw new Error("the record of the cluster's CA is incomplete");
  }
  return authorityFromPem(certificate, privateKey);
}

const hasClusterAuthority = (records: InternalRecords): Promise<boolean> => records.has(AUTHORITY_RECORD);

/** `commonName` is its name in certificates. An existing CA is kept. */
async function createClusterAuthority(
  records: InternalRecords,
  commonName: string,
  { clock, random }: Pick<Runtime, "clock" | "random">,
): Promise<void> {
  if (await hasClusterAuthority(records)) return;
  const { certificatePem, privateKeyPem } = createCertificateAuthority({ commonName, clock, random });
  await records.create(AUTHORITY_RECORD, { certificate: certificatePem, privateKey: privateKeyPem });
}

// The key with which one embedded virtual cluster signs ServiceAccount tokens: created once, encrypted in the store.

const KEY_RECORD = "service-account-key";

async function loadOrCreateServiceAccountKey(records: InternalRecords): Promise<ServiceAccountKey> {
  const record =
    (await records.read(KEY_RECORD)) ??
    (await records.create(KEY_RECORD, { privateKey: createServiceAccountKeyPem() }));
  const { privateKey } = record;
  if (typeof privateKey !== "string") throw new Error("the record of the cluster's ServiceAccount key is incomplete");
  return serviceAccountKeyFromPem(privateKey);
}
