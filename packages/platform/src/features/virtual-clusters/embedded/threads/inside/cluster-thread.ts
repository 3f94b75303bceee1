// One cluster thread: runs the embedded clusters that the front opens here, each with a watch cache of its own.

import { createPlatformNames } from "@postern/api/platform-names";
import { serviceUnavailableError } from "@postern/apimachinery/meta/api-error";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { HistoryBudget } from "@postern/apiserver/cache/event-ring";
import { createContinueTokens } from "@postern/apiserver/registry/store/continue-token";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { createSharedAbortController } from "@postern/apiserver/storage/shared-abort-controller";
import type { BacklogLimits } from "@postern/apiserver/transport/watch-backlog";
import { createCompiledDefinitions } from "@postern/kubernetes/custom-resources/compiled-definitions";
import { startWorkThreads } from "@postern/kubernetes/server/start-work-threads";
import type { WebhookCaller } from "@postern/kubernetes/webhooks/webhook-caller";
import { virtualClusterComposition } from "../../../../../foundation/encryption/internal-records.ts";
import { SERVED_VERSION } from "../../../../../foundation/served-version.ts";
import { currentLimitLocks, limitLocksBehind } from "../../../../../foundation/store/limits-of-threads.ts";
import { type TenantReach, tenantAddressRules } from "../../../../../foundation/upstream/tenant-addresses.ts";
import { createClusterMemory } from "../../../../budgets/cluster-memory.ts";
import { standardBindings } from "../../bind-roles.ts";
import { type ClusterSettings, type LocalCluster, startEmbeddedCluster } from "../../embedded-cluster.ts";
import {
  type EndpointMessage,
  type FrontCalls,
  type FrontNotes,
  type OpenMessage,
  readSecretsMessage,
  type ThreadCalls,
  type ThreadNotes,
} from "../messages/cluster-methods.ts";
import { prefixOfCluster } from "../messages/cluster-prefix.ts";
import { createLink, type Link, type Port, type WorkMark } from "../messages/link.ts";
import { createQueueCollector, webhookNotes } from "../messages/reported-metrics.ts";
import { writeThreadState } from "../messages/thread-state.ts";
import { encodeError } from "../messages/wire-errors.ts";
import { createRemoteStorage, createRemoteWatches } from "./remote-storage.ts";
import { createRequestServer } from "./serve-requests.ts";
import { createThreadUsage } from "./thread-usage.ts";

/** The data that a thread is started with. */
export type ClusterThreadData = {
  readonly state: SharedArrayBuffer;
  readonly platform: Parameters<typeof createPlatformNames>[0];
  /** How webhooks are reached. */
  readonly tenantReach: TenantReach;
  readonly continueKey: Uint8Array;
  readonly endpoint: EndpointMessage;
  /** For what the clusters store, and for the history of watches. */
  readonly clustersBytes: number;
  readonly historyBytes: number;
  readonly backlog: BacklogLimits;
  /** Whether other servers write to the store as well. */
  readonly isShared: boolean;
  /** Whether other threads of this server run the same clusters. */
  readonly sharesLimits: boolean;
};

type Running = {
  readonly slot: number;
  readonly cluster: LocalCluster;
  readonly dispose: () => Promise<void>;
};

export type StartedThread = Disposable & {
  /** Those in progress, with their streams. */
  readonly requests: number;
};

export function startClusterThread(port: Port, data: ClusterThreadData, systemRuntime: Runtime): StartedThread {
  const state = writeThreadState(data.state);
  const mark: WorkMark = { save: () => state.slot, restore: (slot) => state.workFor(slot) };
  const runtime = withMark(systemRuntime, mark, (error) => report(error, "timer"));
  const lifetime = createSharedAbortController();
  const running = new Map<string, Promise<Running>>();
  const settings = new Map<string, ClusterSettings>();
  const slots = new Map<string, number>();
  const names = createPlatformNames(data.platform);
  const customResources = createCompiledDefinitions();
  const continueTokens = createContinueTokens(data.continueKey);
  const history = new HistoryBudget(data.historyBytes);
  const usages = createThreadUsage();
  const memory = createClusterMemory({
    usage: usages,
    limitBytes: data.clustersBytes,
    isCluster: () => true,
    projectOf: (composition) => settings.get(composition.slice(virtualClusterComposition("").length))?.project ?? "",
  });
  const queues = createQueueCollector(runtime, (message) => front.note("queues", message));
  const tokens = new Map<number, Disposable>();
  const authorityListeners = new Set<() => void>();
  let endpoint = data.endpoint;

  const report = (error: unknown, subject: string): void =>
    front.note("failed", { error: encodeError(error), subject });

  const watches = createRemoteWatches((slot) => state.workFor(slot));
  const requests = createRequestServer({
    runtime,
    front: () => front,
    mark,
    workThreads: startWorkThreads(lifetime.signal, runtime),
    backlog: data.backlog,
    handlerOf(uid) {
      const slot = slots.get(uid);
      if (slot === undefined) return undefined;
      state.workFor(slot);
      return {
        lane: `project:${settings.get(uid)?.project ?? ""}`,
        handle: async (context) => (await clusterOf(uid)).handle(context, context.user),
      };
    },
  });

  async function clusterOf(uid: string): Promise<LocalCluster> {
    const found = running.get(uid);
    if (found === undefined) throw serviceUnavailableError("the virtual cluster has been stopped");
    const { cluster, slot } = await found;
    state.workFor(slot);
    return cluster;
  }

  async function open(message: OpenMessage): Promise<Running> {
    const { uid, slot } = message;
    const composition = virtualClusterComposition(uid);
    const usage = usages.add(composition);
    const storage = createRemoteStorage({ uid, slot, front: () => front, watches, isShared: data.isShared });
    const cache = createWatchCache({
      storage,
      prefix: prefixOfCluster(uid),
      scheduler: runtime.scheduler,
      usage,
      history: () => history,
      onError: (error) => report(error, "watch-cache"),
    });
    const dispose = async (): Promise<void> => {
      await cache[Symbol.asyncDispose]();
      usages.remove(composition, usage);
    };
    try {
      await cache.ready();
      state.workFor(slot);
      const cluster = await startEmbeddedCluster(
        {
          composition,
          names,
          storage,
          cache,
          runtime,
          continueTokens,
          secrets: readSecretsMessage(message.secrets),
          onCertificateSigned: (pem, lineage) => front.call("certificateSigned", { uid, pem, lineage }),
          lineages: {
            judge: (lineage) => front.call("judgeLineage", { lineage }),
            // The front watches the ancestors of what it authenticates.
            onRevoked: () => ({ [Symbol.dispose]: () => undefined }),
          },
          firstBindings: standardBindings(names),
          servingAuthority: {
            get pem() {
              return endpoint.authorityPem;
            },
            onChange(listener) {
              authorityListeners.add(listener);
              return { [Symbol.dispose]: () => void authorityListeners.delete(listener) };
            },
          },
          apiAddress: () => endpoint.address,
          version: SERVED_VERSION,
          customResources,
          settings: () => settings.get(uid) ?? message.settings,
          memory,
          quotaLocks: data.sharesLimits
            ? currentLimitLocks(
                limitLocksBehind(() => front),
                cache,
              )
            : undefined,
          webhooks: {
            addresses: tenantAddressRules(data.tenantReach),
            userAgent: names.name,
          },
          aroundWebhooks: (caller) => markedCaller(caller, mark),
          onError: report,
          queueMetrics: queues,
          webhookMetrics: webhookNotes(() => front),
        },
        lifetime.signal,
      );
      return {
        slot,
        cluster,
        async dispose() {
          cluster[Symbol.dispose]();
          await dispose();
        },
      };
    } catch (error) {
      await dispose();
      throw error;
    }
  }

  async function stop(uid: string): Promise<void> {
    const found = running.get(uid);
    running.delete(uid);
    settings.delete(uid);
    slots.delete(uid);
    // One that did not start has been taken down.
    const cluster = await found?.catch(() => undefined);
    await cluster?.dispose();
  }

  const front: Link<FrontCalls, FrontNotes> = createLink<ThreadCalls, ThreadNotes, FrontCalls, FrontNotes>({
    port,
    mark,
    onError: (error) => report(error, "message"),
    calls: {
      ...requests.calls,
      async open(message) {
        const { uid, slot } = message;
        state.workFor(slot);
        settings.set(uid, message.settings);
        slots.set(uid, slot);
        const opening = open(message);
        running.set(uid, opening);
        try {
          await opening;
        } catch (error) {
          if (running.get(uid) === opening) await stop(uid);
          throw error;
        }
        return undefined;
      },
      async stop({ uid }) {
        await stop(uid);
        return undefined;
      },
      async authenticate({ uid, token }) {
        const found = await (await clusterOf(uid)).serviceAccountTokens.authenticateToken(token);
        if (found === undefined) return undefined;
        const { user, credential, audiences } = found;
        return {
          user,
          audiences,
          credential: credential && {
            id: credential.id,
            annotations: credential.annotations,
            lineage: credential.lineage?.(),
          },
        };
      },
      async applyObjects({ uid, text }, call) {
        await (await clusterOf(uid)).applyObjects(text, signalOf(call));
        return undefined;
      },
      async bindRoles({ uid, clusterRoles }, call) {
        await (await clusterOf(uid)).bindRoles(clusterRoles, signalOf(call));
        return undefined;
      },
      async keepNamespace({ uid, name, metadata }, call) {
        await (await clusterOf(uid)).keepNamespace(name, metadata, signalOf(call));
        return undefined;
      },
      async idle({ uid }) {
        await (await clusterOf(uid)).idle();
        return undefined;
      },
    },
    notes: {
      ...requests.notes,
      ...watches.notes,
      settings({ uid, settings: changed }) {
        if (running.has(uid)) settings.set(uid, changed);
      },
      // One that has not started yet takes it behind its start.
      secrets: ({ uid, secrets }) =>
        void clusterOf(uid).then(
          (cluster) => cluster.setSecrets(readSecretsMessage(secrets)),
          // It was stopped, and starts again with the newest ones.
          () => undefined,
        ),
      endpoint(changed) {
        endpoint = changed;
        for (const listener of [...authorityListeners]) listener();
      },
      watchToken: ({ uid, id, token }) => void watchToken(uid, id, token),
      unwatchToken({ id }) {
        tokens.get(id)?.[Symbol.dispose]();
        tokens.delete(id);
      },
    },
  });

  async function watchToken(uid: string, id: number, token: string): Promise<void> {
    const isWanted = (): boolean => tokens.has(id);
    tokens.set(id, { [Symbol.dispose]: () => undefined });
    // The front asks for it no more.
    const revoked = (): void => {
      if (tokens.delete(id)) front.note("credentialRevoked", { id });
    };
    try {
      const found = await (await clusterOf(uid)).serviceAccountTokens.authenticateToken(token);
      if (!isWanted()) return;
      const watch = found?.credential?.onRevoked?.(revoked);
      if (watch === undefined) revoked();
      else if (isWanted()) tokens.set(id, watch);
      else watch[Symbol.dispose]();
    } catch {
      revoked();
    }
  }

  return {
    get requests() {
      return requests.open;
    },
    [Symbol.dispose]() {
      lifetime.abort();
      requests[Symbol.dispose]();
      queues[Symbol.dispose]();
    },
  };
}

function signalOf(call: { onCancel?: (reason: unknown) => void }): AbortSignal {
  const abort = new AbortController();
  call.onCancel = (reason) => abort.abort(reason);
  return abort.signal;
}

/** Timers run on behalf of the cluster that set them. */
const withMark = (runtime: Runtime, mark: WorkMark, onError: (error: unknown) => void): Runtime => ({
  ...runtime,
  scheduler: {
    schedule(delayMs, task) {
      const slot = mark.save();
      return runtime.scheduler.schedule(delayMs, () => {
        mark.restore(slot);
        try {
          const result: unknown = task();
          if (result instanceof Promise) result.catch(onError);
        } catch (error) {
          onError(error);
        }
      });
    },
  },
});

const markedCaller = (caller: WebhookCaller, mark: WorkMark): WebhookCaller => ({
  call(...call) {
    const slot = mark.save();
    return caller.call(...call).finally(() => mark.restore(slot));
  },
});
