// Virtual clusters, spaces and clusters: their backends in this process and remote ones, the keys of their control planes, and what wakes them.

import type { PolicyVersion } from "@postern/apiserver/authorization/policy-version";
import type { ContinueTokens } from "@postern/apiserver/registry/store/continue-token";
import type { Tracing } from "@postern/apiserver/tracing/tracing";
import {
  createInternalRecords,
  createInternalValues,
  virtualClusterComposition,
} from "../../foundation/encryption/internal-records.ts";
import type { Foundation } from "../../foundation/foundation.ts";
import { SERVED_VERSION } from "../../foundation/served-version.ts";
import type { AccessKeys } from "../access-keys/feature.ts";
import type { KeyMint } from "../access-keys/kinds/mint-keys.ts";
import { type ClusterMemory, type ClusterUsage, createClusterMemory } from "../budgets/cluster-memory.ts";
import type { Budgets } from "../budgets/feature.ts";
import { type AccountUsage, filled } from "../budgets/management-budgets.ts";
import type { MemoryBudgets } from "../budgets/memory-limit.ts";
import type { CertificateLedger } from "../certificates/certificate-ledger.ts";
import { describeCertificate } from "../certificates/describe-certificate.ts";
import { issuedToCreator } from "../certificates/issued-to-creator.ts";
import { createLineageVerifier, decodeLineage } from "../certificates/key-lineage.ts";
import type { Directory } from "../directory/directory.ts";
import { type BackendRegistry, createBackendRegistry } from "./backend-registry.ts";
import { type ControlPlaneKeys, createControlPlaneKeys } from "./control-plane-keys.ts";
import { createDestinationChanges } from "./destination-changes.ts";
import { standardBindings } from "./embedded/bind-roles.ts";
import { createCertificateHolders } from "./embedded/certificate-holders.ts";
import { createEmbeddedBackend, type EmbeddedBackendDeps } from "./embedded/embedded-backend.ts";
import { createEmbeddedClusters, type EmbeddedClusters } from "./embedded/embedded-clusters.ts";
import { createEmbeddedSpace } from "./embedded/embedded-space.ts";
import { createInstanceSettings } from "./embedded/instance-settings.ts";
import type { KubernetesBackends } from "./kubernetes-backend/kubernetes-backends.ts";
import { apiAddressOf, type PlatformEndpoint } from "./platform-endpoint.ts";
import { reachClusters, tenantAddressRules } from "./reach-clusters.ts";
import { createSpaceRegistry, type SpaceRegistry } from "./space-registry.ts";
import { createWakeUp, type WakeUp } from "./wake-sleeping-cluster.ts";

export type VirtualClusters = Disposable & {
  readonly backends: BackendRegistry;
  readonly spaces: SpaceRegistry;
  readonly embedded: EmbeddedClusters;
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
  readonly budgets: Budgets;
  readonly memory: MemoryBudgets;
  readonly endpoint: PlatformEndpoint;
  readonly continueTokens: ContinueTokens;
  /** Absent: no tracing. */
  readonly tracing?: Tracing | undefined;
};

const CLUSTER_COMPOSITIONS = virtualClusterComposition("");

/** Of the instance whose embedded cluster a composition is; "" for other compositions. */
const uidOf = (composition: string): string =>
  composition.startsWith(CLUSTER_COMPOSITIONS) ? composition.slice(CLUSTER_COMPOSITIONS.length) : "";

export function openVirtualClusters(base: Foundation, needs: VirtualClustersNeeds): VirtualClusters {
  const { configuration, names, storage, cache, runtime, lookup, metrics, objects, onError } = base;
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
  const clusters = createEmbeddedClusters({
    memory,
    settingsOf: (uid) => settings.of(uid),
    storage,
    cache,
    runtime,
    continueTokens: needs.continueTokens,
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
    onError,
    queueMetrics: metrics.workQueues,
    webhookMetrics: metrics.webhooks,
    lineages: createLineageVerifier({ keys: keys.index, certificates, names }),
    onCertificateSigned: (uid, pem, lineage) =>
      certificates.record({
        ...describeCertificate(pem, uid, runtime.clock.now()),
        issuedTo:
          lineage === undefined ? undefined : issuedToCreator(decodeLineage(lineage), { keys: keys.index, directory }),
      }),
  });
  const reached = reachClusters(base, needs.tracing);
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
    catchUp: keys.catchUp,
  };
  const destinations = createDestinationChanges(
    [
      instances,
      objects("spaceinstances", { namespaced: true }),
      objects("clusters"),
      objects("projects"),
      objects("secrets", { group: "", namespaced: true }),
    ],
    runtime.scheduler,
  );
  return {
    embedded: clusters,
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
    wakeUp: createWakeUp({
      names,
      clock: runtime.clock,
      signal: base.signal,
      instances: () => base.own("VirtualClusterInstance"),
    }),
    [Symbol.dispose]() {
      destinations[Symbol.dispose]();
      memory[Symbol.dispose]();
      settings[Symbol.dispose]();
      clusters[Symbol.dispose]();
      reached[Symbol.dispose]();
    },
  };
}
