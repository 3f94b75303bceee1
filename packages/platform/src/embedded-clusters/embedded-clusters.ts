// All embedded virtual clusters of this process: made once, started when first used, stopped and removed.

import { serviceUnavailableError } from "@postern/apimachinery/meta/api-error";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { followView, type ViewPrefix } from "@postern/apiserver/cache/follow-view";
import { createResourceKeys, type ResourceLocation } from "@postern/apiserver/registry/resource-keys";
import { createClusterAuthority, hasClusterAuthority, loadClusterAuthority } from "./cluster-authority.ts";
import { type EmbeddedCluster, type EmbeddedClusterOptions, startEmbeddedCluster } from "./embedded-cluster.ts";
import {
  compositionPrefix,
  createInternalRecords,
  eraseComposition,
  type InternalRecords,
  type InternalValues,
  virtualClusterComposition,
} from "./internal-records.ts";
import { loadOrCreateServiceAccountKey } from "./service-account-key.ts";

export type EmbeddedClusters = Disposable & {
  /** Makes the authority and the first objects of a cluster, where they are missing, and leaves it running. */
  provision(uid: string, signal: AbortSignal): Promise<void>;
  /** Starts it where it is not running. Rejects with ApiError 503 when it has not been made yet, or is gone. */
  open(uid: string): Promise<EmbeddedCluster>;
  /** Whether it has been made; does not start it. */
  exists(uid: string): Promise<boolean>;
  /** What one of its resources holds, as far as this can be read without starting it. */
  viewOf(uid: string, location: ResourceLocation): readonly CachedObject[];
  /** Calls back after every change of what `viewOf` gives, until disposed; starts nothing. */
  follow(uid: string, location: ResourceLocation, listener: () => void): Disposable;
  /** Cuts its requests, and frees its memory. It starts again when it is used. */
  stop(uid: string): Promise<void>;
  /** Stops it, and removes all that it has in the store. */
  remove(uid: string, signal: AbortSignal): Promise<void>;
  /** How many are running. */
  readonly running: number;
};

export type EmbeddedClustersOptions = Omit<
  EmbeddedClusterOptions,
  "composition" | "authority" | "serviceAccountKey" | "onCertificateSigned"
> & {
  /** Seals the private keys of the authorities. */
  readonly sealedValues: InternalValues;
  /** Called with each client certificate of a cluster, by its uid, before anybody gets it. */
  readonly onCertificateSigned?: (uid: string, certificatePem: string) => Promise<void>;
};

type Started = { readonly cluster: Promise<EmbeddedCluster>; openedAt: number };

/** A cluster that nobody uses for this long is stopped. Starting it again takes some milliseconds. */
const IDLE_MS = 10 * 60_000;
const IDLE_CHECK_MS = 60_000;

export function createEmbeddedClusters(options: EmbeddedClustersOptions): EmbeddedClusters {
  const { storage, cache, sealedValues, runtime } = options;
  const started = new Map<string, Started>();
  const lifetime = new AbortController();

  const viewAt = (uid: string, location: ResourceLocation): ViewPrefix => {
    const { prefix } = createResourceKeys(virtualClusterComposition(uid), location);
    return { view: cache.view(prefix), prefix };
  };

  const recordsOf = (uid: string): InternalRecords =>
    createInternalRecords({ storage, sealedValues }, virtualClusterComposition(uid));

  async function start(uid: string): Promise<EmbeddedCluster> {
    const records = recordsOf(uid);
    const authority = await loadClusterAuthority(records);
    if (authority === undefined) throw serviceUnavailableError("the virtual cluster has not been set up yet");
    const serviceAccountKey = await loadOrCreateServiceAccountKey(records);
    return await startEmbeddedCluster(
      {
        ...options,
        composition: virtualClusterComposition(uid),
        authority,
        serviceAccountKey,
        onCertificateSigned: async (certificatePem) => await options.onCertificateSigned?.(uid, certificatePem),
      },
      lifetime.signal,
    );
  }

  function open(uid: string): Promise<EmbeddedCluster> {
    const known = started.get(uid);
    if (known !== undefined) {
      known.openedAt = runtime.clock.elapsed();
      return known.cluster;
    }
    const starting = start(uid);
    started.set(uid, { cluster: starting, openedAt: runtime.clock.elapsed() });
    planCheck();
    // A failed start is tried again by whoever comes next.
    starting.catch(() => {
      if (started.get(uid)?.cluster === starting) started.delete(uid);
    });
    return starting;
  }

  async function stop(uid: string): Promise<void> {
    const running = started.get(uid);
    if (running === undefined) return;
    started.delete(uid);
    try {
      (await running.cluster)[Symbol.dispose]();
    } catch {
      // It never started, which its opener has been told.
    }
  }

  let nextCheck: Disposable | undefined;
  const planCheck = (): void => {
    nextCheck ??= runtime.scheduler.schedule(IDLE_CHECK_MS, () => {
      nextCheck = undefined;
      void stopIdle();
    });
  };

  async function stopIdle(): Promise<void> {
    for (const [uid, known] of started) {
      // One that does not start is forgotten by `open`.
      const cluster = await known.cluster.catch(() => undefined);
      const sinceOpened = runtime.clock.elapsed() - known.openedAt;
      if (cluster !== undefined && Math.min(sinceOpened, cluster.idleFor()) >= IDLE_MS) await stop(uid);
    }
    if (started.size > 0 && !lifetime.signal.aborted) planCheck();
  }

  return {
    open,
    stop,
    async provision(uid, signal) {
      signal.throwIfAborted();
      await createClusterAuthority(recordsOf(uid), `${virtualClusterComposition(uid)}-ca`, runtime);
      await open(uid);
    },
    exists: (uid) => hasClusterAuthority(recordsOf(uid)),
    viewOf(uid, location) {
      const { view, prefix } = viewAt(uid, location);
      return view.list(prefix);
    },
    follow: (uid, location, listener) =>
      followView(viewAt(uid, location), runtime.scheduler, { replace: listener, put: listener, delete: listener }),
    async remove(uid, signal) {
      await stop(uid);
      const composition = virtualClusterComposition(uid);
      await eraseComposition(storage, composition, signal);
      await cache.refresh(signal);
      cache.forget(compositionPrefix(composition));
    },
    get running() {
      return started.size;
    },
    [Symbol.dispose]() {
      lifetime.abort();
      nextCheck?.[Symbol.dispose]();
      for (const uid of [...started.keys()]) void stop(uid);
    },
  };
}
