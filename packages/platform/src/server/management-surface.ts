// The management API: all resources of the platform on one API surface, with the backends of virtual clusters.

import { restrictionNames } from "@postern/api/access-key-restrictions";
import type { Cluster } from "@postern/api/cluster";
import { MANAGEMENT } from "@postern/api/platform-names";
import type { Project } from "@postern/api/project";
import { storageQuotaOf } from "@postern/api/project-quotas";
import { createNamespaceLifecycle } from "@postern/apiserver/admission/namespace-lifecycle";
import { createOwnerReferencesAdmission } from "@postern/apiserver/admission/owner-references";
import type { PolicyVersion } from "@postern/apiserver/authorization/policy-version";
import { createResourceKeys } from "@postern/apiserver/cache/resource-keys";
import type { StoredAmount } from "@postern/apiserver/cache/stored-usage";
import { followView, type ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import { controlledResources } from "@postern/apiserver/controllers/controller-port";
import { createEventRecorder, type EventRecorder } from "@postern/apiserver/controllers/event-recorder";
import type { NonResourceHandler } from "@postern/apiserver/endpoints/non-resource-handler";
import type { Logger } from "@postern/apiserver/logging/logger";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { WorkQueueMetrics } from "@postern/apiserver/metrics/work-queue-metrics";
import type { ResourceStorage } from "@postern/apiserver/registry/resource-storage";
import { createContinueTokens } from "@postern/apiserver/registry/store/continue-token";
import { fixedRoom } from "@postern/apiserver/registry/store/converted-object-budget";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { type ApiSurface, createApiSurface } from "@postern/apiserver/server/api-surface";
import type { Storage } from "@postern/apiserver/storage/storage";
import type { Tracing } from "@postern/apiserver/tracing/tracing";
import { createCompiledDefinitions } from "@postern/kubernetes/custom-resources/compiled-definitions";
import { createCustomResourceController } from "@postern/kubernetes/custom-resources/custom-resource-controller";
import { APIEXTENSIONS_GROUP } from "@postern/kubernetes/custom-resources/custom-resource-definition";
import { createDefinitionLimit } from "@postern/kubernetes/custom-resources/definition-limit";
import { requiredResource } from "@postern/kubernetes/server/required-resource";
import { namespaceLookup } from "@postern/kubernetes/server/standard-surface";
import type { PlatformCore } from "../core/platform-core.ts";
import type { RecordKeyEvent } from "../features/access-keys/key-events.ts";
import { createKeyQuota, type KeyQuota } from "../features/access-keys/key-quota.ts";
import { disableKey } from "../features/access-keys/kinds/disable-key.ts";
import { createKeyMint, type KeyMint } from "../features/access-keys/kinds/mint-keys.ts";
import { createSealedRecordWriter } from "../features/access-keys/rotation/sealed-record-writer.ts";
import { filterByVisibility } from "../features/authorization/filter-by-visibility.ts";
import { insideIdentity } from "../features/authorization/inside-groups.ts";
import { createReachesProject } from "../features/authorization/reaches-project.ts";
import { createReviewGuard } from "../features/authorization/review-guard.ts";
import { createManagementBudgets, type ManagementBudgets } from "../features/budgets/management-budgets.ts";
import type { MemoryBudgets } from "../features/budgets/memory-limit.ts";
import { createProjectNamespace } from "../features/projects/controllers/project-namespaces.ts";
import { createDestinationChanges } from "../features/virtual-clusters/destination-changes.ts";
import { createClusterSecretAdmission } from "../features/virtual-clusters/kinds/clusters/secret-writers.ts";
import { secretOf } from "../features/virtual-clusters/kinds/clusters/strategy.ts";
import type { PlatformEndpoint } from "../features/virtual-clusters/platform-endpoint.ts";
import { createWakeUp, type WakeUp } from "../features/virtual-clusters/wake-sleeping-cluster.ts";
import type { Configuration } from "../foundation/config/configuration.ts";
import type { KeyRing } from "../foundation/encryption/key-ring.ts";
import { followingValues } from "../foundation/lookup/follow-values.ts";
import { createObjectLookup, type ObjectLookup } from "../foundation/lookup/object-lookup.ts";
import { SERVED_VERSION } from "../foundation/served-version.ts";
import type { ServerKeys } from "../foundation/store/server-keys.ts";
import { type ClusterBackends, createClusterBackends } from "./cluster-backends.ts";
import type { DomainMetrics } from "./domain-metrics.ts";
import type { KeyCounts } from "./key-counts.ts";
import { withShare } from "./kinds/custom-resource-definitions.ts";
import { platformResources } from "./kinds/index.ts";

export type ManagementSurfaceDeps = {
  readonly core: PlatformCore;
  readonly configuration: Configuration;
  readonly storage: Storage;
  readonly memory: MemoryBudgets;
  readonly cache: WatchCache;
  readonly runtime: Runtime;
  readonly serverKeys: ServerKeys;
  readonly keyRing: KeyRing;
  readonly endpoint: PlatformEndpoint;
  readonly logger: Logger;
  readonly metrics: ServerMetrics;
  readonly domainMetrics: Pick<DomainMetrics, "keyEvent" | "kubeconfigIssued" | "writeRefused">;
  readonly nonResource: NonResourceHandler;
  readonly nonResourcePaths: readonly string[];
  /** Absent: no tracing. */
  readonly tracing?: Tracing | undefined;
  /** Ends with the server. */
  readonly signal: AbortSignal;
};

export type ManagementSurface = ApiSurface &
  ClusterBackends & {
    readonly lookup: ObjectLookup;
    readonly keyQuota: KeyQuota;
    readonly budgets: ManagementBudgets;
    /** Version of the destinations of proxied requests. */
    readonly destinations: PolicyVersion;
    readonly mint: KeyMint;
    readonly recordEvent: EventRecorder;
    readonly recordKeyEvent: RecordKeyEvent;
    readonly wakeUp: WakeUp;
    /** Takes faults of work that no request waits for. */
    readonly onError: (error: unknown, subject: string) => void;
    /** Where work queues are counted. */
    readonly queueMetrics: WorkQueueMetrics;
  };

const MIB = 1 << 20;
/** Of the memory for what the platform stores, as much again is for custom resources that are kept as they are shown. */
const SHOWN_PART = 8;

export function createManagementSurface(deps: ManagementSurfaceDeps): ManagementSurface {
  const {
    core,
    configuration,
    storage,
    cache,
    runtime,
    serverKeys,
    keyRing,
    endpoint,
    logger,
    metrics,
    domainMetrics,
    signal,
  } = deps;
  const { names, keys, sources, visibility } = core;
  const continueTokens = createContinueTokens(serverKeys.continueTokens);
  const onError = (error: unknown, subject: string): void => logger.error({ error, component: subject }, "work failed");

  // The resources need each other, but only once a request arrives.
  const installed = (group: string, kind: string) => requiredResource(surface.registry, group, kind);
  const accessKeys = () => installed(names.managementGroup, "OwnedAccessKey");
  const lookup = createObjectLookup(
    () => surface.registry,
    names,
    (signal) => cache.refresh({ signal }),
  );
  const keyQuota = createKeyQuota({
    keys,
    maxPerOwner: configuration.accessKeys.maxPerOwner,
    lookup,
    restrictionNames: restrictionNames(names.name),
    reaches: createReachesProject({ ...core, names }),
  });
  const mint = createKeyMint({
    names,
    keys,
    grants: core.grants,
    accessKeys,
    clock: runtime.clock,
  });
  const recordEvent = createEventRecorder({
    runtime,
    events: () => installed("", "Event"),
    component: names.name,
    onError,
    signal,
  });
  const recordKeyEvent: RecordKeyEvent = (event) => {
    domainMetrics.keyEvent(event.reason);
    recordEvent(event);
  };
  const clusters = createClusterBackends({
    core,
    configuration,
    storage,
    cache,
    runtime,
    memory: deps.memory,
    onWriteRefused: domainMetrics.writeRefused,
    continueTokens,
    keyRing,
    endpoint,
    lookup,
    mint,
    secret: lookup.secret,
    queueMetrics: metrics.workQueues,
    webhookMetrics: metrics.webhooks,
    tracing: deps.tracing,
    onError,
  });

  const viewOf = (group: string, resource: string, namespaced: boolean): ViewPrefix => {
    const { prefix } = createResourceKeys(MANAGEMENT, { group, resource, namespaced });
    return { view: cache.view(prefix), prefix };
  };
  const destinations = createDestinationChanges(
    [
      viewOf(names.managementGroup, "virtualclusterinstances", true),
      viewOf(names.managementGroup, "spaceinstances", true),
      viewOf(names.managementGroup, "clusters", false),
      viewOf(names.managementGroup, "projects", false),
      viewOf("", "secrets", true),
    ],
    runtime.scheduler,
  );

  const projectLimits = new Map<string, Partial<StoredAmount>>();
  const followingProjects = followView(
    viewOf(names.managementGroup, "projects", false),
    runtime.scheduler,
    followingValues<Project, Partial<StoredAmount>>(projectLimits, (project) => [
      project.metadata.name ?? "",
      storageQuotaOf(project),
    ]),
  );
  const clusterSecrets = new Map<string, string>();
  const followingClusters = followView(
    viewOf(names.managementGroup, "clusters", false),
    runtime.scheduler,
    followingValues<Cluster, string>(clusterSecrets, (cluster) => {
      const place = secretOf(cluster);
      return [cluster.metadata.name ?? "", place && `${place.namespace}/${place.name}`];
    }),
  );
  const { projects: projectDefaults, accessKeys: keyDefaults } = configuration;
  const budgets = createManagementBudgets({
    storage,
    cache,
    composition: MANAGEMENT,
    accessKeysPrefix: viewOf(names.managementGroup, "ownedaccesskeys", false).prefix,
    keys,
    names,
    quotaOf: (project) => projectLimits.get(project),
    limits: {
      project: { objects: projectDefaults.maxObjects, bytes: projectDefaults.maxMiB * MIB },
      ownerBytes: keyDefaults.maxMiBPerOwner * MIB,
      platformBytes: deps.memory.platformBytes,
    },
    onRefused: domainMetrics.writeRefused,
  });

  const compiled = configuration.customResources.enabled ? createCompiledDefinitions() : undefined;
  const definitions = () => installed(APIEXTENSIONS_GROUP, "CustomResourceDefinition");
  const surface = createApiSurface({
    composition: MANAGEMENT,
    storage: budgets.storage,
    shown: fixedRoom(deps.memory.platformBytes / SHOWN_PART),
    cache,
    runtime,
    continueTokens,
    authorizer: core.authorizer,
    resources: platformResources({
      ...core,
      configuration,
      runtime,
      lookup,
      keyQuota,
      budgets,
      countedRecords: createSealedRecordWriter({ ...core.keyRecords, storage: budgets.storage, cache }),
      ...clusters,
      endpoint,
      recordEvent: recordKeyEvent,
      onKubeconfigIssued: domainMetrics.kubeconfigIssued,
      mintAccessKey: mint.mintAccessKey,
      decisions: core.authorizer,
      acceptsReview: createReviewGuard({ names, keys, authorizer: core.authorizer }),
      disableKey: (key) => disableKey(key, accessKeys(), { clock: runtime.clock, signal }),
      allKeys: () => keys.all(),
      ownKeys: () => required(accessKeys().servedStore),
      accessKeys: {
        get keys() {
          return accessKeys().keys;
        },
        get view() {
          return accessKeys().view;
        },
      },
      secretResource: () => installed("", "Secret"),
      namespaceResource: () => installed("", "Namespace"),
      createNamespace: createProjectNamespace({ runtime }, names, () => installed("", "Namespace")),
      customResources: compiled && { compiled, count: () => definitions().view.count(definitions().keys.prefix) },
      visibilityOf: (resource) => filterByVisibility(visibility, resource),
      insideIdentity: (user, place) => insideIdentity(user, place, sources),
    }),
    admission: (registry) => [
      createNamespaceLifecycle({ namespaces: namespaceLookup(registry, runtime.clock) }),
      createOwnerReferencesAdmission({
        authorizer: core.authorizer,
        findKind: (group, kind) => registry.findKind(group, kind)?.definition,
      }),
      createDefinitionLimit(registry),
      createClusterSecretAdmission({
        names,
        authorizer: core.authorizer,
        places: clusterSecrets,
        refresh: (signal) => lookup.refresh(signal),
      }),
    ],
    nonResource: deps.nonResource,
    nonResourcePaths: deps.nonResourcePaths,
    info: { title: "Postern", version: SERVED_VERSION.gitVersion },
    watchMetrics: {
      watchEvent: ({ definition: { group, version, plural } }) => metrics.watchEvent(group, version, plural),
      watchTerminated: ({ definition: { group, plural } }, scope) => metrics.watchTerminated(group, plural, scope),
    },
    onHookError: (error) => onError(error, "hook"),
  });

  // On every server, as in embedded clusters: each serves all that is defined.
  const customResources =
    compiled &&
    createCustomResourceController(
      {
        resources: controlledResources(surface.registry),
        runtime,
        onError,
        queueMetrics: metrics.workQueues,
      },
      definitions(),
      {
        registry: surface.registry,
        compiled,
        caller: undefined,
        adapt: (definition) => withShare(definition, surface.registry),
      },
    );

  return {
    ...surface,
    ...clusters,
    lookup,
    keyQuota,
    budgets,
    destinations,
    mint,
    recordEvent,
    recordKeyEvent,
    wakeUp: createWakeUp({
      names,
      clock: runtime.clock,
      signal,
      instances: () => installed(names.managementGroup, "VirtualClusterInstance"),
    }),
    onError,
    queueMetrics: metrics.workQueues,
    [Symbol.dispose]() {
      customResources?.[Symbol.dispose]();
      destinations[Symbol.dispose]();
      followingProjects[Symbol.dispose]();
      followingClusters[Symbol.dispose]();
      clusters[Symbol.dispose]();
    },
  };
}

/** A stored kind serves every verb. */
const required = (storage: ResourceStorage): Required<ResourceStorage> => storage as Required<ResourceStorage>;

/** Shows what is stored, and of which owner the most, in the metrics. */
export function followStorageMetrics(
  metrics: Pick<DomainMetrics, "followStorage">,
  { budgets, clusterMemory, clusterUsage }: Pick<ManagementSurface, "budgets" | "clusterMemory" | "clusterUsage">,
  census: () => Promise<KeyCounts>,
): void {
  const storage = () => ({
    platform: budgets,
    clusters: clusterMemory,
    fullest: { project: budgets.fullestProject, virtualcluster: clusterUsage.fullest },
    ownerBytes: budgets.ownerBytes,
  });
  metrics.followStorage(storage, census);
}
