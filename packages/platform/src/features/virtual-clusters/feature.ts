// Virtual clusters, spaces and clusters: their backends in this process and remote ones, the keys of their control planes, and what wakes them.

import type { PolicyVersion } from "@postern/apiserver/authorization/policy-version";
import { followView } from "@postern/apiserver/cache/view-informer";
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
import { type AuthorityEnds, gaugeAuthorities } from "../certificate-authorities/authority-metrics.ts";
import { openRotationStates, type RotationStates } from "../certificate-authorities/rotation-states.ts";
import type { RequestGrants } from "../certificates/certificate-refusal.ts";
import { createLineageVerifier, proofRefusalOf, sourceRefusalOf } from "../certificates/key-lineage.ts";
import type { ClusterTunnels } from "../cluster-tunnels/feature.ts";
import { type BackendRegistry, createBackendRegistry } from "./backend-registry.ts";
import { type ControlPlaneKeys, createControlPlaneKeys } from "./control-plane-keys.ts";
import { createDestinationChanges } from "./destination-changes.ts";
import { createCertificateHolders } from "./embedded/certificate-holders.ts";
import { createEmbeddedBackend, type EmbeddedBackendDeps } from "./embedded/embedded-backend.ts";
import type { EmbeddedClusters } from "./embedded/embedded-clusters.ts";
import { createEmbeddedSpace } from "./embedded/embedded-space.ts";
import { type HostNeeds, hostClusters } from "./embedded/host-clusters.ts";
import { createInstanceSettings } from "./embedded/instance-settings.ts";
import { type ClusterFaults, createClusterFaults } from "./embedded/threads/front/cluster-faults.ts";
import type { KubernetesBackends } from "./kubernetes-backend/kubernetes-backends.ts";
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

export type VirtualClustersNeeds = HostNeeds & {
  readonly keys: AccessKeys;
  readonly mint: KeyMint;
  /** The access requests that credentials were made with. */
  readonly granted: RequestGrants;
  readonly budgets: Budgets;
  readonly tunnels: ClusterTunnels;
  /** Absent: no tracing. */
  readonly tracing?: Tracing | undefined;
};

const CLUSTER_COMPOSITIONS = virtualClusterComposition("");

/** The uid of the instance with this composition as its embedded cluster; "" for other compositions. */
const uidOf = (composition: string): string =>
  composition.startsWith(CLUSTER_COMPOSITIONS) ? composition.slice(CLUSTER_COMPOSITIONS.length) : "";

export function openVirtualClusters(base: Foundation, needs: VirtualClustersNeeds): VirtualClusters {
  const { names, storage, cache, runtime, lookup, metrics, objects, onError } = base;
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
  const spaceInstances = objects("spaceinstances", { namespaced: true });
  const faults = createClusterFaults(names, [instances, spaceInstances], base.recordEvent);
  const rotations = openRotationStates(base);
  const host = hostClusters(base, needs, { settings, memory, sealedValues, lineages, rotations, faults });
  const { clusters } = host;
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
      host[Symbol.dispose]();
      rotations[Symbol.dispose]();
      reached[Symbol.dispose]();
    },
  };
}
