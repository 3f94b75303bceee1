// An API surface of a bare Kubernetes cluster: built-in kinds, RBAC, namespaces, and their controllers.

import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { createNamespaceLifecycle, type NamespaceLookup } from "@postern/apiserver/admission/namespace-lifecycle";
import { createOwnerReferencesAdmission } from "@postern/apiserver/admission/owner-references";
import {
  type TokenAuthenticator,
  unionTokenAuthenticator,
} from "@postern/apiserver/authentication/token-authenticator";
import {
  type Authorizer,
  type RuleResolver,
  unionAuthorizer,
  unionRuleResolver,
} from "@postern/apiserver/authorization/authorizer";
import { mastersAuthorizer } from "@postern/apiserver/authorization/masters-authorizer";
import { createCachedRbacSource, type RbacViews } from "@postern/apiserver/authorization/rbac/cached-rbac-source";
import { RBAC_GROUP } from "@postern/apiserver/authorization/rbac/policy-rule";
import { createRbacAuthorizer } from "@postern/apiserver/authorization/rbac/rbac-authorizer";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createResourceKeys } from "@postern/apiserver/cache/resource-keys";
import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import { createSystemContext } from "@postern/apiserver/context/system-context";
import { createWhenAbsent } from "@postern/apiserver/controllers/controlled-objects";
import type { AdmissionPlugin } from "@postern/apiserver/registry/admission-plugin";
import type { ResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import { allInTurns } from "@postern/apiserver/runtime/in-slices";
import { newUid } from "@postern/apiserver/runtime/new-uid";
import { type ApiSurface, type ApiSurfaceDeps, createApiSurface } from "@postern/apiserver/server/api-surface";
import type { TokenRequestOptions } from "../builtin/authentication/token-requests.ts";
import { builtinResources } from "../builtin/builtin-resources.ts";
import { clusterKinds } from "../builtin/cluster-kinds.ts";
import { createDefaultClass, INGRESS_CLASS, STORAGE_CLASS } from "../builtin/default-classes.ts";
import { publishedDescriptions } from "../builtin/published/published-descriptions.ts";
import { createQuotaAdmission } from "../builtin/quotas/quota-admission.ts";
import { BOOTSTRAP_CLUSTER_ROLE_BINDINGS } from "../builtin/rbac/bootstrap-policy.ts";
import { createServiceAddresses, type ServiceAddresses } from "../builtin/services/service-addresses.ts";
import { createServiceTotals, type ServiceTotals } from "../builtin/services/service-totals.ts";
import { createClaimGrowthAdmission } from "../builtin/workloads/admission/claim-growth.ts";
import { VOLUME_PROTECTION_ADMISSION } from "../builtin/workloads/admission/volume-protection.ts";
import { createNoNodesAdmission } from "../builtin/workloads/no-nodes.ts";
import { createPodSecurityAdmission } from "../builtin/workloads/pod-security/pod-security-admission.ts";
import { apiServiceObjects } from "../controllers/api-service/api-service-controller.ts";
import { customResourceDefinitions } from "../custom-resources/custom-resource-definitions.ts";
import { createDefinitionLimit } from "../custom-resources/definition-limit.ts";
import { createAdmissionLimit } from "../policies/admission-limit.ts";
import { createEventAnnotations } from "../policies/annotate-event.ts";
import {
  mutatingAdmissionPolicies,
  mutatingAdmissionPolicyBindings,
} from "../policies/mutating/mutating-policy-kinds.ts";
import { createMutationAdmission } from "../policies/mutating/mutation-admission.ts";
import { createParamsAccess } from "../policies/params-access.ts";
import { createPolicyAdmission } from "../policies/policy-admission.ts";
import { validatingAdmissionPolicies, validatingAdmissionPolicyBindings } from "../policies/policy-kinds.ts";
import { ADMISSION_GROUP } from "../policies/validating-admission-policy.ts";
import { createWebhookAdmission } from "../policies/webhooks/webhook-admission.ts";
import { mutatingWebhookConfigurations, validatingWebhookConfigurations } from "../policies/webhooks/webhook-kinds.ts";
import { SERVICE_ACCOUNT_ISSUER } from "../service-accounts/bound-token.ts";
import { createServiceAccountTokens, type ServiceAccountTokens } from "../service-accounts/service-account-tokens.ts";
import type { TokenObjects, TokenSubjects } from "../service-accounts/token-subjects.ts";
import { createServiceNetwork } from "./default-service-network.ts";
import { firstRoles } from "./first-roles.ts";
import { podAdmission } from "./pod-admission.ts";
import { requiredResource } from "./required-resource.ts";
import type { ClusterOptions, StandardSurfaceDeps } from "./standard-surface-options.ts";
import { apiServiceOf, startControllers } from "./start-controllers.ts";

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
            ...clusterKinds(
              addressesOfServices(services, deps),
              {
                pods: () => requiredResource(surface.registry, "", "Pod").genericStore,
                budgets: () => requiredResource(surface.registry, "policy", "PodDisruptionBudget"),
                clock: runtime.clock,
              },
              {
                authorizer,
                findNamespace(name, { signal }) {
                  const namespaces = namespaceLookup(surface.registry, runtime.clock);
                  return Promise.resolve(namespaces.cached(name) ?? namespaces.live(name, signal));
                },
              },
            ),
            validatingAdmissionPolicies,
            validatingAdmissionPolicyBindings,
            mutatingAdmissionPolicies,
            mutatingAdmissionPolicyBindings,
            validatingWebhookConfigurations,
            mutatingWebhookConfigurations,
          ],
        }),
  });
  const surface = createApiSurface({
    ...deps,
    descriptions: publishedDescriptions,
    authorizer,
    resources: [...builtin, ...(deps.resources ?? [])],
    admission: (registry) => [
      createNamespaceLifecycle({ namespaces: namespaceLookup(registry, runtime.clock) }),
      createOwnerReferencesAdmission({
        authorizer,
        findKind: (group, kind) => registry.findKind(group, kind)?.definition,
        finalizersSuffice: true,
      }),
      createDefinitionLimit(registry),
      ...(deps.cluster === undefined
        ? []
        : clusterAdmission(registry, deps.cluster, {
            ...deps,
            authorizer,
            services,
            hasTokens: serviceAccountTokens !== undefined,
          })),
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
  { keepsWorkloads, webhooks, webhookMetrics, auditDomain }: ClusterOptions,
  {
    runtime: { clock, random, scheduler },
    authorizer,
    services,
    hasTokens,
  }: Pick<StandardSurfaceDeps, "runtime"> & {
    readonly authorizer: Authorizer;
    readonly services: ServiceTotals;
    readonly hasTokens: boolean;
  },
): readonly AdmissionPlugin[] => [
  createNoNodesAdmission(keepsWorkloads),
  ...podAdmission(registry, { random, scheduler }, hasTokens),
  ...VOLUME_PROTECTION_ADMISSION,
  createClaimGrowthAdmission(requiredResource(registry, "storage.k8s.io", "StorageClass")),
  ...createPodSecurityAdmission({
    namespaces: requiredResource(registry, "", "Namespace"),
    pods: requiredResource(registry, "", "Pod"),
  }),
  createDefaultClass(STORAGE_CLASS, requiredResource(registry, "storage.k8s.io", "StorageClass")),
  createDefaultClass(INGRESS_CLASS, requiredResource(registry, "networking.k8s.io", "IngressClass")),
  createAdmissionLimit(registry),
  createParamsAccess({
    validatingPolicies: requiredResource(registry, ADMISSION_GROUP, "ValidatingAdmissionPolicy"),
    mutatingPolicies: requiredResource(registry, ADMISSION_GROUP, "MutatingAdmissionPolicy"),
    registry,
    authorizer,
  }),
  createMutationAdmission({
    authorizer,
    policies: requiredResource(registry, ADMISSION_GROUP, "MutatingAdmissionPolicy"),
    bindings: requiredResource(registry, ADMISSION_GROUP, "MutatingAdmissionPolicyBinding"),
    registry,
    namespaces: namespaceLookup(registry, clock),
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
    annotateEvent: createEventAnnotations(auditDomain),
    newUid: () => newUid(random),
    elapsed: () => clock.elapsed(),
    metrics: webhookMetrics,
  }),
  createPolicyAdmission({
    authorizer,
    annotateEvent: createEventAnnotations(auditDomain),
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

/** The views of roles and bindings for RBAC, known before the resources themselves exist. */
export function rbacViews(composition: string, cache: WatchCache): RbacViews {
  const view = (resource: string, scope: { readonly namespaced: boolean }) => {
    const { prefix } = createResourceKeys(composition, { group: RBAC_GROUP, resource, ...scope });
    return { view: cache.view(prefix), prefix };
  };
  return {
    roles: view("roles", { namespaced: true }),
    roleBindings: view("rolebindings", { namespaced: true }),
    clusterRoles: view("clusterroles", { namespaced: false }),
    clusterRoleBindings: view("clusterrolebindings", { namespaced: false }),
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

/** The views of the objects that tokens name, known before the resources themselves exist. */
function createTokensOfAccounts({
  serviceAccountKeys: keys,
  composition,
  cache,
  runtime,
  lineages,
}: StandardSurfaceDeps): (TokenRequestOptions & { readonly tokens: ServiceAccountTokens }) | undefined {
  if (keys === undefined) return undefined;
  const subjects = (resource: string, namespaced = true): TokenSubjects => {
    const keys = createResourceKeys(composition, { group: "", resource, namespaced });
    return { view: cache.view(keys.prefix), keys };
  };
  const objects: TokenObjects = {
    accounts: subjects("serviceaccounts"),
    bound: { pod: subjects("pods"), secret: subjects("secrets"), node: subjects("nodes", false) },
  };
  return { objects, tokens: createServiceAccountTokens({ keys, objects, runtime, lineages }) };
}

async function bootstrap(
  registry: ResourceRegistry,
  { runtime, namespaces = FIRST_NAMESPACES, cluster }: StandardSurfaceDeps,
  signal: AbortSignal,
): Promise<void> {
  const objects = [
    ...namespaces.map((name): KubeObject => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } })),
    ...firstRoles(cluster !== undefined),
    ...BOOTSTRAP_CLUSTER_ROLE_BINDINGS,
  ];
  const create = async (object: KubeObject): Promise<void> => {
    const group = object.apiVersion === "v1" ? "" : RBAC_GROUP;
    const resource = requiredResource(registry, group, object.kind);
    await createWhenAbsent(resource, object, runtime.clock, signal);
  };
  const isAggregated = (object: KubeObject): boolean => object["aggregationRule"] !== undefined;
  const others = objects.filter((object) => !isAggregated(object));
  // Several clusters may start at the same time.
  await allInTurns(others, create, runtime.clock);
  // The controller, which runs already, takes from a role the rules of roles that are not there yet. The widest role comes first in the list.
  for (const object of objects.filter(isAggregated).toReversed()) await create(object);
  if (cluster !== undefined) await createServiceNetwork(registry, runtime.clock, signal);
  // In a namespace, which has to be there.
  for (const { resource, object } of cluster === undefined ? [] : apiServiceObjects(apiServiceOf(registry, cluster))) {
    await createWhenAbsent(resource, object, runtime.clock, signal);
  }
}
