// Embedded clusters run in cluster threads, or in this one.

import type { CredentialLineage, LineageVerifier } from "@postern/apiserver/authentication/credential-lineage";
import type { ContinueTokens } from "@postern/apiserver/registry/store/continue-token";
import type { InternalValues } from "../../../foundation/encryption/internal-records.ts";
import type { Foundation } from "../../../foundation/foundation.ts";
import { SERVED_VERSION } from "../../../foundation/served-version.ts";
import { tenantAddressRules } from "../../../foundation/upstream/tenant-addresses.ts";
import type { AccessKeyIndex } from "../../access-keys/index/access-key-index.ts";
import type { ClusterMemory } from "../../budgets/cluster-memory.ts";
import type { MemoryBudgets } from "../../budgets/memory-limit.ts";
import { threadBudgets } from "../../budgets/thread-budgets.ts";
import type { RotationStates } from "../../certificate-authorities/rotation-states.ts";
import type { CertificateLedger } from "../../certificates/certificate-ledger.ts";
import { describeCertificate } from "../../certificates/describe-certificate.ts";
import { issuedToCreator } from "../../certificates/issued-to-creator.ts";
import { decodeLineage } from "../../certificates/key-lineage.ts";
import type { Directory } from "../../directory/directory.ts";
import { apiAddressOf, type PlatformEndpoint } from "../platform-endpoint.ts";
import { standardBindings } from "./bind-roles.ts";
import { createClusters, createEmbeddedClusters, type EmbeddedClusters } from "./embedded-clusters.ts";
import type { InstanceSettings } from "./instance-settings.ts";
import type { ClusterFaults } from "./threads/front/cluster-faults.ts";
import type { CountedClusters } from "./threads/front/counted-clusters.ts";
import { createThreadedHost } from "./threads/front/threaded-host.ts";
import { showThreads } from "./threads/pool/thread-metrics.ts";

export type HostNeeds = {
  readonly keys: { readonly index: Pick<AccessKeyIndex, "byUid"> };
  readonly directory: Directory;
  readonly certificates: CertificateLedger;
  readonly memory: MemoryBudgets;
  readonly endpoint: PlatformEndpoint;
  readonly continueTokens: ContinueTokens;
  /** Absent: this thread serves embedded clusters. */
  readonly threads?: ThreadsNeeds | undefined;
};

/** For cluster threads. */
type ThreadsNeeds = {
  /** Clusters whose objects the cache only counts. */
  readonly counted: CountedClusters;
  /** The key of tokens of lists. */
  readonly continueKey: Uint8Array;
  /** Whether other servers write to the store as well. */
  readonly isShared: boolean;
};

type HostParts = {
  readonly settings: InstanceSettings;
  readonly memory: ClusterMemory;
  readonly sealedValues: InternalValues;
  readonly lineages: LineageVerifier;
  readonly rotations: RotationStates;
  readonly faults: Pick<ClusterFaults, "report">;
};

/** Disposing it stops the clusters, and the threads that they run in. */
export function hostClusters(
  base: Foundation,
  needs: HostNeeds,
  { settings, memory, sealedValues, lineages, rotations, faults }: HostParts,
): Disposable & { readonly clusters: EmbeddedClusters } {
  const { configuration, names, storage, cache, runtime, metrics, limitLocks, onError } = base;
  const { endpoint } = needs;
  const common = {
    storage,
    cache,
    runtime,
    settingsOf: (uid: string) => settings.of(uid),
    lineages,
    onCertificateSigned: recordCertificates(needs, runtime.clock),
    queueMetrics: metrics.workQueues,
    webhookMetrics: metrics.webhooks,
    onError,
  };
  const onAuthorityChange = (listener: () => void): Disposable =>
    endpoint.onAuthorityChange?.(listener) ?? { [Symbol.dispose]: () => undefined };
  if (needs.threads === undefined) {
    showThreads(metrics, undefined);
    const clusters = createEmbeddedClusters({
      ...common,
      memory,
      quotaLocks: limitLocks,
      rotations,
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
    });
    return { clusters, [Symbol.dispose]: () => clusters[Symbol.dispose]() };
  }
  const { platform, proxy, outboundProxy, proxyEnvironment, watchBacklog } = configuration;
  const threads = createThreadedHost({
    ...common,
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
    counted: needs.threads.counted,
    onSettingsChange: (listener) => settings.onChange(listener),
    endpoint: () => ({ authorityPem: endpoint.certificateAuthorityPem, address: apiAddressOf(endpoint.url()) }),
    onEndpointChange: onAuthorityChange,
    clusters: () => clusters,
    onFault: (uid, message) => faults.report(uid, message),
    onOverBudget: metrics.rowOverBudget,
  });
  showThreads(metrics, threads.pool);
  const clusters: EmbeddedClusters = createClusters({ storage, runtime, memory, sealedValues, rotations }, threads);
  return {
    clusters,
    [Symbol.dispose]() {
      clusters[Symbol.dispose]();
      threads[Symbol.dispose]();
    },
  };
}

const recordCertificates =
  ({ keys, directory, certificates }: HostNeeds, clock: Foundation["runtime"]["clock"]) =>
  (uid: string, pem: string, lineage: CredentialLineage | undefined): Promise<void> =>
    certificates.record({
      ...describeCertificate(pem, uid, clock.now()),
      issuedTo:
        lineage === undefined ? undefined : issuedToCreator(decodeLineage(lineage), { keys: keys.index, directory }),
    });
