// One running embedded virtual cluster: its API surface, CA and controllers.

import type { PlatformNames } from "@postern/api/platform-names";
import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { isApiError, serviceUnavailableError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Authenticator } from "@postern/apiserver/authentication/authenticator";
import {
  type CredentialLineage,
  type LineageVerifier,
  lineageOn,
} from "@postern/apiserver/authentication/credential-lineage";
import type { TokenAuthenticator } from "@postern/apiserver/authentication/token-authenticator";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import { authorizeWhileOpen } from "@postern/apiserver/authorization/long-running-requests";
import { RBAC_GROUP } from "@postern/apiserver/authorization/rbac/policy-rule";
import type { StoredAmount } from "@postern/apiserver/cache/stored-usage";
import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import { createImpersonation } from "@postern/apiserver/chain/with-impersonation";
import { authorizationAttributesOf, forbiddenErrorFor } from "@postern/apiserver/context/authorization-attributes";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import {
  createWhenAbsent,
  ignoringConflicts,
  updateControlled,
} from "@postern/apiserver/controllers/controlled-objects";
import type { WebhookMetrics } from "@postern/apiserver/metrics/webhook-metrics";
import type { WorkQueueMetrics } from "@postern/apiserver/metrics/work-queue-metrics";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import type { ContinueTokens } from "@postern/apiserver/registry/store/continue-token";
import type { LimitLocks } from "@postern/apiserver/registry/store/limit-locks";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { sharedTurnOf } from "@postern/apiserver/runtime/shared-turn";
import { createSharedAbortController } from "@postern/apiserver/storage/shared-abort-controller";
import type { Storage } from "@postern/apiserver/storage/storage";
import { StorageUnavailableError } from "@postern/apiserver/storage/storage-errors";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import type { VersionInfo } from "@postern/apiserver/version/version-info";
import { CERTIFICATES_GROUP } from "@postern/kubernetes/builtin/certificates/certificate-signing-request";
import type { ApiAddress } from "@postern/kubernetes/controllers/api-service/api-service-controller";
import type { RootAuthority } from "@postern/kubernetes/controllers/namespace-objects/namespace-objects";
import type { CompiledDefinitions } from "@postern/kubernetes/custom-resources/compiled-definitions";
import { requiredResource } from "@postern/kubernetes/server/required-resource";
import { createStandardSurface, type StandardSurface } from "@postern/kubernetes/server/standard-surface";
import type { ServiceAccountKeys } from "@postern/kubernetes/service-accounts/service-account-key";
import type { WebhookCaller } from "@postern/kubernetes/webhooks/webhook-caller";
import type { CertificateAuthority } from "../../../foundation/pki/certificate-authority.ts";
import type { ClusterMemory } from "../../budgets/cluster-memory.ts";
import { createCertificateSigningController } from "../certificate-signing/certificate-signing-controller.ts";
import { createRequestSigner, type RequestSigner } from "../certificate-signing/request-signer.ts";
import { carries, type SpaceMetadata } from "../space-metadata.ts";
import { applyObjects } from "./apply-objects.ts";
import { type BindingNames, bindRoles } from "./bind-roles.ts";
import { createClusterCertificates } from "./cluster-certificates.ts";
import { createClusterMetrics } from "./cluster-metrics.ts";
import { createClusterRoutes } from "./cluster-routes.ts";
import { type ClusterSecrets, createLiveSecrets } from "./cluster-secrets.ts";
import { createClusterUsage } from "./cluster-usage.ts";
import { DEFAULT_SHARE, meteredStorage } from "./metered-storage.ts";
import { createWebhookConnections, type WebhookConnectionsDeps } from "./webhook-connections.ts";

export type EmbeddedClusterDeps = {
  /** Names its part of the store. */
  readonly composition: string;
  readonly names: BindingNames & Pick<PlatformNames, "domain">;
  readonly storage: Storage;
  /** Shared with every other surface on the same store. */
  readonly cache: WatchCache;
  readonly runtime: Runtime;
  readonly continueTokens: ContinueTokens;
  /** CAs, and keys that sign the tokens of its ServiceAccounts. */
  readonly secrets: ClusterSecrets;
  /** Called with each client certificate before it is issued. Absent: certificates are not recorded. */
  readonly onCertificateSigned?:
    | ((certificatePem: string, lineage: CredentialLineage | undefined) => Promise<void>)
    | undefined;
  /** Checks the lineage of its ServiceAccount tokens. */
  readonly lineages?: LineageVerifier | undefined;
  /** ClusterRoleBindings that it has before it serves requests, in addition to those of every cluster. */
  readonly firstBindings: readonly KubeObject[];
  /** For its endpoint. Absent: public CAs. */
  readonly servingAuthority?: RootAuthority | undefined;
  /** The address of that endpoint, where it is an IP that others can reach. Absent: it is not known. */
  readonly apiAddress?: (() => ApiAddress | undefined) | undefined;
  readonly version: VersionInfo;
  /** Compiled CustomResourceDefinitions, shared with all other clusters. */
  readonly customResources: CompiledDefinitions;
  /** Settings of its instance, read each time. Absent: the defaults. */
  readonly settings?: (() => ClusterSettings) | undefined;
  /** The memory that it shares with other clusters. Absent: only its own quota counts. */
  readonly memory?: ClusterMemory | undefined;
  /** Locks that all threads which run it share. Absent: it runs in one. */
  readonly quotaLocks?: LimitLocks | undefined;
  /** Connections to its webhooks. */
  readonly webhooks: Pick<WebhookConnectionsDeps, "addresses" | "resolve" | "userAgent">;
  /** Wraps the calls of webhooks. Absent: they are made as they are. */
  readonly aroundWebhooks?: ((caller: WebhookCaller) => WebhookCaller) | undefined;
  /** Receives errors of background work. */
  readonly onError: (error: unknown, subject: string) => void;
  /** Metrics of its work queues, shared with all other clusters. Absent: none. */
  readonly queueMetrics?: WorkQueueMetrics | undefined;
  /** Metrics of its admission webhooks, shared with all other clusters. Absent: none. */
  readonly webhookMetrics?: WebhookMetrics | undefined;
};

export type ClusterSettings = {
  /** Workloads are stored: `spec.template.workloads` is `stored`, `controlled` or `completed`. */
  readonly keepsWorkloads: boolean;
  /** Controllers make pods of them: `controlled`. */
  readonly runsWorkloads: boolean;
  /** Jobs complete immediately: `completed`. */
  readonly completesJobs: boolean;
  /** Its quota of the store. */
  readonly share: StoredAmount;
  /** The namespace of its project; "" if it is not known. */
  readonly project: string;
};

/** A running cluster, wherever it runs. */
export type EmbeddedCluster = Disposable & {
  /** The CA that signs. */
  readonly authority: CertificateAuthority;
  /** Goes on with other CAs and keys; what others signed is refused from now on. */
  setSecrets(secrets: ClusterSecrets): void;
  /** Accepts only certificates that this cluster's CAs signed. */
  readonly clientCertificates: Authenticator;
  /** Accepts only tokens of this cluster's ServiceAccounts. */
  readonly serviceAccountTokens: TokenAuthenticator;
  /** Serves a request with a path below the cluster's root as `user`, if its own RBAC allows it. */
  handle(context: RequestContext, user: UserInfo): Promise<ApiResponse>;
  /** Applies manifests with the permissions of the server. Throws ObjectsError. */
  applyObjects(text: string, signal: AbortSignal): Promise<void>;
  /** Maintains one ClusterRoleBinding for each of these ClusterRoles, and deletes those for others. */
  bindRoles(clusterRoles: readonly string[], signal: AbortSignal): Promise<void>;
  /** Creates the namespace of a space if it is missing, and keeps its labels and annotations. */
  keepNamespace(name: string, metadata: SpaceMetadata, signal: AbortSignal): Promise<void>;
  /** Milliseconds since the last request ended; 0 while one is in progress. */
  idleFor(): number;
  /** Resolves when all controllers are idle. */
  idle(): Promise<void>;
};

/** One that runs in this thread. */
export type LocalCluster = EmbeddedCluster & {
  readonly signer: RequestSigner;
  /** The resource of a kind that every cluster serves. Throws if it does not. */
  resource(group: string, kind: string): InstalledResource;
};

/** Resolves when its initial objects exist. The cache must be ready. */
export async function startEmbeddedCluster(options: EmbeddedClusterDeps, signal: AbortSignal): Promise<LocalCluster> {
  const { runtime, version, onError, queueMetrics } = options;
  // Each of the two large parts of a start has a turn of the event loop of its own.
  const turn = sharedTurnOf(runtime.clock);
  await turn.next();
  const stop = createSharedAbortController();
  const secrets = createLiveSecrets(options.secrets);
  const serviceAccountKeys: ServiceAccountKeys = {
    get current() {
      return secrets.current.serviceAccountKeys;
    },
    onChange: secrets.onChange,
  };
  const metered = meteredStorage({ ...options, shareOf: () => options.settings?.().share ?? DEFAULT_SHARE });
  const webhooks = createWebhookConnections({ ...options.webhooks, scheduler: runtime.scheduler });
  let isBootstrapped = false;
  const metrics = createClusterMetrics({
    version,
    registry: () => surface.registry,
    stored: () => options.cache.usage.of(options.composition),
  });
  const routes = createClusterRoutes({
    version,
    keys: serviceAccountKeys,
    storage: options.storage,
    metrics,
    isBootstrapped: () => isBootstrapped,
    stopped: stop.signal,
  });
  const surface: StandardSurface = createStandardSurface({
    ...options,
    serviceAccountKeys,
    storage: stoppableStorage(metered.storage, stop.signal),
    conversionMemory: options.memory?.conversionMemoryOf(options.composition),
    cluster: {
      keepsWorkloads: () => options.settings?.().keepsWorkloads === true,
      completesJobs: () => options.settings?.().completesJobs === true,
      runsWorkloads: () => options.settings?.().runsWorkloads === true,
      webhooks: options.aroundWebhooks?.(webhooks) ?? webhooks,
      webhookMetrics: options.webhookMetrics,
      auditDomain: options.names.domain,
      apiAddress: options.apiAddress,
    },
    tokens: { authenticateToken: () => undefined },
    audiences: [],
    rootAuthority: options.servingAuthority,
    nonResource: routes.handle,
    nonResourcePaths: routes.paths,
    onHookError: (error) => onError(error, "hook"),
    onControllerError: onError,
  });
  const resource = (group: string, kind: string) => requiredResource(surface.registry, group, kind);
  const requests = resource(CERTIFICATES_GROUP, "CertificateSigningRequest");
  const signer = createRequestSigner({
    runtime,
    requests,
    authority: () => secrets.current.authorities[0],
    onSigned: (certificatePem, request) =>
      options.onCertificateSigned?.(certificatePem, lineageOn(request)) ?? Promise.resolve(),
  });
  const signing = createCertificateSigningController({ runtime, onError, queueMetrics }, requests, signer);
  const usage = createClusterUsage(runtime);
  const configMaps = resource("", "ConfigMap");
  secrets.onChange(() => {
    const publish = () => publishAuthorities(configMaps, secrets.current, runtime, stop.signal);
    // Another server that runs the cluster publishes the same.
    ignoringConflicts(publish).catch((error: unknown) => {
      if (!stop.signal.aborted) onError(error, "published CA");
    });
  });
  const dispose = (): void => {
    stop.abort();
    webhooks[Symbol.dispose]();
    signing[Symbol.dispose]();
    surface[Symbol.dispose]();
  };
  try {
    await turn.next();
    await surface.bootstrap(signal);
    const bindings = resource(RBAC_GROUP, "ClusterRoleBinding");
    for (const binding of options.firstBindings) await createWhenAbsent(bindings, binding, runtime.clock, signal);
    isBootstrapped = true;
    metered.start();
    await publishAuthorities(configMaps, secrets.current, runtime, signal);
  } catch (error) {
    dispose();
    throw error;
  }

  const impersonate = createImpersonation(surface.authorizer);
  /** The platform has already authorized impersonation in its requests; this cluster authorizes it for its own credentials. */
  const serve = async (context: RequestContext): Promise<ApiResponse> => {
    const found = await impersonate(context);
    return await decideAndRoute(found === undefined ? context : context.with(found), surface);
  };

  return {
    get authority() {
      return secrets.current.authorities[0];
    },
    setSecrets: secrets.replace,
    clientCertificates: createClusterCertificates(secrets, runtime),
    serviceAccountTokens: surface.serviceAccountTokens,
    signer,
    resource,
    async handle(outer, user) {
      if (stop.signal.aborted) throw serviceUnavailableError("the virtual cluster has been stopped");
      const context = outer.with({ user, signal: () => AbortSignal.any([outer.signal, stop.signal]) });
      const isKnown = surface.serves(context.info);
      try {
        const response = await usage.during(() => serve(context));
        metrics.answered(context, isKnown, response.status);
        return response;
      } catch (error) {
        metrics.answered(context, isKnown, isApiError(error) ? error.code : 500);
        throw error;
      }
    },
    applyObjects: (text, aborted) => applyObjects(text, { ...surface, clock: runtime.clock }, aborted),
    bindRoles: (clusterRoles, aborted) =>
      bindRoles(
        resource(RBAC_GROUP, "ClusterRoleBinding"),
        clusterRoles,
        { ...runtime, names: options.names },
        aborted,
      ),
    keepNamespace: (name, metadata, aborted) =>
      keepNamespace(resource("", "Namespace"), { name, ...metadata }, runtime, aborted),
    idleFor: () => usage.idleFor(),
    async idle() {
      await surface.idle();
      await signing.idle();
    },
    [Symbol.dispose]: dispose,
  };
}

async function decideAndRoute(
  context: RequestContext,
  { authorizer, route }: Pick<StandardSurface, "authorizer" | "route">,
): Promise<ApiResponse> {
  const attributes = authorizationAttributesOf(context);
  const { verdict, reason } = await authorizeWhileOpen(authorizer, attributes, context.open);
  if (verdict !== "allow") throw forbiddenErrorFor(attributes, reason);
  return await route(context);
}

/** Labels and annotations of others are kept. */
async function keepNamespace(
  namespaces: InstalledResource,
  { name, labels, annotations }: SpaceMetadata & { readonly name: string },
  { clock }: Pick<Runtime, "clock">,
  signal: AbortSignal,
): Promise<void> {
  const wanted = { name, ...(labels && { labels }), ...(annotations && { annotations }) };
  await createWhenAbsent(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: wanted }, clock, signal);
  const current = namespaces.view.get(namespaces.keys.of("", name))?.decode();
  if (current === undefined || carries(current, { ...wanted })) return;
  const transform = (object: KubeObject): KubeObject => ({
    ...object,
    metadata: {
      ...object.metadata,
      labels: { ...object.metadata.labels, ...labels },
      annotations: { ...object.metadata.annotations, ...annotations },
    },
  });
  await updateControlled({ runtime: { clock } }, namespaces, { metadata: { name } }, { transform }, signal);
}

/**
 * Publishes the CAs of client certificates, as kube-apiserver does.
 * Source: k8s.io/kubernetes/pkg/controlplane/controller/clusterauthenticationtrust
 */
async function publishAuthorities(
  configMaps: InstalledResource,
  { authorities }: ClusterSecrets,
  { clock }: Runtime,
  signal: AbortSignal,
): Promise<void> {
  const metadata = { name: "extension-apiserver-authentication", namespace: "kube-system" };
  const data = { "client-ca-file": authorities.map(({ certificatePem }) => certificatePem).join("") };
  await createWhenAbsent(configMaps, { apiVersion: "v1", kind: "ConfigMap", metadata, data }, clock, signal);
  const current = configMaps.view.get(configMaps.keys.of(metadata.namespace, metadata.name))?.decode();
  const published = current?.["data"];
  if (isJsonObject(published) && published["client-ca-file"] === data["client-ca-file"]) return;
  const transform = (object: KubeObject): KubeObject => ({ ...object, data: { ...entriesOf(object), ...data } });
  await updateControlled({ runtime: { clock } }, configMaps, { metadata }, { transform }, signal);
}

const entriesOf = ({ data }: KubeObject): JsonObject => (isJsonObject(data) ? data : {});

/** Refuses writes after its cluster was stopped, so that no write in progress follows the deletion of everything. Disposing it closes nothing. */
function stoppableStorage(storage: Storage, stopped: AbortSignal): Storage {
  const write = <T>(perform: () => Promise<T>): Promise<T> =>
    stopped.aborted ? Promise.reject(new StorageUnavailableError("the virtual cluster has been stopped")) : perform();
  return {
    get: (...call) => storage.get(...call),
    list: (...call) => storage.list(...call),
    create: (...call) => write(() => storage.create(...call)),
    update: (...call) => write(() => storage.update(...call)),
    delete: (...call) => write(() => storage.delete(...call)),
    checkRoom: (...call) => write(() => storage.checkRoom(...call)),
    watch: (...call) => storage.watch(...call),
    currentRevision: () => storage.currentRevision(),
    known: storage.known,
    compact: (...call) => storage.compact(...call),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
