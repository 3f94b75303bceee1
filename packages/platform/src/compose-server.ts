// The composition root: everything of a server with an open store is made here, in order, and taken down in the opposite one.

import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import { createControllerAudit } from "@postern/apiserver/chain/controller-audit";
import { type HealthCheck, NotReadyError } from "@postern/apiserver/health/health-check";
import type { Faults } from "@postern/apiserver/logging/faults";
import type { Logger } from "@postern/apiserver/logging/logger";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { Teardown } from "@postern/apiserver/runtime/teardown";
import type { Tracing } from "@postern/apiserver/tracing/tracing";
import { pathOf, readAdministratorKey } from "./bootstrap/admin-kubeconfig.ts";
import { withDefaultTTL } from "./bootstrap/default-ttl.ts";
import { createInternalApi } from "./bootstrap/internal-api.ts";
import type { Manifest } from "./bootstrap/manifests.ts";
import { preparePlatform } from "./bootstrap/prepare-platform.ts";
import type { GatherUses } from "./features/access-keys/periodic-writer.ts";
import type { OwnAddresses } from "./features/access-keys/proofs/proof-verifier.ts";
import { createUsedProofs } from "./features/access-keys/proofs/used-proofs.ts";
import { snapshotOf } from "./features/activity/activity-snapshot.ts";
import { openAuditLog } from "./features/audit/audit-log.ts";
import { gaugeNewestRecord } from "./features/audit/audit-metrics.ts";
import type { MemoryBudgets } from "./features/budgets/memory-limit.ts";
import type { ConsoleBuild } from "./features/console/console-build.ts";
import type { LoadDocumentation } from "./features/documentation/documentation-route.ts";
import { openFrontProxy } from "./features/front-proxy/feature.ts";
import { openNoticeWebhook } from "./features/notices/feature.ts";
import { LINK_PARAMETER } from "./features/sign-in/link-routes.ts";
import { createOneTimeLink } from "./features/sign-in/one-time-link.ts";
import { LINK_PATH, PROFILE_PATH } from "./features/sign-in/sign-in-paths.ts";
import type { CountedClusters } from "./features/virtual-clusters/embedded/threads/counted-clusters.ts";
import type { PlatformEndpoint } from "./features/virtual-clusters/platform-endpoint.ts";
import type { Configuration } from "./foundation/config/configuration.ts";
import { SETTLE_MS } from "./foundation/store/open-sealed-store.ts";
import type { ServerStore } from "./foundation/store/open-server-store.ts";
import { repeat } from "./foundation/store/repeat.ts";
import { CONTROLLERS, runWhileLeading } from "./foundation/store/run-while-leading.ts";
import type { Front } from "./fronts/front.ts";
import { openTransport } from "./open-transport.ts";
import { examineRunning } from "./operations/doctor/examine.ts";
import { startReencryption } from "./operations/reencryption.ts";
import { composePlatform } from "./server/compose.ts";
import { joinStore } from "./server/join-store.ts";
import { createNonResourceRoutes } from "./server/non-resource-routes.ts";
import { adoptPlatformAuthority } from "./server/platform-authority.ts";
import { createBootstrapHandler, createRequestHandler } from "./server/request-handler.ts";
import { isNamedIn, publicUrl, type ServingIdentity } from "./server/serving-identity.ts";
import { createServingState, gaugeServing, reloadCertificate } from "./server/serving-reload.ts";

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

/** Resolves when the server is ready. Rejects with the error of a port that cannot be listened on. */
export async function composeServer(parts: {
  readonly configuration: Configuration;
  /** Of --bootstrap-dir. */
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
  readonly onError: (error: unknown) => void;
}): Promise<RunningServer> {
  const { store, cache, runtime, logger, metrics, tracing, front, teardown, onError } = parts;
  const further = front?.isFirst === false ? front : undefined;
  const first = front?.isFirst === true ? front : undefined;
  const { random, scheduler } = runtime;
  const { storage, election, isShared } = store;
  const configuration = await withDefaultTTL(parts.configuration, storage);
  const serving = createServingState(parts.serving);
  const lifetime = new AbortController();
  const { signal } = lifetime;
  const draining = new AbortController();
  const { identity, freshness, replicas, confirmed } = joinStore(
    { store, cache, runtime, threadId: further?.id, signal },
    teardown,
  );
  const { transport, port, eventLoopBudget, serve } = await openTransport(
    {
      configuration,
      serving: serving.current,
      memory: parts.memory,
      runtime,
      logger,
      faults: parts.faults,
      metrics,
      front,
    },
    teardown,
  );
  const url = publicUrl(configuration, port);
  await cache.ready();
  const log = await openAuditLog(configuration, gaugeNewestRecord(metrics, runtime.clock), further?.audit);
  teardown.use(log.sink);
  // These write to the log and to the store until then.
  teardown.defer(() => first?.closed());
  const preparation = createPreparation();
  const endpoint: PlatformEndpoint & OwnAddresses = {
    url: () => url,
    isOwnName: (host) => isNamedIn(serving.current.tls, host),
    get certificateAuthorityPem() {
      return serving.current.certificateAuthorityPem;
    },
    onAuthorityChange: serving.onAuthorityChange,
  };
  const usedProofs = further?.usedProofs ?? createUsedProofs();
  const platform = composePlatform(
    {
      configuration,
      storage,
      cache,
      runtime,
      isShared,
      counted: parts.counted,
      keyRing: store.keyRing,
      metrics,
      onError(error, subject) {
        if (subject === undefined) onError(error);
        else logger.error({ error, component: subject }, "work failed");
      },
      signal,
      serverKeys: store.serverKeys,
      memory: parts.memory,
      endpoint,
      usedProofs,
      gatherUses: front && gatherThen(front, () => cache.refresh({ signal })),
      tracing,
      routes: createNonResourceRoutes({
        store,
        endpoint,
        freshness,
        logger,
        scrape: front?.scrape,
        readActivity: front?.readActivity,
        examine: (now) => examineRunning(configuration, now),
        auditPath: log.path,
        prepared: preparation.check,
        draining: draining.signal,
      }),
    },
    teardown,
  );
  const { base, keys } = platform;
  // Also a thread that no request reaches meanwhile: what has ended by then does not come back when the clock does.
  const lookAtClock = async (): Promise<void> => void base.epochs.current();
  teardown.use(repeat({ scheduler, everyMs: CLOCK_MS, work: lookAtClock, onError }));
  const webhook = further === undefined ? await openNoticeWebhook(configuration, runtime) : undefined;
  if (webhook !== undefined) teardown.use(webhook);
  const audited = { audit: log.options, logger };
  const controllerAudit = createControllerAudit(log.options, { runtime, logger, metrics });
  teardown.use(
    runWhileLeading({
      election,
      name: CONTROLLERS,
      identity,
      runtime,
      start: (led) => [
        ...platform.startControllers(led, { webhook, audit: controllerAudit }),
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

  const frontProxy = await openFrontProxy(base, { directory: platform.directory, logger });
  if (frontProxy !== undefined) teardown.use(frontProxy);
  const link = createOneTimeLink(runtime.clock, random);
  const handler = createRequestHandler(platform, {
    ...audited,
    memory: parts.memory,
    isMemoryShort: parts.isMemoryShort,
    administrator: {
      link: further?.link ?? link,
      key: () => readAdministratorKey(configuration),
    },
    home: parts.loadConsole === undefined || !configuration.console ? PROFILE_PATH : "/",
    loadConsole: parts.loadConsole,
    loadDocumentation: parts.loadDocumentation,
    freshness,
    endpoint,
    replicas,
    eventLoopBudget,
    tracing,
    frontProxy,
  });
  serve(handler);
  if (further === undefined) {
    await preparePlatform(platform, {
      election,
      identity,
      url,
      serving,
      manifests: {
        manifests: parts.manifests,
        api: createInternalApi(createBootstrapHandler(platform, audited), signal),
        logger,
      },
    });
  }
  preparation.done();
  await confirmed();
  const onReload = gaugeServing(metrics, serving);
  if (further === undefined)
    teardown.use(
      reloadCertificate({
        configuration,
        runtime,
        transport,
        serving,
        logger,
        onReload,
        onError,
        rotations: platform.clusters.rotations,
        adopt: () => adoptPlatformAuthority(configuration, { ...store, random }),
      }),
    );
  else further.onServing((next) => serving.replace(next, transport));
  const activity = () => snapshotOf(platform.activity, runtime.clock.now());
  const { writeUses } = platform;
  further?.serve({ activity, writeUses });
  teardown.defer(() => {
    draining.abort();
    first?.beginClose();
  });
  if (first !== undefined) {
    teardown.use(serving.onReplaced(first.replaceServing));
    await first.start({ port, serving: serving.current, audit: log.sink, link, usedProofs, activity, writeUses });
  }

  return {
    url,
    adminKubeconfigPath: pathOf(configuration),
    caPath: serving.current.caPath,
    async createSignInLink() {
      if ((await readAdministratorKey(configuration)) === undefined) return undefined;
      return `${url}${LINK_PATH}?${LINK_PARAMETER}=${link.create()}`;
    },
    close: () => teardown.run(),
  };
}

const CLOCK_MS = 1_000;

/** An answer with what is known is better than none. */
const gatherThen =
  (front: Pick<Front, "gatherUses">, refresh: () => Promise<unknown>): GatherUses =>
  async (uids) => {
    if (uids?.length === 0) return;
    await front
      .gatherUses(uids)
      .then(refresh)
      .catch(() => undefined);
  };

/** Threads of this process that stand still for ten seconds are ended: none writes under an old key for longer. */
const SETTLE_OF_THREADS_MS = 30_000;

const settleMsOf = ({ isShared, connect }: Pick<ServerStore, "isShared" | "connect">): number => {
  if (!isShared) return 0;
  return connect === undefined ? SETTLE_MS : SETTLE_OF_THREADS_MS;
};

function createPreparation(): { readonly check: HealthCheck; done(): void } {
  let isDone = false;
  return {
    check: {
      name: "store-prepared",
      check() {
        if (!isDone)
          throw new NotReadyError(
            "the store is being prepared: roles, the first administrator and bootstrap manifests",
          );
      },
    },
    done() {
      isDone = true;
    },
  };
}
