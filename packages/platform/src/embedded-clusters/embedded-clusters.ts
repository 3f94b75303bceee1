// All embedded virtual clusters of this process: made once, started when first used, stopped and removed.

import { serviceUnavailableError } from "@postern/apimachinery/meta/api-error";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import { createResourceKeys, type ResourceLocation } from "@postern/apiserver/registry/resource-keys";
import type { SealedValues } from "../access-keys/sealed-value.ts";
import { createClusterAuthority, hasClusterAuthority, loadClusterAuthority } from "./cluster-authority.ts";
import { type EmbeddedCluster, type EmbeddedClusterOptions, startEmbeddedCluster } from "./embedded-cluster.ts";
import {
  createInternalRecords,
  eraseComposition,
  type InternalRecords,
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
  /** Cuts its requests, and frees its memory. It starts again when it is used. */
  stop(uid: string): Promise<void>;
  /** Stops it, and removes all that it has in the store. */
  remove(uid: string, signal: AbortSignal): Promise<void>;
  /** How many are running. */
  readonly running: number;
};

export type EmbeddedClustersOptions = Omit<
  EmbeddedClusterOptions,
  "composition" | "authority" | "serviceAccountKey"
> & {
  /** Seals the private keys of the authorities. */
  readonly sealedValues: SealedValues;
};

function viewOf(cache: WatchCache, composition: string, location: ResourceLocation): readonly CachedObject[] {
  const { prefix } = createResourceKeys(composition, location);
  return cache.view(prefix).list(prefix);
}

export function createEmbeddedClusters(options: EmbeddedClustersOptions): EmbeddedClusters {
  const { storage, cache, sealedValues, runtime } = options;
  const started = new Map<string, Promise<EmbeddedCluster>>();
  const lifetime = new AbortController();

  const recordsOf = (uid: string): InternalRecords =>
    createInternalRecords({ storage, sealedValues }, virtualClusterComposition(uid));

  async function start(uid: string): Promise<EmbeddedCluster> {
    const records = recordsOf(uid);
    const authority = await loadClusterAuthority(records);
    if (authority === undefined) throw serviceUnavailableError("the virtual cluster has not been set up yet");
    const serviceAccountKey = await loadOrCreateServiceAccountKey(records);
    return await startEmbeddedCluster(
      { ...options, composition: virtualClusterComposition(uid), authority, serviceAccountKey },
      lifetime.signal,
    );
  }

  function open(uid: string): Promise<EmbeddedCluster> {
    const running = started.get(uid);
    if (running !== undefined) return running;
    const starting = start(uid);
    started.set(uid, starting);
    // A failed start is tried again by whoever comes next.
    starting.catch(() => {
      if (started.get(uid) === starting) started.delete(uid);
    });
    return starting;
  }

  async function stop(uid: string): Promise<void> {
    const running = started.get(uid);
    if (running === undefined) return;
    started.delete(uid);
    try {
      (await running)[Symbol.dispose]();
    } catch {
      // It never started, which its opener has been told.
    }
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
    viewOf: (uid, location) => viewOf(cache, virtualClusterComposition(uid), location),
    async remove(uid, signal) {
      await stop(uid);
      await eraseComposition(storage, virtualClusterComposition(uid), signal);
    },
    get running() {
      return started.size;
    },
    [Symbol.dispose]() {
      lifetime.abort();
      for (const uid of [...started.keys()]) void stop(uid);
    },
  };
}
