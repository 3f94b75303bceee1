// Virtual clusters, spaces and clusters: their backends in this process and remote ones, the keys of their control planes, and what wakes them.

import type { CredentialLineage } from "@postern/apiserver/authentication/credential-lineage";
import type { PolicyVersion } from "@postern/apiserver/authorization/policy-version";
import { followView } from "@postern/apiserver/cache/view-informer";
import type { ContinueTokens } from "@postern/apiserver/registry/store/continue-token";
import type { Tracing } from "@postern/apiserver/tracing/tracing";
import {
  createInternalRecords,
  createInternalValues,
  virtualClusterComposition,
} from "../../foundation/encryption/internal-records.ts";
import type { Foundation } from "../../foundation/foundation.ts";
import { SERVED_VERSION } from "../../foundation/served-version.ts";
import { tenantAddressRules } from "../../foundation/upstream/tenant-addresses.ts";
import type { AccessKeys } from "../access-keys/feature.ts";
import type { KeyMint } from "../access-keys/kinds/mint-keys.ts";
import { type ClusterMemory, type ClusterUsage, createClusterMemory } from "../budgets/cluster-memory.ts";
import type { Budgets } from "../budgets/feature.ts";
import { type AccountUsage, filled } from "../budgets/management-budgets.ts";
import type { MemoryBudgets } from "../budgets/memory-limit.ts";
import { threadBudgets } from "../budgets/thread-budgets.ts";
import { type AuthorityEnds, gaugeAuthorities } from "../certificate-authorities/authority-metrics.ts";
import { openRotationStates, type RotationStates } from "../certificate-authorities/rotation-states.ts";
import type { CertificateLedger } from "../certificates/certificate-ledger.ts";
import type { RequestGrants } from "../certificates/certificate-refusal.ts";
import { describeCertificate } from "../certificates/describe-certificate.ts";
import { issuedToCreator } from "../certificates/issued-to-creator.ts";
import { createLineageVerifier, decodeLineage, proofRefusalOf, sourceRefusalOf } from "../certificates/key-lineage.ts";
import type { ClusterTunnels } from "../cluster-tunnels/feature.ts";
import type { Directory } from "../directory/directory.ts";
import { type BackendRegistry, createBackendRegistry } from "./backend-registry.ts";
import { type ControlPlaneKeys, createControlPlaneKeys } from "./control-plane-keys.ts";
import { createDestinationChanges } from "./destination-changes.ts";
import { standardBindings } from "./embedded/bind-roles.ts";
import { createCertificateHolders } from "./embedded/certificate-holders.ts";
import { createEmbeddedBackend, type EmbeddedBackendDeps } from "./embedded/embedded-backend.ts";
import { createClusters, createEmbeddedClusters, type EmbeddedClusters } from "./embedded/embedded-clusters.ts";
import { createEmbeddedSpace } from "./embedded/embedded-space.ts";
import { createInstanceSettings } from "./embedded/instance-settings.ts";
import { type ClusterFaults, createClusterFaults } from "./embedded/threads/front/cluster-faults.ts";
import type { CountedClusters } from "./embedded/threads/front/counted-clusters.ts";
import { createThreadedHost } from "./embedded/threads/front/threaded-host.ts";
import { showThreads } from "./embedded/threads/pool/thread-metrics.ts";
import type { KubernetesBackends } from "./kubernetes-backend/kubernetes-backends.ts";
import { apiAddressOf, type PlatformEndpoint } from "./platform-endpoint.ts";
import { reachClusters } from "./reach-clusters.ts";
import { createSpaceRegistry, type SpaceRegistry } from "./space-registry.ts";
import { createWakeUp, type WakeUp } from "./wake-sleeping-cluster.ts";

export type VirtualClusters = Disposable & {
  readonly backends: BackendRegistry;
  readonly spaces: SpaceRegistry;
  readonly embedded: EmbeddedClusters;
  /** The rotations of their CAs. */
  readonly rotations: RotationStates;
  readonly authorityEnds: AuthorityEnds;
  /** Embedded clusters that stopped their thread. */
  readonly faults: Pick<ClusterFaults, "onChange">;
  /** Clusters that are reached by a kubeconfig. */
  readonly reached: KubernetesBackends;
  readonly controlPlaneKeys: ControlPlaneKeys;
  readonly memory: ClusterMemory;
  readonly usage: ClusterUsage;
  /** Version of the destinations of proxied requests. */
  readonly destinations: PolicyVersion;
  readonly wakeUp: WakeUp;
};

export type VirtualClustersNeeds = {
  readonly keys: AccessKeys;
  readonly mint: KeyMint;
  readonly directory: Directory;
  readonly certificates: CertificateLedger;
  /** The access requests that credentials were made with. */
  readonly granted: RequestGrants;
  readonly budgets: Budgets;
  readonly memory: MemoryBudgets;
  readonly endpoint: PlatformEndpoint;
  readonly continueTokens: ContinueTokens;
  readonly tunnels: ClusterTunnels;
  /** Absent: this thread serves embedded clusters. */
  readonly threads?: ThreadsNeeds | undefined;
  /** Absent: no tracing. */
  readonly tracing?: Tracing | undefined;
};

/** For cluster threads. */
export type ThreadsNeeds = {
  /** Clusters whose objects the cache only counts. */
  readonly counted: CountedClusters;
  /** The key of tokens of lists. */
  readonly continueKey: Uint8Array;
  /** Whether other servers write to the store as well. */
  readonly isShared: boolean;
};

const CLUSTER_COMPOSITIONS = virtualClusterComposition("");

/** The uid of the instance with this composition as its embedded cluster; "" for other compositions. */
const uidOf = (composition: string): string =>
  composition.startsWith(CLUSTER_COMPOSITIONS) ? composition.slice(CLUSTER_COMPOSITIONS.length) : "";

export function openVirtualClusters(base: Foundation, needs: VirtualClustersNeeds): VirtualClusters {
  const { configuration, names, storage, cache, runtime, lookup, metrics, objects, limitLocks, onError } = base;
  const { keys, mint, directory, certificates, budgets, endpoint } = needs;
  const sealedValues = createInternalValues(base.keyRing, runtime.random);
  const instances = objects("virtualclusterinstances", { namespaced: true });
  const settings = createInstanceSettings({ instances, projects: objects("projects") }, names, runtime.scheduler);
  const usageOfCluster = (uid: string): AccountUsage | undefined => {
    const used = cache.usage.of(virtualClusterComposition(uid));
    return uid === "" || used.objects === 0 ? undefined : { used, limit: settings.of(uid).share };
  };
  const memory = createClusterMemory({
    usage: cache.usage,
    limitBytes: needs.memory.clustersBytes,
    isCluster: (composition) => uidOf(composition) !== "",
    projectOf: (composition) => settings.of(uidOf(composition)).project,
    onRefused: () => budgets.countRefusal("clusters"),
  });
  const lineages = createLineageVerifier({ keys: keys.index, certificates, names, granted: needs.granted });
  const onCertificateSigned = (uid: string, pem: string, lineage: CredentialLineage | undefined): Promise<void> =>
    certificates.record({
      ...describeCertificate(pem, uid, runtime.clock.now()),
      issuedTo:
        lineage === undefined ? undefined : issuedToCreator(decodeLineage(lineage), { keys: keys.index, directory }),
    });
  const onAuthorityChange = (listener: () => void): Disposable =>
    endpoint.onAuthorityChange?.(listener) ?? { [Symbol.dispose]: () => undefined };
  const spaceInstances = objects("spaceinstances", { namespaced: true });
  const faults = createClusterFaults(names, [instances, spaceInstances], base.recordEvent);
  const { platform, proxy, outboundProxy, proxyEnvironment, watchBacklog } = configuration;
  const rotations = openRotationStates(base);
  const threads =
    needs.threads &&
    createThreadedHost({
      size: needs.memory.clusterThreads,
      budgets: threadBudgets(needs.memory),
      data: {
        platform,
        tenantReach: { proxy, outboundProxy, proxyEnvironment },
        continueKey: needs.threads.continueKey,
        isShared: needs.threads.isShared,
      },
      backlog: { perWatch: watchBacklog.perWatchMiB << 20, perConnection: watchBacklog.perConnectionMiB << 20 },
      limitLocks,
      storage,
      cache,
      counted: needs.threads.counted,
      runtime,
      settingsOf: (uid) => settings.of(uid),
      onSettingsChange: (listener) => settings.onChange(listener),
      endpoint: () => ({ authorityPem: endpoint.certificateAuthorityPem, address: apiAddressOf(endpoint.url()) }),
      onEndpointChange: onAuthorityChange,
      lineages,
      onCertificateSigned,
      clusters: () => clusters,
      onFault: (uid, message) => faults.report(uid, message),
      queueMetrics: metrics.workQueues,
      webhookMetrics: metrics.webhooks,
      onOverBudget: metrics.rowOverBudget,
      onError,
    });
  showThreads(metrics, threads?.pool);
  const clusters: EmbeddedClusters =
    threads !== undefined
      ? createClusters({ storage, runtime, memory, sealedValues, rotations }, threads)
      : createEmbeddedClusters({
          memory,
          quotaLocks: limitLocks,
          rotations,
          settingsOf: (uid) => settings.of(uid),
          storage,
          cache,
          runtime,
          continueTokens: needs.continueTokens,
          sealedValues,
          names,
          firstBindings: standardBindings(names),
          servingAuthority: {
            get pem() {
              return endpoint.certificateAuthorityPem;
            },
            onChange: onAuthorityChange,
          },
          apiAddress: () => apiAddressOf(endpoint.url()),
          version: SERVED_VERSION,
          webhooks: { addresses: tenantAddressRules(configuration), userAgent: names.name },
          onError,
          queueMetrics: metrics.workQueues,
          webhookMetrics: metrics.webhooks,
          lineages,
          onCertificateSigned,
        });
  // Another thread or server may have deleted one that runs here as well.
  const deletions = [instances, spaceInstances].map((view) =>
    followView(view, runtime.scheduler, {
      delete(object) {
        const { uid = "" } = object.decode().metadata;
        clusters.stop(uid).catch((error: unknown) => onError(error, uid));
      },
    }),
  );
  const reached = reachClusters(base, needs.tracing, needs.tunnels.registry);
  const embedded: EmbeddedBackendDeps = {
    clusters,
    names,
    runtime,
    version: SERVED_VERSION,
    get serverCertificateAuthority() {
      return endpoint.certificateAuthorityPem;
    },
    holders: createCertificateHolders(directory, names),
    certificates,
    sourceRefusalOf: (lineage, address) => sourceRefusalOf(lineage, address, keys.index, directory),
    proofRefusalOf: (lineage, request) => proofRefusalOf(lineage, request, keys),
    catchUp: keys.catchUp,
  };
  const destinations = createDestinationChanges(
    [
      instances,
      spaceInstances,
      objects("clusters"),
      objects("projects"),
      objects("secrets", { group: "", namespaced: true }),
    ],
    runtime.scheduler,
  );
  return {
    embedded: clusters,
    rotations,
    authorityEnds: gaugeAuthorities(metrics, rotations),
    faults,
    memory,
    usage: {
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
      keys: keys.index,
      mint: mint.mintControlPlaneKey,
      revoke: mint.revoke,
      recordsOf: (composition) => createInternalRecords({ storage, sealedValues }, composition),
    }),
    destinations,
    wakeUp: createWakeUp(base),
    [Symbol.dispose]() {
      destinations[Symbol.dispose]();
      for (const followed of deletions) followed[Symbol.dispose]();
      memory[Symbol.dispose]();
      settings[Symbol.dispose]();
      clusters[Symbol.dispose]();
      rotations[Symbol.dispose]();
      threads?.[Symbol.dispose]();
      reached[Symbol.dispose]();
    },
  };
}
