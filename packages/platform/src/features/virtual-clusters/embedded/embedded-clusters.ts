// All embedded virtual clusters of this process: creates them, runs them while they are used, and deletes them.

import { serviceUnavailableError } from "@postern/apimachinery/meta/api-error";
import type { CredentialLineage } from "@postern/apiserver/authentication/credential-lineage";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createResourceKeys, type ResourceLocation } from "@postern/apiserver/cache/resource-keys";
import { followView } from "@postern/apiserver/cache/view-informer";
import type { Awaitable } from "@postern/apiserver/runtime/awaitable";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { Storage } from "@postern/apiserver/storage/storage";
import { createCompiledDefinitions } from "@postern/kubernetes/custom-resources/compiled-definitions";
import { serviceAccountKeyFromPem } from "@postern/kubernetes/service-accounts/service-account-key";
import {
  compositionPrefix,
  createInternalRecords,
  eraseComposition,
  type InternalRecords,
  type InternalValues,
  virtualClusterComposition,
} from "../../../foundation/encryption/internal-records.ts";
import type { ClusterMemory } from "../../budgets/cluster-memory.ts";
import {
  type ClusterSecrets,
  createClusterAuthority,
  hasClusterAuthority,
  loadClusterSecrets,
} from "./cluster-secrets.ts";
import {
  type ClusterSettings,
  type EmbeddedCluster,
  type EmbeddedClusterDeps,
  type LocalCluster,
  startEmbeddedCluster,
} from "./embedded-cluster.ts";
import { DEFAULT_SHARE } from "./metered-storage.ts";
import { createRunningClusters } from "./running-clusters.ts";

export type EmbeddedClusters<Cluster extends EmbeddedCluster = EmbeddedCluster> = Disposable & {
  /** Creates the CA and the initial objects of a cluster if they are missing, and leaves it running. */
  provision(uid: string, signal: AbortSignal): Promise<void>;
  /** Starts it if it is not running. Rejects with ApiError 503 if it has not been created yet, was deleted, or may not start now. */
  open(uid: string): Promise<Cluster>;
  /** Whether it was created; does not start it. */
  exists(uid: string): Promise<boolean>;
  /** Why it may not start now. */
  faultOf(uid: string): ClusterFault | undefined;
  /** The objects of one of its resources, without starting it. */
  objectsOf(uid: string, location: ResourceLocation, signal: AbortSignal): Awaitable<readonly CachedObject[]>;
  /** Calls back after every change of these objects, until disposed; does not start it. */
  follow(uid: string, location: ResourceLocation, listener: () => void): Disposable;
  /** Closes its requests, and frees its memory. The next request starts it again. */
  stop(uid: string): Promise<void>;
  /** Milliseconds since it was opened or used; 0 while it is in use, or does not run. */
  idleFor(uid: string): number;
  /** Stops it, and deletes everything that it has in the store. */
  remove(uid: string, signal: AbortSignal): Promise<void>;
  /** How many are running. */
  readonly running: number;
};

export type ClusterFault = { readonly reason: string; readonly message: string };

/** The place where clusters run. */
export type ClusterHost<Cluster extends EmbeddedCluster> = {
  /** Rejects with ApiError 503 for a cluster that may not start now. The `signal` is aborted when all clusters are stopped permanently. */
  start(uid: string, secrets: ClusterSecrets, signal: AbortSignal): Promise<Cluster>;
  faultOf(uid: string): ClusterFault | undefined;
  /** By the prefix of the resource in the store. */
  objectsOf(prefix: string, signal: AbortSignal): Awaitable<readonly CachedObject[]>;
  follow(prefix: string, listener: () => void): Disposable;
  /** Everything of the cluster was deleted from the store. */
  removed(uid: string, signal: AbortSignal): Promise<void>;
  /** It was stopped. */
  stopped(uid: string): void;
};

export type ClusterHostDeps = Omit<
  EmbeddedClusterDeps,
  "composition" | "customResources" | "authority" | "serviceAccountKey" | "onCertificateSigned" | "settings"
> & {
  /** Settings of the cluster, by the uid of its instance. Absent: the defaults. */
  readonly settingsOf?: ((uid: string) => ClusterSettings) | undefined;
  /** Called with each client certificate of a cluster, with the cluster's uid, before it is issued. */
  readonly onCertificateSigned?: (
    uid: string,
    certificatePem: string,
    lineage: CredentialLineage | undefined,
  ) => Promise<void>;
};

export type EmbeddedClustersDeps = {
  readonly storage: Storage;
  readonly runtime: Runtime;
  /** The memory that clusters share. Absent: only the quota of each counts. */
  readonly memory?: Pick<ClusterMemory, "checkNewCluster"> | undefined;
  /** Encrypts the private keys of the CAs. */
  readonly sealedValues: InternalValues;
};

export const NO_SETTINGS: ClusterSettings = {
  keepsWorkloads: false,
  runsWorkloads: false,
  completesJobs: false,
  share: DEFAULT_SHARE,
  project: "",
};

/** Clusters that run in this thread. */
export const createEmbeddedClusters = (deps: EmbeddedClustersDeps & ClusterHostDeps): EmbeddedClusters<LocalCluster> =>
  createClusters(deps, createLocalHost(deps));

export function createLocalHost(deps: ClusterHostDeps): ClusterHost<LocalCluster> {
  const { cache, runtime } = deps;
  const customResources = createCompiledDefinitions();
  const forget = (uid: string): void => cache.forget(compositionPrefix(virtualClusterComposition(uid)));
  return {
    start: (uid, { authority, serviceAccountKeyPem }, signal) =>
      startEmbeddedCluster(
        {
          ...deps,
          customResources,
          composition: virtualClusterComposition(uid),
          settings: deps.settingsOf === undefined ? undefined : () => deps.settingsOf?.(uid) ?? NO_SETTINGS,
          authority,
          serviceAccountKey: serviceAccountKeyFromPem(serviceAccountKeyPem),
          onCertificateSigned: async (certificatePem, lineage) =>
            await deps.onCertificateSigned?.(uid, certificatePem, lineage),
        },
        signal,
      ),
    faultOf: () => undefined,
    objectsOf: (prefix) => cache.view(prefix).list(prefix),
    follow: (prefix, listener) =>
      followView({ view: cache.view(prefix), prefix }, runtime.scheduler, {
        replace: listener,
        put: listener,
        delete: listener,
      }),
    async removed(uid, signal) {
      await cache.refresh({ signal });
      forget(uid);
    },
    stopped: forget,
  };
}

export function createClusters<Cluster extends EmbeddedCluster>(
  { storage, runtime, memory, sealedValues }: EmbeddedClustersDeps,
  host: ClusterHost<Cluster>,
): EmbeddedClusters<Cluster> {
  const prefixOf = (uid: string, location: ResourceLocation): string =>
    createResourceKeys(virtualClusterComposition(uid), location).prefix;

  const recordsOf = (uid: string): InternalRecords =>
    createInternalRecords({ storage, sealedValues }, virtualClusterComposition(uid));

  const start = async (uid: string, signal: AbortSignal): Promise<Cluster> => {
    const secrets = await loadClusterSecrets(recordsOf(uid));
    if (secrets === undefined) throw serviceUnavailableError("the virtual cluster has not been set up yet");
    return await host.start(uid, secrets, signal);
  };
  const clusters = createRunningClusters(start, host.stopped, runtime);

  return {
    open: clusters.open,
    stop: clusters.stop,
    idleFor: clusters.idleFor,
    faultOf: host.faultOf,
    async provision(uid, signal) {
      signal.throwIfAborted();
      memory?.checkNewCluster(virtualClusterComposition(uid));
      await createClusterAuthority(recordsOf(uid), `${virtualClusterComposition(uid)}-ca`, runtime);
      await clusters.open(uid);
    },
    exists: (uid) => hasClusterAuthority(recordsOf(uid)),
    objectsOf: (uid, location, signal) => host.objectsOf(prefixOf(uid, location), signal),
    follow: (uid, location, listener) => host.follow(prefixOf(uid, location), listener),
    async remove(uid, signal) {
      await clusters.stop(uid);
      await eraseComposition(storage, virtualClusterComposition(uid), signal);
      await host.removed(uid, signal);
    },
    get running() {
      return clusters.count;
    },
    [Symbol.dispose]: () => clusters[Symbol.dispose](),
  };
}
