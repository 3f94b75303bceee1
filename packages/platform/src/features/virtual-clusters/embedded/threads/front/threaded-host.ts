// Runs embedded clusters in threads of their own (ADR 245): what a tenant stores is parsed, compiled and listed there, not in the front.

import type { CredentialLineage, LineageVerifier } from "@postern/apiserver/authentication/credential-lineage";
import { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import type { WebhookMetrics } from "@postern/apiserver/metrics/webhook-metrics";
import type { WorkQueueMetrics } from "@postern/apiserver/metrics/work-queue-metrics";
import { createLimitLocks, type LimitLocks } from "@postern/apiserver/registry/store/limit-locks";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { Storage, StoredEntry } from "@postern/apiserver/storage/storage";
import { virtualClusterComposition } from "../../../../../foundation/encryption/internal-records.ts";
import { createThreadLimits, type ThreadLimits } from "../../../../../foundation/store/limits-of-threads.ts";
import { costOfCluster } from "../../../../budgets/cluster-memory.ts";
import type { ThreadBudgets } from "../../../../budgets/thread-budgets.ts";
import type { ClusterSettings, EmbeddedCluster } from "../../embedded-cluster.ts";
import type { ClusterHost, EmbeddedClusters } from "../../embedded-clusters.ts";
import type { ClusterThreadData } from "../inside/cluster-thread.ts";
import { type EndpointMessage, secretsMessage } from "../messages/cluster-methods.ts";
import { CLUSTERS_PREFIX } from "../messages/cluster-prefix.ts";
import { showQueues } from "../messages/reported-metrics.ts";
import { decodeError } from "../messages/wire-errors.ts";
import { describeEnd } from "../pool/quarantine.ts";
import { createThreadPool, type OnThreadEnd, type PooledThread, type ThreadPool } from "../pool/thread-pool.ts";
import { type ClusterThread, startThread } from "../pool/thread-process.ts";
import { createClusterFeed } from "./cluster-feed.ts";
import type { CountedClusters } from "./counted-clusters.ts";
import { createRequestForwarder, type RequestForwarder } from "./forward-requests.ts";
import { createRemoteCluster } from "./remote-cluster.ts";
import { createStorageHost } from "./storage-host.ts";

export type ThreadedHostDeps = {
  readonly size: number;
  readonly budgets: ThreadBudgets;
  readonly data: Pick<ClusterThreadData, "platform" | "tenantReach" | "continueKey" | "isShared">;
  /** Locks that all threads share which run clusters. Absent: those of this host alone run them. */
  readonly limitLocks: LimitLocks | undefined;
  /** Bytes of events that may wait to be sent. */
  readonly backlog: { readonly perWatch: number; readonly perConnection: number };
  readonly storage: Storage;
  /** Counts what clusters store. */
  readonly cache: Pick<WatchCache, "usage" | "refresh">;
  readonly counted: CountedClusters;
  readonly runtime: Runtime;
  readonly settingsOf: (uid: string) => ClusterSettings;
  readonly onSettingsChange: (listener: () => void) => Disposable;
  readonly endpoint: () => EndpointMessage;
  readonly onEndpointChange: (listener: () => void) => Disposable;
  readonly lineages: LineageVerifier;
  readonly onCertificateSigned: (uid: string, pem: string, lineage: CredentialLineage | undefined) => Promise<void>;
  /** Those that run here. */
  readonly clusters: () => Pick<EmbeddedClusters, "open" | "stop" | "idleFor">;
  /** A cluster stopped its thread. */
  readonly onFault: (uid: string, message: string) => void;
  readonly queueMetrics: WorkQueueMetrics;
  readonly webhookMetrics: WebhookMetrics;
  readonly onOverBudget: () => void;
  readonly onError: (error: unknown, subject: string) => void;
};

export type HostThread = PooledThread & {
  readonly process: ClusterThread;
  readonly forwarder: Pick<RequestForwarder, "forward" | "open">;
  /** Clusters that may use the store. */
  readonly open: Map<string, ClusterSettings>;
  watchToken(uid: string, token: string, listener: () => void): Disposable;
};

export type ThreadedHost = ClusterHost<EmbeddedCluster> & Disposable & { readonly pool: ThreadPool<HostThread> };

const PAGE_SIZE = 500;
/** A cluster that has been idle for so long may stop for another one that needs its room. */
const ROOM_IDLE_MS = 2_000;
const LAST_WRITE_MS = 1_000;
/** Settings of many instances change together. */
const SETTINGS_MS = 20;

export function createThreadedHost(deps: ThreadedHostDeps): ThreadedHost {
  const { size, budgets, storage, cache, counted, runtime, settingsOf, clusters, onError } = deps;
  const feed = createClusterFeed(storage, CLUSTERS_PREFIX, runtime.scheduler);

  const needOf = (uid: string): number => costOfCluster(cache.usage.of(virtualClusterComposition(uid)));

  const pool = createThreadPool<HostThread>({
    size,
    roomBytes: { shared: budgets.shared.clustersBytes, alone: budgets.alone.clustersBytes },
    clock: runtime.clock,
    scheduler: runtime.scheduler,
    needOf,
    start: (name, isAlone, onEnd) => startHostThread(name, isAlone ? budgets.alone : budgets.shared, onEnd),
    onLost(uids, culprit, reason) {
      if (culprit !== undefined) deps.onFault(culprit, describeEnd(reason));
      for (const uid of uids) void startAgain(uid);
    },
  });

  async function startAgain(uid: string): Promise<void> {
    try {
      await clusters().stop(uid);
      if (pool.quarantine.pauseOf(uid) === undefined) await clusters().open(uid);
    } catch (error) {
      // The next request starts it.
      onError(error, "cluster-threads");
    }
  }

  /** Stops clusters that have been idle the longest, if so many are idle that there is room then. */
  async function makeRoom(uid: string): Promise<void> {
    const crowd = pool.crowding(uid);
    if (crowd === undefined) return;
    const idle = crowd.uids
      .map((other) => ({ other, ms: clusters().idleFor(other) }))
      .filter(({ ms }) => ms >= ROOM_IDLE_MS)
      .sort((one, other) => other.ms - one.ms);
    const chosen: string[] = [];
    let missing = crowd.missingBytes;
    for (const { other } of idle) {
      if (missing <= 0) break;
      chosen.push(other);
      missing -= needOf(other);
    }
    if (missing <= 0) await Promise.all(chosen.map((other) => clusters().stop(other)));
  }

  function startHostThread(name: string, limits: ThreadBudgets["shared"], onEnd: OnThreadEnd): HostThread {
    const open = new Map<string, ClusterSettings>();
    const tokens = new Map<number, () => void>();
    const queues = showQueues(deps.queueMetrics);
    let lastToken = 0;
    const link = () => process.link;
    const forwarder = createRequestForwarder(link);
    const held = createThreadLimits(deps.limitLocks ?? createLimitLocks());
    const host = createStorageHost({ storage, feed, isOpen: (uid) => open.has(uid), thread: link });
    const process: ClusterThread = startThread({
      name,
      data: {
        ...deps.data,
        sharesLimits: deps.limitLocks !== undefined,
        endpoint: deps.endpoint(),
        clustersBytes: limits.clustersBytes,
        historyBytes: limits.historyBytes,
        backlog: {
          perWatch: Math.min(deps.backlog.perWatch, limits.backlogBytes),
          perConnection: Math.min(deps.backlog.perConnection, limits.backlogBytes),
          total: limits.backlogBytes,
        },
      },
      limits,
      clock: runtime.clock,
      scheduler: runtime.scheduler,
      onError: (error) => onError(error, name),
      handlers: {
        calls: {
          ...host.calls,
          ...forwarder.calls,
          holdLimits: held.hold,
          judgeLineage: ({ lineage }) => deps.lineages.judge(lineage),
          async certificateSigned({ uid, pem, lineage }) {
            await deps.onCertificateSigned(uid, pem, lineage);
            return undefined;
          },
        },
        notes: {
          ...host.notes,
          ...forwarder.notes,
          credentialRevoked({ id }) {
            tokens.get(id)?.();
            tokens.delete(id);
          },
          failed: ({ error, subject }) => onError(decodeError(error), subject),
          queues: (messages) => queues.show(messages),
          webhookAsked: (call) => deps.webhookMetrics.asked(call),
          webhookFailedOpen: ({ type }) => deps.webhookMetrics.failedOpen(type),
          overBudget: deps.onOverBudget,
          releaseLimits: held.release,
        },
      },
      onEnd(reason, slot, error) {
        open.clear();
        host[Symbol.dispose]();
        queues[Symbol.dispose]();
        releaseLater(held);
        if (reason !== "stopped") {
          onError(
            new Error(`the thread ${name} was ended: ${reason}`, error === undefined ? {} : { cause: error }),
            name,
          );
        }
        onEnd(reason, slot);
      },
    });
    return {
      process,
      forwarder,
      open,
      watchToken(uid, token, listener) {
        const id = ++lastToken;
        tokens.set(id, listener);
        process.link.note("watchToken", { uid, id, token });
        return {
          [Symbol.dispose]() {
            if (tokens.delete(id)) process.link.note("unwatchToken", { id });
          },
        };
      },
      close(error) {
        process.link.close(error);
        forwarder.ended();
        process.end("stopped");
      },
    };
  }

  const releases = new Set<Disposable>();

  /** A write of the thread may still be on its way to the store: nothing is counted before. */
  function releaseLater(held: ThreadLimits): void {
    if (deps.limitLocks === undefined) return;
    const later = runtime.scheduler.schedule(LAST_WRITE_MS, () => {
      releases.delete(later);
      held[Symbol.dispose]();
    });
    releases.add(later);
  }

  let sweep: Disposable | undefined;
  const sendSettings = (): void => {
    sweep = undefined;
    for (const { thread } of pool.threads) {
      for (const [uid, sent] of thread.open) {
        const settings = settingsOf(uid);
        if (JSON.stringify(settings) === JSON.stringify(sent)) continue;
        thread.open.set(uid, settings);
        thread.process.link.note("settings", { uid, settings });
      }
    }
  };
  const settingsFollowed = deps.onSettingsChange(() => {
    sweep ??= runtime.scheduler.schedule(SETTINGS_MS, sendSettings);
  });
  const endpointFollowed = deps.onEndpointChange(() => {
    for (const { thread } of pool.threads) thread.process.link.note("endpoint", deps.endpoint());
  });

  return {
    pool,
    async start(uid, secrets, signal) {
      await makeRoom(uid);
      const { thread, slot } = pool.place(uid);
      const settings = settingsOf(uid);
      thread.open.set(uid, settings);
      const leave = (): void => {
        thread.open.delete(uid);
        pool.leave(slot);
      };
      const { link } = thread.process;
      try {
        const message = { uid, slot, secrets: secretsMessage(secrets), settings };
        await link.call("open", message, { signal });
      } catch (error) {
        leave();
        throw error;
      }
      return createRemoteCluster({
        uid,
        secrets,
        thread: link,
        forward: thread.forwarder.forward,
        watchToken: thread.watchToken,
        lineages: deps.lineages,
        runtime,
        onDisposed() {
          leave();
          // A thread that has ended has stopped it.
          link.call("stop", { uid }).catch(() => undefined);
        },
      });
    },
    faultOf(uid) {
      const pause = pool.quarantine.pauseOf(uid);
      return pause && { reason: pause.reason, message: pause.message };
    },
    async objectsOf(prefix, signal) {
      const found: StoredEntry[] = [];
      for (;;) {
        const startAfter = found.at(-1)?.key;
        const { entries, remaining } = await storage.list(prefix, {
          limit: PAGE_SIZE,
          remaining: "any",
          signal,
          ...(startAfter === undefined ? {} : { startAfter }),
        });
        found.push(...entries);
        if (remaining === 0 || entries.length === 0) return found.map((entry) => CachedObject.fromEntry(entry));
      }
    },
    follow: (prefix, listener) => counted.follow(prefix, listener),
    async removed(uid, signal) {
      pool.quarantine.forget(uid);
      await cache.refresh({ signal });
    },
    stopped: () => undefined,
    [Symbol.dispose]() {
      sweep?.[Symbol.dispose]();
      settingsFollowed[Symbol.dispose]();
      endpointFollowed[Symbol.dispose]();
      pool[Symbol.dispose]();
      // The end of a thread plans when its locks are free.
      for (const release of releases) release[Symbol.dispose]();
      feed[Symbol.dispose]();
    },
  };
}
