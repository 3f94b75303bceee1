// The management API: all resources of the platform on one API surface, and the virtual clusters behind them.

import { createNamespaceLifecycle } from "@postern/apiserver/admission/namespace-lifecycle";
import { createOwnerReferencesAdmission } from "@postern/apiserver/admission/owner-references";
import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import type { RequestContext } from "@postern/apiserver/chain/handler";
import { createEventRecorder } from "@postern/apiserver/controllers/event-recorder";
import type { Logger } from "@postern/apiserver/logging/logger";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { WorkQueueMetrics } from "@postern/apiserver/metrics/work-queue-metrics";
import type { ResourceStorage } from "@postern/apiserver/registry/resource-storage";
import { createContinueTokens } from "@postern/apiserver/registry/store/continue-token";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { type ApiSurface, createApiSurface } from "@postern/apiserver/server/api-surface";
import { namespaceLookup } from "@postern/apiserver/server/standard-surface";
import type { Storage } from "@postern/apiserver/storage/storage";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import { filterByVisibility } from "../authorization/filter-by-visibility.ts";
import { insideIdentity } from "../authorization/inside-groups.ts";
import { createReviewGuard } from "../authorization/review-guard.ts";
import type { Configuration } from "../config/configuration.ts";
import { describeCertificate } from "../credentials/describe-certificate.ts";
import { createCertificateHolders } from "../embedded-clusters/certificate-holders.ts";
import { createEmbeddedBackend, type EmbeddedBackendOptions } from "../embedded-clusters/embedded-backend.ts";
import { createEmbeddedClusters, type EmbeddedClusters } from "../embedded-clusters/embedded-clusters.ts";
import { createEmbeddedSpace } from "../embedded-clusters/embedded-space.ts";
import { createInternalRecords, createInternalValues } from "../embedded-clusters/internal-records.ts";
import type { KeyRing } from "../encryption/key-ring.ts";
import { platformResources } from "../resources/index.ts";
import { createObjectLookup, type ObjectLookup } from "../resources/object-lookup.ts";
import { ownedAccessKeyKind } from "../resources/owned-access-keys/index.ts";
import type { RecordKeyEvent } from "../resources/owned-access-keys/key-events.ts";
import { type BackendRegistry, createBackendRegistry } from "../virtual-clusters/backend-registry.ts";
import { type ControlPlaneKeys, createControlPlaneKeys } from "../virtual-clusters/control-plane-keys.ts";
import type { KubernetesBackends } from "../virtual-clusters/kubernetes-backend/kubernetes-backends.ts";
import type { PlatformEndpoint } from "../virtual-clusters/platform-endpoint.ts";
import { createSpaceRegistry, type SpaceRegistry } from "../virtual-clusters/space-registry.ts";
import { disableKey } from "./disable-key.ts";
import { createKeyMint, type KeyMint } from "./mint-keys.ts";
import { MANAGEMENT, type PlatformCore } from "./platform-core.ts";
import { reachClusters } from "./reach-clusters.ts";
import { SERVED_VERSION } from "./served-version.ts";
import type { ServerKeys } from "./server-keys.ts";

export type ManagementSurfaceOptions = {
  readonly core: PlatformCore;
  readonly configuration: Configuration;
  readonly storage: Storage;
  readonly cache: WatchCache;
  readonly runtime: Runtime;
  readonly serverKeys: ServerKeys;
  readonly keyRing: KeyRing;
  readonly endpoint: PlatformEndpoint;
  readonly logger: Logger;
  readonly metrics: ServerMetrics;
  readonly nonResource: (context: RequestContext) => Promise<ApiResponse> | undefined;
  readonly nonResourcePaths: readonly string[];
  /** Ends with the server. */
  readonly signal: AbortSignal;
};

export type ManagementSurface = ApiSurface &
  Disposable & {
    readonly lookup: ObjectLookup;
    readonly backends: BackendRegistry;
    readonly spaces: SpaceRegistry;
    readonly embeddedClusters: EmbeddedClusters;
    /** Clusters that are reached by a kube config. */
    readonly reached: KubernetesBackends;
    readonly controlPlaneKeys: ControlPlaneKeys;
    readonly mint: KeyMint;
    readonly recordKeyEvent: RecordKeyEvent;
    /** Takes faults of work that no request waits for. */
    readonly onError: (error: unknown, subject: string) => void;
    /** Where work queues are counted. */
    readonly queueMetrics: WorkQueueMetrics;
  };

export function createManagementSurface(options: ManagementSurfaceOptions): ManagementSurface {
  const { core, configuration, storage, cache, runtime, serverKeys, keyRing, endpoint, logger, metrics, signal } =
    options;
  const { names, keys, sources, visibility } = core;
  const continueTokens = createContinueTokens(serverKeys.continueTokens);
  const sealedValues = createInternalValues(keyRing, runtime.random);
  const onError = (error: unknown, subject: string): void => logger.error({ error, component: subject }, "work failed");

  const installed = (group: string, plural: string) => {
    const resource = surface.registry.find(group, "v1", plural);
    if (resource === undefined) throw new Error(`${plural} is not served`);
    return resource;
  };
  const accessKeys = () => installed(names.managementGroup, ownedAccessKeyKind(names).plural);
  const lookup = createObjectLookup(() => surface.registry, names);
  const mint = createKeyMint({ names, keys, keyQuota: core.keyQuota, accessKeys, clock: runtime.clock });
  const recordKeyEvent = createEventRecorder({
    runtime,
    events: () => installed("", "events"),
    component: names.name,
    onError,
    signal,
  });
  const embeddedClusters = createEmbeddedClusters({
    storage,
    cache,
    runtime,
    continueTokens,
    sealedValues,
    servingAuthority: endpoint.certificateAuthorityPem,
    version: SERVED_VERSION,
    onError,
    queueMetrics: metrics.workQueues,
    onCertificateSigned: (uid, pem) => core.certificates.record(describeCertificate(pem, uid, runtime.clock.now())),
  });
  const holders = createCertificateHolders(core.directory, names);
  const reached = reachClusters({
    configuration,
    names,
    runtime,
    lookup,
    secret: (namespace, name) => {
      const { view, keys: secretKeys } = installed("", "secrets");
      return view.get(secretKeys.of(namespace, name))?.decode();
    },
  });
  const embeddedOptions: EmbeddedBackendOptions = {
    clusters: embeddedClusters,
    names,
    runtime,
    version: SERVED_VERSION,
    serverCertificateAuthority: endpoint.certificateAuthorityPem,
    holders,
    certificates: core.certificates,
  };
  const backends = createBackendRegistry({
    lookup,
    kubernetes: (instance) => reached.ofVirtualCluster(instance),
    embedded: (uid) => createEmbeddedBackend(embeddedOptions, uid),
  });
  const spaces = createSpaceRegistry({
    lookup,
    embedded: (uid, namespace) => createEmbeddedSpace(embeddedOptions, uid, namespace),
    connected: (instance) => reached.ofSpace(instance),
  });
  const controlPlaneKeys = createControlPlaneKeys({
    names,
    keys,
    mint: mint.mintControlPlaneKey,
    revoke: mint.revoke,
    recordsOf: (composition) => createInternalRecords({ storage, sealedValues }, composition),
  });

  const surface = createApiSurface({
    composition: MANAGEMENT,
    storage,
    cache,
    runtime,
    continueTokens,
    authorizer: core.authorizer,
    resources: platformResources({
      ...core,
      configuration,
      runtime,
      lookup,
      backends,
      controlPlaneKeys,
      endpoint,
      recordEvent: recordKeyEvent,
      mintAccessKey: mint.mintAccessKey,
      decisions: core.authorizer,
      acceptsReview: createReviewGuard({ names, keys, authorizer: core.authorizer }),
      disableKey: (key) => disableKey(key, accessKeys(), { clock: runtime.clock, signal }),
      allKeys: () => keys.all(),
      ownKeys: () => required(accessKeys().storage),
      accessKeys: {
        get keys() {
          return accessKeys().keys;
        },
        get view() {
          return accessKeys().view;
        },
      },
      onlyVisible: (resource) => filterByVisibility(visibility, resource),
      insideIdentity: (user, place) => insideIdentity(user, place, sources),
    }),
    admission: (registry) => [
      createNamespaceLifecycle({ namespaces: namespaceLookup(registry, runtime.clock) }),
      createOwnerReferencesAdmission({
        authorizer: core.authorizer,
        findKind: (group, kind) => registry.findKind(group, kind)?.definition,
      }),
    ],
    nonResource: options.nonResource,
    nonResourcePaths: options.nonResourcePaths,
    info: { title: "Postern", version: SERVED_VERSION.gitVersion },
    watchMetrics: {
      watchEvent: ({ definition: { group, version, plural } }) => metrics.watchEvent(group, version, plural),
    },
    onHookError: (error) => onError(error, "hook"),
  });

  return {
    ...surface,
    lookup,
    backends,
    spaces,
    embeddedClusters,
    reached,
    controlPlaneKeys,
    mint,
    recordKeyEvent,
    onError,
    queueMetrics: metrics.workQueues,
    [Symbol.dispose]() {
      embeddedClusters[Symbol.dispose]();
      reached[Symbol.dispose]();
    },
  };
}

/** What the platform decorates serves every verb. */
const required = (storage: ResourceStorage): Required<ResourceStorage> => storage as Required<ResourceStorage>;
