// An API surface of a bare Kubernetes cluster: built-in kinds, RBAC, namespaces, and their controllers.

import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { createNamespaceLifecycle, type NamespaceLookup } from "../admission/namespace-lifecycle.ts";
import { createOwnerReferencesAdmission } from "../admission/owner-references.ts";
import type { LineageVerifier } from "../authentication/credential-lineage.ts";
import { type TokenAuthenticator, unionTokenAuthenticator } from "../authentication/token-authenticator.ts";
import { type Authorizer, type RuleResolver, unionAuthorizer, unionRuleResolver } from "../authorization/authorizer.ts";
import { mastersAuthorizer } from "../authorization/builtin-authorizers.ts";
import { createCachedRbacSource, type RbacViews } from "../authorization/rbac/cached-rbac-source.ts";
import { RBAC_GROUP } from "../authorization/rbac/policy-rule.ts";
import { createRbacAuthorizer } from "../authorization/rbac/rbac-authorizer.ts";
import type { TokenRequestOptions } from "../builtin/authentication/token-requests.ts";
import { builtinResources } from "../builtin/builtin-resources.ts";
import { clusterKinds } from "../builtin/cluster-kinds.ts";
import { createQuotaAdmission } from "../builtin/quotas/quota-admission.ts";
import {
  BOOTSTRAP_CLUSTER_ROLE_BINDINGS,
  BOOTSTRAP_CLUSTER_ROLES,
  CLUSTER_KIND_ROLES,
} from "../builtin/rbac/bootstrap-policy.ts";
import { createServiceAddresses, type ServiceAddresses } from "../builtin/services/service-addresses.ts";
import { createServiceTotals, type ServiceTotals } from "../builtin/services/service-totals.ts";
import { createNoNodesAdmission } from "../builtin/workloads/no-nodes.ts";
import type { CachedObject } from "../cache/cached-object.ts";
import { createResourceKeys } from "../cache/resource-view.ts";
import type { WatchCache } from "../cache/watch-cache.ts";
import { createSystemContext } from "../context/system-context.ts";
import {
  type ApiAddress,
  type ApiServiceDeps,
  apiServiceObjects,
  createApiServiceController,
} from "../controllers/api-service/api-service-controller.ts";
import { createWhenAbsent } from "../controllers/controlled-objects.ts";
import { type Controller, type ControllerPort, controlledResources } from "../controllers/controller-port.ts";
import { createEventExpiry } from "../controllers/event-expiry.ts";
import { createGarbageCollector } from "../controllers/garbage-collector/garbage-collector.ts";
import { createJobCompletion } from "../controllers/job-completion.ts";
import { createNamespaceController } from "../controllers/namespace-controller/namespace-controller.ts";
import {
  createNamespaceObjectController,
  DEFAULT_SERVICE_ACCOUNT,
  type KeptObject,
  type RootAuthority,
  rootCertificateAuthority,
} from "../controllers/namespace-objects/namespace-object-controller.ts";
import { createQuotaController } from "../controllers/quotas/quota-controller.ts";
import { createRoleAggregationController } from "../controllers/role-aggregation/role-aggregation-controller.ts";
import { createTokenSecretController } from "../controllers/token-secrets/token-secret-controller.ts";
import type { CompiledDefinitions } from "../custom-resources/compiled-definitions.ts";
import { createCustomResourceController } from "../custom-resources/custom-resource-controller.ts";
import { APIEXTENSIONS_GROUP } from "../custom-resources/custom-resource-definition.ts";
import { customResourceDefinitions } from "../custom-resources/custom-resource-definitions.ts";
import { createDefinitionLimit } from "../custom-resources/definition-limit.ts";
import type { WebhookMetrics } from "../metrics/webhook-metrics.ts";
import type { WorkQueueMetrics } from "../metrics/work-queue-metrics.ts";
import { createAdmissionLimit } from "../policies/admission-limit.ts";
import { createParamsAccess } from "../policies/params-access.ts";
import { createPolicyAdmission } from "../policies/policy-admission.ts";
import { validatingAdmissionPolicies, validatingAdmissionPolicyBindings } from "../policies/policy-kinds.ts";
import { createPolicyStatusController } from "../policies/policy-status-controller.ts";
import { ADMISSION_GROUP } from "../policies/validating-admission-policy.ts";
import { createWebhookAdmission } from "../policies/webhooks/webhook-admission.ts";
import { mutatingWebhookConfigurations, validatingWebhookConfigurations } from "../policies/webhooks/webhook-kinds.ts";
import type { AdmissionPlugin } from "../registry/admission-plugin.ts";
import type { ResourceDefinition } from "../registry/resource-definition.ts";
import type { InstalledResource, ResourceRegistry } from "../registry/resource-registry.ts";
import { newUid } from "../registry/store/object-meta.ts";
import { SERVICE_ACCOUNT_ISSUER } from "../service-accounts/bound-token.ts";
import type { ServiceAccountKey } from "../service-accounts/json-web-token.ts";
import { createServiceAccountTokens, type ServiceAccountTokens } from "../service-accounts/service-account-tokens.ts";
import type { TokenSubjects } from "../service-accounts/token-subjects.ts";
import type { WebhookCaller } from "../webhooks/webhook-caller.ts";
import { type ApiSurface, type ApiSurfaceDeps, createApiSurface } from "./api-surface.ts";

export type StandardSurfaceDeps = Omit<ApiSurfaceDeps, "resources" | "admission" | "authorizer"> & {
  /** Whose a bearer token is, for TokenReview. */
  readonly tokens: TokenAuthenticator;
  readonly audiences: readonly string[];
  /** Signs the tokens of ServiceAccounts. Absent: they get none, and namespaces get no ServiceAccount of their own. */
  readonly serviceAccountKey?: ServiceAccountKey;
  /** Judges what tokens of ServiceAccounts go back to. Absent: they go back to nothing. */
  readonly lineages?: LineageVerifier | undefined;
  /** The CA that verifies the server, published in every namespace. Absent: none is. */
  readonly rootAuthority?: RootAuthority | undefined;
  /** Resources beside the built-in ones. */
  readonly resources?: readonly ResourceDefinition[];
  /** Serves CustomResourceDefinitions and what they define; shared by all surfaces of a process. Absent: none can be created. */
  readonly customResources?: CompiledDefinitions | undefined;
  /** Serves the kinds that charts and controllers expect of a cluster. Absent: those of every surface alone. */
  readonly cluster?: ClusterOptions | undefined;
  /** Namespaces that are there from the start. */
  readonly namespaces?: readonly string[];
  readonly onControllerError: (error: unknown, subject: string) => void;
  /** Where the work queues of the controllers are counted. Absent: nowhere. */
  readonly queueMetrics?: WorkQueueMetrics | undefined;
};

export type ClusterOptions = {
  /** Whether workloads are kept as objects; otherwise they are refused, since there are no nodes. */
  readonly keepsWorkloads: () => boolean;
  /** Whether Jobs are taken for complete, though no pod of theirs runs. */
  readonly completesJobs: () => boolean;
  /** Asks its admission webhooks. */
  readonly webhooks: WebhookCaller;
  /** Where those calls are counted. Absent: nowhere. */
  readonly webhookMetrics?: WebhookMetrics | undefined;
  /** Where its API is reached, as in `ApiServiceDeps`. Absent: that is not known. */
  readonly apiAddress?: (() => ApiAddress | undefined) | undefined;
};

export type StandardSurface = ApiSurface &
  Disposable & {
    readonly authorizer: Authorizer;
    readonly ruleResolver: RuleResolver;
    /** Knows the tokens of ServiceAccounts; nothing where there is no key for them. */
    readonly serviceAccountTokens: TokenAuthenticator;
    /** Resolves when no controller has anything left to do. */
    idle(): Promise<void>;
    /** Makes the roles, bindings and namespaces that every cluster begins with, where they are missing. */
    bootstrap(signal: AbortSignal): Promise<void>;
  };

const FIRST_NAMESPACES = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** The cache must be ready. Controllers run until the surface is disposed. */
export function createStandardSurface(deps: StandardSurfaceDeps): StandardSurface {
  const { composition, cache, runtime, tokens, audiences } = deps;
  const source = createCachedRbacSource(rbacViews(composition, cache), runtime.scheduler);
  const rbac = createRbacAuthorizer({ source });
  const authorizer = unionAuthorizer([mastersAuthorizer, rbac]);
  const ruleResolver = unionRuleResolver([mastersAuthorizer, rbac]);
  const serviceAccountTokens = createTokensOfAccounts(deps);
  const services = totalsOfServices(deps);
  const builtin = builtinResources({
    authorizer,
    ruleResolver,
    rbacSource: source,
    tokens:
      serviceAccountTokens === undefined ? tokens : unionTokenAuthenticator([serviceAccountTokens.tokens, tokens]),
    audiences: serviceAccountTokens === undefined ? audiences : [...audiences, SERVICE_ACCOUNT_ISSUER],
    serviceAccountTokens,
    customResourceDefinitions: customResourceDefinitions(deps.customResources),
    ...(deps.cluster === undefined
      ? {}
      : {
          clusterKinds: [
            ...clusterKinds(addressesOfServices(services, deps)),
            validatingAdmissionPolicies,
            validatingAdmissionPolicyBindings,
            validatingWebhookConfigurations,
            mutatingWebhookConfigurations,
          ],
        }),
  });
  const surface = createApiSurface({
    ...deps,
    authorizer,
    resources: [...builtin, ...(deps.resources ?? [])],
    admission: (registry) => [
      createNamespaceLifecycle({ namespaces: namespaceLookup(registry, runtime.clock) }),
      createOwnerReferencesAdmission({
        authorizer,
        findKind: (group, kind) => registry.findKind(group, kind)?.definition,
      }),
      createDefinitionLimit(registry),
      ...(deps.cluster === undefined
        ? []
        : clusterAdmission(registry, deps.cluster, { ...deps, authorizer, services })),
    ],
  });
  const controllers = startControllers(surface.registry, deps, { tokens: serviceAccountTokens?.tokens, services });

  return {
    ...surface,
    authorizer,
    ruleResolver,
    serviceAccountTokens: serviceAccountTokens?.tokens ?? { authenticateToken: () => undefined },
    async idle() {
      for (const controller of controllers) await controller.idle();
    },
    bootstrap: (signal) => bootstrap(surface.registry, deps, signal),
    [Symbol.dispose]() {
      for (const controller of controllers) controller[Symbol.dispose]();
      services[Symbol.dispose]();
      source[Symbol.dispose]();
    },
  };
}

const clusterAdmission = (
  registry: ResourceRegistry,
  { keepsWorkloads, webhooks, webhookMetrics }: ClusterOptions,
  {
    runtime: { clock, random },
    authorizer,
    services,
  }: Pick<StandardSurfaceDeps, "runtime"> & { readonly authorizer: Authorizer; readonly services: ServiceTotals },
): readonly AdmissionPlugin[] => [
  createNoNodesAdmission(keepsWorkloads),
  createAdmissionLimit(registry),
  createParamsAccess({
    policies: requiredResource(registry, ADMISSION_GROUP, "ValidatingAdmissionPolicy"),
    registry,
    authorizer,
  }),
  createWebhookAdmission({
    mutating: requiredResource(registry, ADMISSION_GROUP, "MutatingWebhookConfiguration"),
    validating: requiredResource(registry, ADMISSION_GROUP, "ValidatingWebhookConfiguration"),
    services: requiredResource(registry, "", "Service"),
    endpoints: requiredResource(registry, "", "Endpoints"),
    registry,
    namespaces: namespaceLookup(registry, clock),
    authorizer,
    caller: webhooks,
    newUid: () => newUid(random),
    elapsed: () => clock.elapsed(),
    metrics: webhookMetrics,
  }),
  createPolicyAdmission({
    authorizer,
    policies: requiredResource(registry, ADMISSION_GROUP, "ValidatingAdmissionPolicy"),
    bindings: requiredResource(registry, ADMISSION_GROUP, "ValidatingAdmissionPolicyBinding"),
    registry,
    namespaces: namespaceLookup(registry, clock),
  }),
  createQuotaAdmission({
    quotas: () => requiredResource(registry, "", "ResourceQuota"),
    registry,
    services,
    elapsed: () => clock.elapsed(),
  }),
];

/** Read by the strategy of Services, which is made before they are installed. */
function totalsOfServices({ composition, cache, runtime }: StandardSurfaceDeps): ServiceTotals {
  const { prefix } = createResourceKeys(composition, { group: "", resource: "services", namespaced: true });
  return createServiceTotals({ view: cache.view(prefix), prefix }, runtime);
}

function addressesOfServices(totals: ServiceTotals, { runtime }: StandardSurfaceDeps): ServiceAddresses {
  return createServiceAddresses({
    totals,
    elapsed: () => runtime.clock.elapsed(),
    random: () => new DataView(runtime.random.bytes(4).slice().buffer).getUint32(0) / 2 ** 32,
  });
}

/** Where RBAC reads its roles and bindings, known before the resources themselves are made. */
export function rbacViews(composition: string, cache: WatchCache): RbacViews {
  const view = (resource: string, namespaced: boolean) => {
    const { prefix } = createResourceKeys(composition, { group: RBAC_GROUP, resource, namespaced });
    return { view: cache.view(prefix), prefix };
  };
  return {
    roles: view("roles", true),
    roleBindings: view("rolebindings", true),
    clusterRoles: view("clusterroles", false),
    clusterRoleBindings: view("clusterrolebindings", false),
  };
}

/** How admission looks namespaces up: in memory first, in the store before it says that one is absent. */
export function namespaceLookup(
  registry: ResourceRegistry,
  clock: ApiSurfaceDeps["runtime"]["clock"],
): NamespaceLookup {
  const namespaces = requiredResource(registry, "", "Namespace");
  /** Every write in a namespace asks for it, and its annotations may be many. */
  const decoded = new WeakMap<CachedObject, KubeObject>();
  return {
    cached(name) {
      const found = namespaces.view.get(namespaces.keys.of("", name));
      if (found === undefined) return undefined;
      const known = decoded.get(found) ?? found.decode();
      decoded.set(found, known);
      return known;
    },
    async live(name, signal) {
      try {
        const context = createSystemContext({ verb: "get", resource: "namespaces", name }, { clock, signal });
        return (await namespaces.genericStore.get(context, "", name, { resourceVersion: "" })).decode();
      } catch (error) {
        if (isApiError(error, "NotFound")) return undefined;
        throw error;
      }
    },
  };
}

/** A resource that the surface cannot be without. */
export function requiredResource(registry: ResourceRegistry, group: string, kind: string): InstalledResource {
  const resource = registry.findKind(group, kind);
  if (resource === undefined) throw new Error(`${kind} of group ${JSON.stringify(group)} is not served`);
  return resource;
}

/** Where the objects are that tokens speak of is known before the resources themselves are made. */
function createTokensOfAccounts({
  serviceAccountKey,
  composition,
  cache,
  runtime,
  lineages,
}: StandardSurfaceDeps): (TokenRequestOptions & { readonly tokens: ServiceAccountTokens }) | undefined {
  if (serviceAccountKey === undefined) return undefined;
  const subjects = (resource: string): TokenSubjects => {
    const keys = createResourceKeys(composition, { group: "", resource, namespaced: true });
    return { view: cache.view(keys.prefix), keys };
  };
  const [accounts, secrets] = [subjects("serviceaccounts"), subjects("secrets")];
  return {
    accounts,
    secrets,
    tokens: createServiceAccountTokens({ key: serviceAccountKey, accounts, secrets, runtime, lineages }),
  };
}

function startControllers(
  registry: ResourceRegistry,
  deps: StandardSurfaceDeps,
  { tokens, services }: { readonly tokens: ServiceAccountTokens | undefined; readonly services: ServiceTotals },
): readonly Controller[] {
  const { runtime, onControllerError: onError, queueMetrics, rootAuthority } = deps;
  const { customResources: compiled } = deps;
  const port: ControllerPort = { resources: controlledResources(registry), runtime, onError, queueMetrics };
  const namespaces = requiredResource(registry, "", "Namespace");
  const inNamespaces = (queueName: string, object: KeptObject): Controller => {
    const resource = requiredResource(registry, "", object.kind);
    return createNamespaceObjectController(port, { queueName, namespaces, resource, object });
  };
  const definitions = registry.findKind(APIEXTENSIONS_GROUP, "CustomResourceDefinition");
  return [
    // First: the others look after what it serves.
    ...(compiled === undefined || definitions === undefined
      ? []
      : [createCustomResourceController(port, definitions, { registry, compiled, caller: deps.cluster?.webhooks })]),
    ...(tokens === undefined
      ? []
      : [
          inNamespaces("serviceaccount", DEFAULT_SERVICE_ACCOUNT),
          createTokenSecretController(port, {
            secrets: requiredResource(registry, "", "Secret"),
            accounts: requiredResource(registry, "", "ServiceAccount"),
            tokens,
            rootAuthority,
          }),
        ]),
    ...(rootAuthority === undefined
      ? []
      : [inNamespaces("root_ca_cert_publisher", rootCertificateAuthority(rootAuthority))]),
    createNamespaceController(port, namespaces),
    createGarbageCollector(port),
    ...(deps.cluster === undefined
      ? []
      : [
          createQuotaController(port, requiredResource(registry, "", "ResourceQuota"), services),
          createApiServiceController(port, apiServiceOf(registry, deps.cluster)),
          createJobCompletion(port, requiredResource(registry, "batch", "Job"), deps.cluster.completesJobs),
          createPolicyStatusController(
            port,
            requiredResource(registry, ADMISSION_GROUP, "ValidatingAdmissionPolicy"),
            registry,
          ),
        ]),
    createEventExpiry(port, requiredResource(registry, "", "Event")),
    createRoleAggregationController(port, requiredResource(registry, RBAC_GROUP, "ClusterRole")),
  ];
}

const apiServiceOf = (registry: ResourceRegistry, { apiAddress: address }: ClusterOptions): ApiServiceDeps => ({
  resource: (group, kind) => requiredResource(registry, group, kind),
  address,
});

async function bootstrap(
  registry: ResourceRegistry,
  { runtime, namespaces = FIRST_NAMESPACES, cluster }: StandardSurfaceDeps,
  signal: AbortSignal,
): Promise<void> {
  const objects = [
    ...namespaces.map((name): KubeObject => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
    ...BOOTSTRAP_CLUSTER_ROLES,
    ...(cluster === undefined ? [] : CLUSTER_KIND_ROLES),
    ...BOOTSTRAP_CLUSTER_ROLE_BINDINGS,
  ];
  await Promise.all(
    objects.map(async (object) => {
      const group = object.apiVersion === "v1" ? "" : RBAC_GROUP;
      const resource = requiredResource(registry, group, object.kind);
      await createWhenAbsent(resource, object, runtime.clock, signal);
    }),
  );
  // In a namespace, which has to be there.
  for (const { resource, object } of cluster === undefined ? [] : apiServiceObjects(apiServiceOf(registry, cluster))) {
    await createWhenAbsent(resource, object, runtime.clock, signal);
  }
}
