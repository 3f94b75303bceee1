// All embedded virtual clusters of this process: creates them, runs them while they are used, and deletes them.

import type { RotationAction } from "@postern/api/certificate-authority";
import { serviceUnavailableError } from "@postern/apimachinery/meta/api-error";
import type { CredentialLineage } from "@postern/apiserver/authentication/credential-lineage";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createResourceKeys, type ResourceLocation } from "@postern/apiserver/cache/resource-keys";
import { followView } from "@postern/apiserver/cache/view-informer";
import type { Awaitable } from "@postern/apiserver/runtime/awaitable";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { Storage } from "@postern/apiserver/storage/storage";
import { createCompiledDefinitions } from "@postern/kubernetes/custom-resources/compiled-definitions";
import {
  compositionPrefix,
  createInternalRecords,
  eraseComposition,
  type InternalRecords,
  type InternalValues,
  virtualClusterComposition,
} from "../../../foundation/encryption/internal-records.ts";
import type { ClusterMemory } from "../../budgets/cluster-memory.ts";
import type { AuthorityRecord } from "../../certificate-authorities/authority-record.ts";
import { type RotationStates, stateOfRecord, stateOfRotation } from "../../certificate-authorities/rotation-states.ts";
import {
  type ClusterSecrets,
  createClusterAuthority,
  firstAuthorityName,
  hasClusterAuthority,
  loadClusterSecrets,
  readRecord,
  rotateClusterSecrets,
} from "./cluster-secrets.ts";
import {
  type ClusterSettings,
  type EmbeddedCluster,
  type EmbeddedClusterDeps,
  type LocalCluster,
  startEmbeddedCluster,
} from "./embedded-cluster.ts";
import { DEFAULT_SHARE } from "./metered-storage.ts";
import { createRotatedClusters } from "./rotated-clusters.ts";
import { createRunningClusters } from "./running-clusters.ts";

export type EmbeddedClusters<Cluster extends EmbeddedCluster = EmbeddedCluster> = Disposable & {
  /** Creates the CA and the initial objects of a cluster if they are missing, and leaves it running. */
  provision(uid: string, signal: AbortSignal): Promise<void>;
  /** Starts it if it is not running. Rejects with ApiError 503 if it has not been created yet, was deleted, or may not start now. */
  open(uid: string): Promise<Cluster>;
  /**
   * Takes a step of the rotation of its CA and its ServiceAccount key, and gives their record before and after it. All servers know of it when this
   * resolves in the answer of a request. Rejects with ApiError 409 for a step that does not follow, and 503 where it has not been created yet.
   */
  rotate(uid: string, action: RotationAction): Promise<{ before: AuthorityRecord; after: AuthorityRecord }>;
  /** The record of its CA, with secrets. Undefined where it has not been created yet. */
  authorityOf(uid: string): Promise<AuthorityRecord | undefined>;
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
  "composition" | "customResources" | "secrets" | "onCertificateSigned" | "settings"
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
  /** Rotations that servers know of. Absent: CAs stay. */
  readonly rotations?: RotationStates | undefined;
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
    start: (uid, secrets, signal) =>
      startEmbeddedCluster(
        {
          ...deps,
          customResources,
          composition: virtualClusterComposition(uid),
          settings: deps.settingsOf === undefined ? undefined : () => deps.settingsOf?.(uid) ?? NO_SETTINGS,
          secrets,
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
  { storage, runtime, memory, sealedValues, rotations }: EmbeddedClustersDeps,
  host: ClusterHost<Cluster>,
): EmbeddedClusters<Cluster> {
  const prefixOf = (uid: string, location: ResourceLocation): string =>
    createResourceKeys(virtualClusterComposition(uid), location).prefix;

  const recordsOf = (uid: string): InternalRecords =>
    createInternalRecords({ storage, sealedValues }, virtualClusterComposition(uid));

  /** A cluster that runs makes anew what is deleted, for ever: one whose thread ended would be started again. */
  const removing = new Set<string>();

  const start = async (uid: string, signal: AbortSignal): Promise<Cluster> => {
    if (removing.has(uid)) throw notSetUpError();
    const secrets = await loadClusterSecrets(recordsOf(uid), runtime);
    if (secrets === undefined) throw notSetUpError();
    return await host.start(uid, secrets, signal);
  };
  const clusters = createRunningClusters(start, host.stopped, runtime);
  const rotating = createRotatedClusters({
    rotations,
    running: clusters.openNow,
    load: (uid) => loadClusterSecrets(recordsOf(uid), runtime),
  });

  /** A step that does not follow may have been taken already, by a server that ended before others heard of it. */
  async function publishRecord(uid: string): Promise<void> {
    const record = await readRecord(recordsOf(uid));
    const state = record && stateOfRecord(record, rotations?.of(uid));
    if (state !== undefined) await rotations?.publish(uid, state);
  }

  return {
    open: (uid) => rotating.upToDate(uid, clusters.open(uid)),
    stop: clusters.stop,
    async rotate(uid, action) {
      const step = await rotateClusterSecrets(recordsOf(uid), action, firstAuthorityName(uid), runtime).catch(
        async (error: unknown) => {
          await publishRecord(uid);
          throw error;
        },
      );
      if (step === undefined) throw notSetUpError();
      await rotations?.publish(uid, stateOfRotation(step.after, action));
      // Memory shows it by now, so that this waits for the new secrets.
      if (clusters.openNow(uid) !== undefined) await rotating.upToDate(uid, clusters.open(uid));
      return step;
    },
    authorityOf: (uid) => readRecord(recordsOf(uid)),
    idleFor: clusters.idleFor,
    faultOf: host.faultOf,
    async provision(uid, signal) {
      signal.throwIfAborted();
      memory?.checkNewCluster(virtualClusterComposition(uid));
      await createClusterAuthority(recordsOf(uid), firstAuthorityName(uid), runtime);
      await clusters.open(uid);
    },
    exists: (uid) => hasClusterAuthority(recordsOf(uid)),
    objectsOf: (uid, location, signal) => host.objectsOf(prefixOf(uid, location), signal),
    follow: (uid, location, listener) => host.follow(prefixOf(uid, location), listener),
    async remove(uid, signal) {
      removing.add(uid);
      try {
        await clusters.stop(uid);
        await eraseComposition(storage, virtualClusterComposition(uid), signal);
        await rotations?.forget(uid);
        await host.removed(uid, signal);
      } finally {
        removing.delete(uid);
      }
    },
    get running() {
      return clusters.count;
    },
    [Symbol.dispose]() {
      rotating[Symbol.dispose]();
      clusters[Symbol.dispose]();
    },
  };
}

const notSetUpError = () => serviceUnavailableError("the virtual cluster has not been set up yet");
