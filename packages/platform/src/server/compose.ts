// The whole product in the order of its dependencies: each feature names the features that it needs.

import { RBAC_GROUP } from "@postern/apiserver/authorization/rbac/policy-rule";
import type { ControllerAudit } from "@postern/apiserver/chain/controller-audit";
import { type Controller, controlledResources } from "@postern/apiserver/controllers/controller-port";
import type { Logger } from "@postern/apiserver/logging/logger";
import { createContinueTokens } from "@postern/apiserver/registry/store/continue-token";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { Teardown } from "@postern/apiserver/runtime/teardown";
import type { Tracing } from "@postern/apiserver/tracing/tracing";
import { leases } from "@postern/kubernetes/builtin/coordination/leases";
import { events } from "@postern/kubernetes/builtin/core/events";
import { secrets } from "@postern/kubernetes/builtin/core/secrets";
import { services } from "@postern/kubernetes/builtin/core/services";
import { newEvents } from "@postern/kubernetes/builtin/events/new-events";
import { createEventExpiry } from "@postern/kubernetes/controllers/event-expiry";
import { createGarbageCollector } from "@postern/kubernetes/controllers/garbage-collector/garbage-collector";
import { createNamespaceController } from "@postern/kubernetes/controllers/namespace-controller/namespace-controller";
import { createRoleAggregationController } from "@postern/kubernetes/controllers/role-aggregation/role-aggregation-controller";
import {
  endedCredentialControllers,
  keyEndControllers,
  keyRecordControllers,
} from "../features/access-keys/controllers/index.ts";
import { type AccessKeys, keyWriters, openAccessKeys } from "../features/access-keys/feature.ts";
import { accessKeyKinds, credentialsOf, openKeyQuota } from "../features/access-keys/kinds/index.ts";
import { createKeyMint, type KeyMint } from "../features/access-keys/kinds/mint-keys.ts";
import type { GatherUses } from "../features/access-keys/last-use/periodic-writer.ts";
import type { OwnAddresses } from "../features/access-keys/proofs/proof-verifier.ts";
import type { UsedProofs } from "../features/access-keys/proofs/used-proofs.ts";
import { type AccessGrants, openAccessGrants } from "../features/access-requests/access-grants.ts";
import { accessRequestControllers } from "../features/access-requests/controllers/index.ts";
import { type AccessRequests, openAccessRequests } from "../features/access-requests/feature.ts";
import { type AccessRequestKinds, accessRequestKinds } from "../features/access-requests/kinds/index.ts";
import { createServerActivity, type ServerActivity } from "../features/activity/server-activity.ts";
import { type Authorization, openAuthorization } from "../features/authorization/feature.ts";
import { authorizationKinds } from "../features/authorization/kinds/index.ts";
import { openBudgets } from "../features/budgets/feature.ts";
import type { MemoryBudgets } from "../features/budgets/memory-limit.ts";
import { gaugeStorage } from "../features/budgets/storage-metrics.ts";
import type { CertificateLedger } from "../features/certificates/certificate-ledger.ts";
import { certificateUseWriter, gaugeCredentials, openCertificates } from "../features/certificates/feature.ts";
import { clusterTunnelControllers } from "../features/cluster-tunnels/controllers/index.ts";
import { type ClusterTunnels, openClusterTunnels } from "../features/cluster-tunnels/feature.ts";
import type { Directory } from "../features/directory/directory.ts";
import { openDirectory } from "../features/directory/feature.ts";
import { directoryKinds } from "../features/directory/kinds/index.ts";
import { type FrontProxy, openFrontProxy } from "../features/front-proxy/feature.ts";
import { kubeconfigGeneratorControllers } from "../features/kubeconfig-generators/controllers/index.ts";
import { kubeconfigGeneratorKinds } from "../features/kubeconfig-generators/kinds/index.ts";
import { createNoticeController, createNoticeMetrics, openNoticeWebhook } from "../features/notices/feature.ts";
import { projectControllers } from "../features/projects/controllers/index.ts";
import { projectKinds } from "../features/projects/kinds/index.ts";
import { openSessionRecordings, type SessionRecordings } from "../features/session-recordings/feature.ts";
import { signInControllers } from "../features/sign-in/controllers/index.ts";
import { createSignIn, type SignIn } from "../features/sign-in/feature.ts";
import { signInKinds } from "../features/sign-in/kinds/index.ts";
import type { RefusalChannel } from "../features/sign-in/providers/client-refusals.ts";
import { openIdentityProviders, unionGrants } from "../features/sign-in/providers/identity-provider-index.ts";
import { trustControllers } from "../features/trust/controllers/index.ts";
import { createTrust, type Trust } from "../features/trust/feature.ts";
import { trustKinds } from "../features/trust/kinds/index.ts";
import { openTrustRules } from "../features/trust/trust-rule-index.ts";
import { spaceController, virtualClusterControllers } from "../features/virtual-clusters/controllers/index.ts";
import type { CountedClusters } from "../features/virtual-clusters/embedded/threads/front/counted-clusters.ts";
import { openVirtualClusters, type VirtualClusters } from "../features/virtual-clusters/feature.ts";
import { openClusterSecretAdmission } from "../features/virtual-clusters/kinds/clusters/secret-writers.ts";
import { virtualClusterKinds } from "../features/virtual-clusters/kinds/index.ts";
import type { PlatformEndpoint } from "../features/virtual-clusters/platform-endpoint.ts";
import { wrappedValueControllers } from "../features/wrapped-values/controllers/index.ts";
import { type OneTimeDelivery, openOneTimeDelivery } from "../features/wrapped-values/feature.ts";
import { createFoundation, type Foundation, type FoundationParts } from "../foundation/foundation.ts";
import { openIssuers } from "../foundation/issuers/issuers.ts";
import { createTakenTokenReaper } from "../foundation/issuers/used-tokens.ts";
import type { ServerKeys } from "../foundation/store/server-keys.ts";
import { createManagementApi, type ManagementApi } from "./management-api.ts";
import type { Probes } from "./probes.ts";

export type PlatformParts = FoundationParts & {
  readonly serverKeys: ServerKeys;
  readonly memory: MemoryBudgets;
  readonly endpoint: PlatformEndpoint & OwnAddresses;
  /** DPoP proofs that any thread of the server has accepted. Absent: there is one thread. */
  readonly usedProofs?: UsedProofs | undefined;
  /** Absent: there is one thread. */
  readonly gatherUses?: GatherUses | undefined;
  /** Absent: there is one thread. */
  readonly refusalChannel?: RefusalChannel | undefined;
  /** Absent: no tracing. */
  readonly tracing?: Tracing | undefined;
  /** Clusters whose objects the cache only counts, because threads serve them. Absent: this thread does. */
  readonly counted?: CountedClusters | undefined;
  /** Whether other servers write to the store as well. Absent: none does. */
  readonly isShared?: boolean;
  /** Absent: there are none. */
  readonly probes?: Probes | undefined;
  readonly logger: Logger;
  /** Records deletions by controllers, keys that the server revokes, and work of controllers for users. */
  readonly controllerAudit: ControllerAudit;
  /** Whether controllers may run here. */
  readonly mayLead: boolean;
};

/** For the routes of a server, and for the work of its start. */
export type Platform = {
  readonly base: Foundation;
  readonly directory: Directory;
  readonly keys: AccessKeys;
  /** Writes what this thread has noted of them, for others to see. */
  readonly writeUses: GatherUses;
  readonly mint: KeyMint;
  readonly certificates: CertificateLedger;
  /** Access for a time. */
  readonly granted: AccessGrants;
  readonly authorization: Authorization;
  readonly trust: Trust;
  readonly tunnels: ClusterTunnels;
  readonly delivery: OneTimeDelivery;
  readonly clusters: VirtualClusters;
  readonly signIn: SignIn;
  readonly api: ManagementApi;
  readonly activity: ServerActivity;
  readonly access: AccessRequests;
  readonly accessKinds: AccessRequestKinds;
  /** Undefined: no other cluster forwards requests to this server. */
  readonly frontProxy: FrontProxy | undefined;
  readonly recordings: SessionRecordings;
  /** Starts all controllers, in order. */
  startControllers(led: Runtime): readonly Controller[];
};

/** `use` takes what is disposed with the server, in the opposite order. Rejects with ConfigurationError for a file of a feature that cannot be used. */
export async function composePlatform(parts: PlatformParts, { use }: Pick<Teardown, "use">): Promise<Platform> {
  const { memory, endpoint, tracing } = parts;
  const continueTokens = createContinueTokens(parts.serverKeys.continueTokens);
  const { counted, isShared = false } = parts;
  const threads = counted && { counted, isShared, continueKey: parts.serverKeys.continueTokens };
  const base = createFoundation(parts, () => api.registry);
  const { installed, metrics } = base;

  const directory = use(openDirectory(base));
  const rules = use(openTrustRules(base));
  const providers = use(openIdentityProviders(base, { directory }));
  const granted = use(openAccessGrants(base));
  const keys = use(
    openAccessKeys(base, {
      directory,
      grants: unionGrants(rules, providers, granted),
      granted,
      addresses: endpoint,
      usedProofs: parts.usedProofs,
      gatherUses: parts.gatherUses,
    }),
  );
  const certificates = use(openCertificates(base, { keys, directory, granted }));
  const access = use(openAccessRequests(base, { grants: granted, directory }));
  const authorization = use(openAuthorization(base, { keys, granted, accessOffers: access.offers }));
  const issuers = use(openIssuers(base, [rules, providers]));
  const trust = createTrust(base, { rules, issuers, keys, directory });
  const useWriters = [...keyWriters(base, keys), certificateUseWriter(base, certificates)];
  for (const disposable of [...useWriters, keys.rotations]) use(disposable);
  const mint = createKeyMint(base, keys, parts.controllerAudit);
  const quota = openKeyQuota(base, { keys, directory, authorization });
  const budgets = use(openBudgets(base, { keys, memory }));
  const tunnels = use(openClusterTunnels(base, { keys, mint }));
  const delivery = use(openOneTimeDelivery(base, { keys }));
  const { values: wrapped } = delivery;
  // biome-ignore format: the dependencies of the whole product fit on one screen
  const clusters = use(openVirtualClusters(base, {
    keys, mint, directory, certificates, granted, budgets, memory, endpoint, continueTokens, tunnels, threads, tracing,
  }));
  const signIn = createSignIn(base, {
    ...{ providers, directory, keys, mint, issuers, publicUrl: endpoint.url },
    refusalChannel: parts.refusalChannel,
  });
  const notices = createNoticeMetrics(metrics);
  const countCredentials = gaugeCredentials(base, { keys, certificates });
  gaugeStorage(metrics, { budgets: budgets.management, clusters, countCredentials });

  const activity = createServerActivity(base.runtime.clock);
  const credentials = credentialsOf(base, { keys, certificates });
  // biome-ignore format: as above
  const ofKeys = accessKeyKinds(base, {
    keys, directory, authorization, quota, budgets, providers, certificates, credentials, endpoint, wrapped,
  });
  const ofDirectory = directoryKinds(base, { directory, keys, authorization, budgets, credentials });
  const ofProjects = projectKinds(base, { directory, authorization, budgets, endpoint });
  // biome-ignore format: as above
  const ofClusters = virtualClusterKinds(base, {
    clusters, tunnels, keys, mint, directory, authorization, certificates, credentials, endpoint, granted, wrapped,
  });
  const ofTrust = trustKinds(base, { trust, keys, directory, authorization });
  const ofAccess = accessRequestKinds(base, { access, keys, directory, authorization });
  const ofGenerators = kubeconfigGeneratorKinds(base, { keys, mint, directory, authorization });
  const ofSignIn = signInKinds(base, { authorization, directory, issuers, signIn });
  const ofAuthorization = authorizationKinds(base, { keys, authorization, directory });
  const api: ManagementApi = use(
    createManagementApi(base, {
      // biome-ignore format: a table, in the order of discovery
      kinds: [
        ofKeys.ownedAccessKeys, ofDirectory.users, ofDirectory.teams, ofProjects.projects,
        ofClusters.clusters, ofClusters.virtualClusterInstances, ofClusters.virtualClusterTemplates, ofClusters.spaceInstances,
        ofDirectory.selves, ofAuthorization.ownAccessReviews, ofKeys.accessKeys, ofProjects.projectSecrets, ofProjects.sharedSecrets,
        ofTrust.clusterTrustRules, ofTrust.trustRules, ofSignIn.identityProviders,
        ...ofAccess.definitions, ofGenerators.generators, ofClusters.clusterProfiles,
        ofProjects.namespaces, secrets, services, events, newEvents, leases,
        ...ofAuthorization.policies, ...ofAuthorization.reviews,
      ],
      admission: [use(openClusterSecretAdmission(base, { authorization }))],
      probes: parts.probes,
      authorization,
      budgets,
      memory,
      continueTokens,
    }),
  );

  const writeUses: GatherUses = async (uids) => {
    await Promise.all(useWriters.map((writer) => writer.flush(uids)));
  };

  const recordings = use(await openSessionRecordings(base));
  const frontProxy = await openFrontProxy(base, { directory, logger: parts.logger });
  const webhook = parts.mayLead ? await openNoticeWebhook(base) : undefined;
  for (const opened of [frontProxy, webhook]) if (opened !== undefined) use(opened);

  const startControllers: Platform["startControllers"] = (runtime) => {
    const resources = controlledResources(api.registry);
    const unrecorded = { resources, runtime, onError: base.onError, queueMetrics: metrics.workQueues };
    const port = { ...unrecorded, audit: parts.controllerAudit };
    return [
      createNamespaceController(port, installed("", "Namespace")),
      createGarbageCollector(port),
      // As etcd ends them in Kubernetes: without a record.
      createEventExpiry(unrecorded, installed("", "Event")),
      createRoleAggregationController(port, installed(RBAC_GROUP, "ClusterRole")),
      ...keyEndControllers(port, base, { keys }),
      createNoticeController(port, base, { keys, directory, webhook, metrics: notices }),
      ...keyRecordControllers(port, base, { keys }),
      ...projectControllers(port, base, { quota }),
      ...virtualClusterControllers(port, base, { clusters, tunnels }),
      ...clusterTunnelControllers(port, base, { tunnels }),
      ...trustControllers(port, base, { trust }),
      // biome-ignore format: as above
      ...kubeconfigGeneratorControllers(port, base, {
        keys, mint, directory, authorization, kinds: ofGenerators, issuer: ofClusters.issuer, endpoint, audit: parts.controllerAudit,
      }),
      ...accessRequestControllers(port, base, { access, kinds: ofAccess, directory, authorization, webhook }),
      ...endedCredentialControllers(port, { keys, certificates }),
      createTakenTokenReaper(port, issuers.takenTokens),
      ...wrappedValueControllers(port, base, { delivery, webhook }),
      ...signInControllers(port, base, { signIn, keys, mint }),
      spaceController(port, base, { clusters }),
    ];
  };
  // biome-ignore format: as above
  return {
    base, directory, keys, mint, certificates, granted, authorization, trust, tunnels, delivery, clusters, signIn, api,
    activity, access, accessKinds: ofAccess, frontProxy, recordings, startControllers, writeUses,
  };
}
