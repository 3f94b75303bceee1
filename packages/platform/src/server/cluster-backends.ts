// The backends of virtual clusters, spaces and clusters: those in this process, and remote ones.

import { MANAGEMENT } from "@postern/api/platform-names";
import { createResourceKeys } from "@postern/apiserver/cache/resource-keys";
import type { ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import type { WebhookMetrics } from "@postern/apiserver/metrics/webhook-metrics";
import type { WorkQueueMetrics } from "@postern/apiserver/metrics/work-queue-metrics";
import type { ContinueTokens } from "@postern/apiserver/registry/store/continue-token";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { Storage } from "@postern/apiserver/storage/storage";
import type { Tracing } from "@postern/apiserver/tracing/tracing";
import type { PlatformCore } from "../core/platform-core.ts";
import type { KeyMint } from "../features/access-keys/kinds/mint-keys.ts";
import { type ClusterMemory, type ClusterUsage, createClusterMemory } from "../features/budgets/cluster-memory.ts";
import { type AccountUsage, filled } from "../features/budgets/management-budgets.ts";
import type { MemoryBudgets } from "../features/budgets/memory-limit.ts";
import { describeCertificate } from "../features/certificates/describe-certificate.ts";
import { issuedToCreator } from "../features/certificates/issued-to-creator.ts";
import { createLineageVerifier, decodeLineage } from "../features/certificates/key-lineage.ts";
import { type BackendRegistry, createBackendRegistry } from "../features/virtual-clusters/backend-registry.ts";
import { type ControlPlaneKeys, createControlPlaneKeys } from "../features/virtual-clusters/control-plane-keys.ts";
import { standardBindings } from "../features/virtual-clusters/embedded/bind-roles.ts";
import { createCertificateHolders } from "../features/virtual-clusters/embedded/certificate-holders.ts";
import {
  createEmbeddedBackend,
  type EmbeddedBackendDeps,
} from "../features/virtual-clusters/embedded/embedded-backend.ts";
import {
  createEmbeddedClusters,
  type EmbeddedClusters,
} from "../features/virtual-clusters/embedded/embedded-clusters.ts";
import { createEmbeddedSpace } from "../features/virtual-clusters/embedded/embedded-space.ts";
import { createInstanceSettings } from "../features/virtual-clusters/embedded/instance-settings.ts";
import type { KubernetesBackends } from "../features/virtual-clusters/kubernetes-backend/kubernetes-backends.ts";
import { apiAddressOf, type PlatformEndpoint } from "../features/virtual-clusters/platform-endpoint.ts";
import {
  type ReachClustersDeps,
  reachClusters,
  tenantAddressRules,
} from "../features/virtual-clusters/reach-clusters.ts";
import { createSpaceRegistry, type SpaceRegistry } from "../features/virtual-clusters/space-registry.ts";
import type { Configuration } from "../foundation/config/configuration.ts";
import {
  createInternalRecords,
  createInternalValues,
  virtualClusterComposition,
} from "../foundation/encryption/internal-records.ts";
import type { KeyRing } from "../foundation/encryption/key-ring.ts";
import type { ObjectLookup } from "../foundation/lookup/object-lookup.ts";
import { SERVED_VERSION } from "../foundation/served-version.ts";

export type ClusterBackends = Disposable & {
  readonly backends: BackendRegistry;
  readonly spaces: SpaceRegistry;
  readonly embeddedClusters: EmbeddedClusters;
  /** Clusters that are reached by a kubeconfig. */
  readonly reached: KubernetesBackends;
  readonly controlPlaneKeys: ControlPlaneKeys;
  readonly clusterMemory: ClusterMemory;
  readonly clusterUsage: ClusterUsage;
};

export type ClusterBackendsDeps = {
  readonly core: PlatformCore;
  readonly configuration: Configuration;
  readonly storage: Storage;
  readonly cache: WatchCache;
  readonly runtime: Runtime;
  readonly continueTokens: ContinueTokens;
  readonly keyRing: KeyRing;
  readonly endpoint: PlatformEndpoint;
  readonly lookup: ObjectLookup;
  readonly mint: KeyMint;
  readonly secret: ReachClustersDeps["secret"];
  readonly memory: MemoryBudgets;
  readonly onWriteRefused: (scope: "clusters") => void;
  readonly queueMetrics: WorkQueueMetrics;
  readonly webhookMetrics: WebhookMetrics;
  /** Absent: no tracing. */
  readonly tracing?: Tracing | undefined;
  readonly onError: (error: unknown, subject: string) => void;
};

const CLUSTER_COMPOSITIONS = virtualClusterComposition("");

/** Of the instance whose embedded cluster a composition is; "" for other compositions. */
const uidOf = (composition: string): string =>
  composition.startsWith(CLUSTER_COMPOSITIONS) ? composition.slice(CLUSTER_COMPOSITIONS.length) : "";

export function createClusterBackends(deps: ClusterBackendsDeps): ClusterBackends {
  const { core, configuration, storage, cache, runtime, endpoint, lookup, mint, secret } = deps;
  const { names, keys } = core;
  const sealedValues = createInternalValues(deps.keyRing, runtime.random);
  const viewOf = (resource: string, namespaced: boolean): ViewPrefix => {
    const { prefix } = createResourceKeys(MANAGEMENT, { group: names.managementGroup, resource, namespaced });
    return { view: cache.view(prefix), prefix };
  };
  const told = { instances: viewOf("virtualclusterinstances", true), projects: viewOf("projects", false) };
  const settings = createInstanceSettings(told, names, runtime.scheduler);
  const usageOfCluster = (uid: string): AccountUsage | undefined => {
    const used = cache.usage.of(virtualClusterComposition(uid));
    return uid === "" || used.objects === 0 ? undefined : { used, limit: settings.of(uid).share };
  };
  const memory = createClusterMemory({
    usage: cache.usage,
    limitBytes: deps.memory.clustersBytes,
    isCluster: (composition) => uidOf(composition) !== "",
    projectOf: (composition) => settings.of(uidOf(composition)).project,
    onRefused: () => deps.onWriteRefused("clusters"),
  });
  const embeddedClusters = createEmbeddedClusters({
    memory,
    settingsOf: (uid) => settings.of(uid),
    storage,
    cache,
    runtime,
    continueTokens: deps.continueTokens,
    sealedValues,
    firstBindings: standardBindings(names),
    servingAuthority: {
      get pem() {
        return endpoint.certificateAuthorityPem;
      },
      onChange: (listener) => endpoint.onAuthorityChange?.(listener) ?? { [Symbol.dispose]: () => undefined },
    },
    apiAddress: () => apiAddressOf(endpoint.url()),
    version: SERVED_VERSION,
    webhooks: { addresses: tenantAddressRules(configuration), userAgent: names.name },
    onError: deps.onError,
    queueMetrics: deps.queueMetrics,
    webhookMetrics: deps.webhookMetrics,
    lineages: createLineageVerifier(core),
    onCertificateSigned: (uid, pem, lineage) =>
      core.certificates.record({
        ...describeCertificate(pem, uid, runtime.clock.now()),
        issuedTo: lineage === undefined ? undefined : issuedToCreator(decodeLineage(lineage), core),
      }),
  });
  const reached = reachClusters({ configuration, names, runtime, lookup, secret, tracing: deps.tracing });
  const embedded: EmbeddedBackendDeps = {
    clusters: embeddedClusters,
    names,
    runtime,
    version: SERVED_VERSION,
    get serverCertificateAuthority() {
      return endpoint.certificateAuthorityPem;
    },
    holders: createCertificateHolders(core.directory, names),
    certificates: core.certificates,
    catchUp: core.catchUp,
  };
  return {
    embeddedClusters,
    clusterMemory: memory,
    clusterUsage: {
      of: usageOfCluster,
      get fullest() {
        let fullest = 0;
        for (const [composition] of cache.usage.compositions()) {
          const usage = usageOfCluster(uidOf(composition));
          if (usage !== undefined) fullest = Math.max(fullest, filled(usage));
        }
        return fullest;
      },
    },
    reached,
    backends: createBackendRegistry({
      lookup,
      kubernetes: (instance) => reached.ofVirtualCluster(instance),
      embedded: (uid) => createEmbeddedBackend(embedded, uid),
    }),
    spaces: createSpaceRegistry({
      lookup,
      embedded: (uid, namespace) => createEmbeddedSpace(embedded, uid, namespace),
      connected: (instance) => reached.ofSpace(instance),
    }),
    controlPlaneKeys: createControlPlaneKeys({
      names,
      keys,
      mint: mint.mintControlPlaneKey,
      revoke: mint.revoke,
      recordsOf: (composition) => createInternalRecords({ storage, sealedValues }, composition),
    }),
    [Symbol.dispose]() {
      memory[Symbol.dispose]();
      settings[Symbol.dispose]();
      embeddedClusters[Symbol.dispose]();
      reached[Symbol.dispose]();
    },
  };
}
