// The composition root: everything of a server with an open store is made here, in order, and taken down in the opposite one.

import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import { createControllerAudit } from "@postern/apiserver/chain/controller-audit";
import type { Faults } from "@postern/apiserver/logging/faults";
import type { Logger } from "@postern/apiserver/logging/logger";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { Teardown } from "@postern/apiserver/runtime/teardown";
import { createSharedAbortController } from "@postern/apiserver/storage/shared-abort-controller";
import type { Tracing } from "@postern/apiserver/tracing/tracing";
import { pathOf, readAdministratorKey } from "./bootstrap/admin-kubeconfig.ts";
import { withDefaultTTL } from "./bootstrap/default-ttl.ts";
import type { Manifest } from "./bootstrap/manifests.ts";
import { preparePlatform } from "./bootstrap/prepare-platform.ts";
import { openAuditLog } from "./features/audit/audit-log.ts";
import type { MemoryBudgets } from "./features/budgets/memory-limit.ts";
import type { ConsoleBuild } from "./features/console/console-build.ts";
import type { LoadDocumentation } from "./features/documentation/documentation-route.ts";
import { LINK_PARAMETER } from "./features/sign-in/link-routes.ts";
import { createOneTimeLink } from "./features/sign-in/one-time-link.ts";
import type { RefusalChange } from "./features/sign-in/providers/client-refusals.ts";
import { LINK_PATH } from "./features/sign-in/sign-in-paths.ts";
import type { CountedClusters } from "./features/virtual-clusters/embedded/threads/front/counted-clusters.ts";
import type { Configuration } from "./foundation/config/configuration.ts";
import type { ThreadShare } from "./foundation/config/thread-share.ts";
import type { Foundation } from "./foundation/foundation.ts";
import { currentLimitLocks } from "./foundation/store/limits-of-threads.ts";
import { settleMsOf } from "./foundation/store/open-sealed-store.ts";
import type { ServerStore } from "./foundation/store/open-server-store.ts";
import { repeat } from "./foundation/store/repeat.ts";
import { CONTROLLERS, runWhileLeading } from "./foundation/store/run-while-leading.ts";
import type { Front } from "./fronts/front.ts";
import { gatherFrom } from "./fronts/gather-uses.ts";
import { openThreadChannel } from "./fronts/thread-channel.ts";
import { openTransport } from "./open-transport.ts";
import { examineRunning } from "./operations/doctor/examine.ts";
import { startReencryption } from "./operations/reencryption/reencryption.ts";
import { composePlatform } from "./server/compose.ts";
import { joinStore } from "./server/join-store.ts";
import { createProbes } from "./server/probes.ts";
import { createRequestHandler } from "./server/request-handler.ts";
import { publicUrl, type ServingIdentity } from "./server/serving-identity.ts";
import { createServingState, endpointOf, gaugeServing, reloadCertificate } from "./server/serving-reload.ts";

/** A server that answers requests, until it is closed. */
export type RunningServer = {
  /** Such as `https://127.0.0.1:8443`. */
  readonly url: string;
  readonly adminKubeconfigPath: string;
  readonly caPath: string;
  /**
   * A link that signs a browser in as the first administrator: once, within minutes, while this process runs. Undefined without an administrator's
   * kubeconfig.
   */
  createSignInLink(): Promise<string | undefined>;
  /** Drains requests in progress, and resolves when everything is written and closed. */
  close(): Promise<void>;
};

export type ServerParts = {
  readonly configuration: Configuration;
  /** The servers of this process that share its limits. */
  readonly share: ThreadShare;
  /** The manifests of --bootstrap-dir. */
  readonly manifests: readonly Manifest[];
  readonly store: ServerStore;
  readonly serving: ServingIdentity;
  /** Being loaded. */
  readonly cache: WatchCache;
  readonly memory: MemoryBudgets;
  /** Clusters whose objects the cache only counts, because threads serve them. Undefined: this thread does. */
  readonly counted?: CountedClusters | undefined;
  /** Absent: it never is. */
  readonly isMemoryShort?: (() => boolean) | undefined;
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly faults: Faults;
  readonly metrics: ServerMetrics;
  /** Undefined: no tracing. */
  readonly tracing: Tracing | undefined;
  /** Undefined: there is no console in this process. */
  readonly loadConsole: (() => Promise<ConsoleBuild>) | undefined;
  /** Undefined: there is no documentation in this process. */
  readonly loadDocumentation: LoadDocumentation | undefined;
  /** The other servers of this process. Absent: it is the only one. */
  readonly front?: Front | undefined;
  /** Is given what must be closed. */
  readonly teardown: Teardown;
};

/** Resolves when the server is ready. Rejects with the error of a port that cannot be listened on. */
export async function composeServer(parts: ServerParts): Promise<RunningServer> {
  const { store, cache, runtime, logger, metrics, front, teardown } = parts;
  const further = front?.isFirst === false ? front : undefined;
  const first = front?.isFirst === true ? front : undefined;
  const configuration = await withDefaultTTL(parts.configuration, store.storage);
  const serving = createServingState(parts.serving);
  const lifetime = createSharedAbortController();
  const { signal } = lifetime;
  const draining = new AbortController();
  const { identity, freshness, replicas, confirmed } = joinStore(
    { store, cache, runtime, threadId: further?.id, signal },
    teardown,
  );
  const { transport, port, eventLoopBudget, serve, join } = await openTransport(
    { ...parts, configuration, serving: serving.current, front },
    teardown,
  );
  const url = publicUrl(configuration, port);
  const endpoint = endpointOf(serving, url);
  await cache.ready();
  const log = await openAuditLog(configuration, parts, further?.audit);
  // These write to the log and to the store until then.
  teardown.defer(() => first?.closed());
  const audited = { audit: log.options, logger };
  let isPrepared = false;

  const platform = await composePlatform(
    {
      configuration,
      share: parts.share,
      storage: store.storage,
      cache,
      runtime,
      isShared: store.isShared,
      counted: parts.counted,
      keyRing: store.keyRing,
      metrics,
      onError: (error, component) => logger.error({ error, component }, "work failed"),
      signal,
      serverKeys: store.serverKeys,
      memory: parts.memory,
      endpoint,
      usedProofs: front?.usedProofs,
      gatherUses: front && gatherFrom(front, cache, signal),
      refusalChannel: front && teardown.use(openThreadChannel<RefusalChange>(`client refusals of ${port}`)),
      limitLocks: front && currentLimitLocks(front.limitLocks, cache),
      tracing: parts.tracing,
      probes: createProbes({
        store,
        freshness,
        isPrepared: () => isPrepared,
        draining: draining.signal,
        metrics,
        scrape: front?.scrape,
        logger,
      }),
      logger,
      controllerAudit: createControllerAudit(log.options, parts),
      mayLead: further === undefined,
    },
    teardown,
  );
  const { base, keys, writeUses } = platform;
  teardown.use(followClock(base));
  teardown.use(
    runWhileLeading({
      election: store.election,
      name: CONTROLLERS,
      identity,
      runtime,
      start: (led) => [
        ...platform.startControllers(led),
        startReencryption({
          keys,
          storage: store.disk,
          ring: store.keyRing,
          runtime: led,
          settleMs: settleMsOf(store),
          onError: (error) => base.onError(error, "re-encryption"),
        }),
      ],
    }),
  );
  teardown.defer(() => lifetime.abort());

  const link = createOneTimeLink(runtime.clock, runtime.random);
  const readKey = () => readAdministratorKey(configuration);
  const handler = createRequestHandler(platform, {
    ...parts,
    ...audited,
    administrator: { link: further?.link ?? link, key: readKey },
    freshness,
    endpoint,
    replicas,
    eventLoopBudget,
    auditPath: log.path,
    readActivity: front?.readActivity,
    examine: (now) => examineRunning(configuration, now, front && parts.share.threads),
  });
  serve(handler);
  if (further === undefined) {
    const { election } = store;
    await preparePlatform(platform, { ...audited, election, identity, endpoint, manifests: parts.manifests });
  }
  isPrepared = true;
  await confirmed();
  await join();

  const onReload = gaugeServing(metrics, serving);
  if (further !== undefined) further.onServing((next) => serving.replace(next, transport));
  else
    teardown.use(
      reloadCertificate(base, { transport, serving, logger, onReload, rotations: platform.clusters.rotations }),
    );
  const { departures } = transport;
  const { activity } = platform;
  further?.serve({ activity, writeUses, departures });
  teardown.defer(() => {
    draining.abort();
    first?.beginClose();
  });
  if (first !== undefined) {
    teardown.use(serving.onReplaced(first.replaceServing));
    await first.start({ port, serving: serving.current, audit: log.sink, link, activity, writeUses, departures });
  }

  return {
    url,
    adminKubeconfigPath: pathOf(configuration),
    caPath: serving.current.caPath,
    async createSignInLink() {
      if ((await readKey()) === undefined) return undefined;
      return `${url}${LINK_PATH}?${LINK_PARAMETER}=${link.create()}`;
    },
    close: () => teardown.run(),
  };
}

const CLOCK_MS = 1_000;

/** Also a thread that no request reaches meanwhile: what has ended by then does not come back when the clock does. */
const followClock = ({ epochs, runtime: { scheduler }, onError }: Foundation): Disposable =>
  repeat({
    scheduler,
    everyMs: CLOCK_MS,
    work: async () => void epochs.current(),
    onError: (error) => onError(error, "clock"),
  });
