// All resources of the management API, in the order of discovery. A new resource is one line here.

import type { PlatformNames } from "@postern/api/platform-names";
import type { Authorizer, RuleResolver } from "@postern/apiserver/authorization/authorizer";
import type { RbacSource } from "@postern/apiserver/authorization/rbac/rbac-source";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { ObjectVisibility } from "@postern/apiserver/registry/visibility";
import { selfSubjectReviews } from "@postern/kubernetes/builtin/authentication/self-subject-reviews";
import { type TokenReviewDeps, tokenReviews } from "@postern/kubernetes/builtin/authentication/token-reviews";
import { selfSubjectRulesReviews } from "@postern/kubernetes/builtin/authorization/self-subject-rules-reviews";
import {
  localSubjectAccessReviews,
  selfSubjectAccessReviews,
  subjectAccessReviews,
} from "@postern/kubernetes/builtin/authorization/subject-access-reviews";
import { leases } from "@postern/kubernetes/builtin/coordination/leases";
import { events } from "@postern/kubernetes/builtin/core/events";
import { secrets } from "@postern/kubernetes/builtin/core/secrets";
import { services } from "@postern/kubernetes/builtin/core/services";
import { newEvents } from "@postern/kubernetes/builtin/events/new-events";
import { clusterRoles } from "@postern/kubernetes/builtin/rbac/cluster-roles";
import { createEscalationCheck } from "@postern/kubernetes/builtin/rbac/escalation-check";
import { clusterRoleBindings, roleBindings } from "@postern/kubernetes/builtin/rbac/role-bindings";
import { roles } from "@postern/kubernetes/builtin/rbac/roles";
import type { CompiledDefinitions } from "@postern/kubernetes/custom-resources/compiled-definitions";
import { noCustomResourceDefinitions } from "@postern/kubernetes/custom-resources/no-custom-resource-definitions";
import type { AccessKeyAuthenticator } from "../../features/access-keys/access-key-authenticator.ts";
import type { AccessKeySecrets } from "../../features/access-keys/access-key-secrets.ts";
import type { AccessKeyState } from "../../features/access-keys/access-key-state.ts";
import type { GuessRateLimit } from "../../features/access-keys/guess-rate-limit.ts";
import type { RecordKeyEvent } from "../../features/access-keys/key-events.ts";
import { accessKeys } from "../../features/access-keys/kinds/access-keys/index.ts";
import { credentialsOfInstance } from "../../features/access-keys/kinds/credentials-of-owner.ts";
import {
  type CredentialsDeps,
  credentialsSubresource,
} from "../../features/access-keys/kinds/credentials-subresource.ts";
import { type OwnedAccessKeysDeps, ownedAccessKeys } from "../../features/access-keys/kinds/owned-access-keys/index.ts";
import type { LastActivity } from "../../features/access-keys/last-activity.ts";
import type { MintAccessKey } from "../../features/access-keys/mint-access-key.ts";
import type { FilteredResource } from "../../features/authorization/filtered-resources.ts";
import { createMembershipCheck } from "../../features/authorization/membership-check.ts";
import type { PlatformContext } from "../../features/authorization/platform-context.ts";
import type { ReviewGuard } from "../../features/authorization/review-guard.ts";
import type { CertificateLedger } from "../../features/certificates/certificate-ledger.ts";
import { type SelvesDeps, selves } from "../../features/directory/kinds/selves/index.ts";
import { teams } from "../../features/directory/kinds/teams/index.ts";
import { type UsersDeps, users } from "../../features/directory/kinds/users/index.ts";
import { projectSecrets } from "../../features/projects/kinds/project-secrets/index.ts";
import { type ProjectsDeps, projects } from "../../features/projects/kinds/projects/index.ts";
import { sharedSecrets } from "../../features/projects/kinds/shared-secrets/index.ts";
import { managementNamespaces } from "../../features/projects/project-namespace.ts";
import { identityProviders } from "../../features/sign-in/kinds/identity-providers/index.ts";
import { clusterTrustRules } from "../../features/trust/kinds/cluster-trust-rules/index.ts";
import { type TrustRuleResourceDeps, trustRules } from "../../features/trust/kinds/trust-rules/index.ts";
import type { BackendRegistry } from "../../features/virtual-clusters/backend-registry.ts";
import type { ControlPlaneKeys } from "../../features/virtual-clusters/control-plane-keys.ts";
import { clusters } from "../../features/virtual-clusters/kinds/clusters/index.ts";
import { spaceInstances } from "../../features/virtual-clusters/kinds/space-instances/index.ts";
import {
  type VirtualClusterInstancesDeps,
  virtualClusterInstances,
} from "../../features/virtual-clusters/kinds/virtual-cluster-instances/index.ts";
import { virtualClusterTemplates } from "../../features/virtual-clusters/kinds/virtual-cluster-templates/index.ts";
import type { PlatformEndpoint } from "../../features/virtual-clusters/platform-endpoint.ts";
import { withTextLimits } from "../../foundation/kinds/text-limits.ts";
import type { ObjectLookup } from "../../foundation/lookup/object-lookup.ts";
import { managementDefinitions } from "./custom-resource-definitions.ts";

export type PlatformResourceDeps = PlatformContext & {
  readonly authorizer: Authorizer;
  readonly ruleResolver: RuleResolver;
  readonly rbac: RbacSource;
  readonly authenticator: AccessKeyAuthenticator;
  readonly secrets: AccessKeySecrets;
  readonly valueClaims: OwnedAccessKeysDeps["valueClaims"];
  readonly comparisons: GuessRateLimit;
  readonly recordEvent: RecordKeyEvent;
  readonly secretResource: OwnedAccessKeysDeps["secretResource"];
  readonly namespaceResource: OwnedAccessKeysDeps["namespaceResource"];
  readonly onKubeconfigIssued: NonNullable<VirtualClusterInstancesDeps["onKubeconfigIssued"]>;
  readonly lookup: ObjectLookup;
  readonly backends: BackendRegistry;
  readonly reached: NonNullable<VirtualClusterInstancesDeps["reached"]>;
  readonly controlPlaneKeys: ControlPlaneKeys;
  readonly endpoint: PlatformEndpoint;
  readonly mintAccessKey: MintAccessKey;
  readonly insideIdentity: VirtualClusterInstancesDeps["insideIdentity"];
  /** The installed `ownedaccesskeys`. */
  readonly accessKeys: SelvesDeps["accessKeys"];
  readonly certificates: CertificateLedger;
  readonly disableKey: CredentialsDeps["disableKey"];
  readonly allKeys: () => Iterable<AccessKeyState>;
  readonly ownKeys: OwnedAccessKeysDeps["ownKeys"];
  readonly countedRecords: OwnedAccessKeysDeps["countedRecords"];
  readonly sealedRecords: OwnedAccessKeysDeps["sealedRecords"];
  readonly keyQuota: OwnedAccessKeysDeps["keyQuota"];
  readonly budgets: UsersDeps["budgets"] & ProjectsDeps["budgets"];
  readonly clusterUsage: VirtualClusterInstancesDeps["clusterUsage"];
  readonly grants: OwnedAccessKeysDeps["grants"];
  readonly trustRules: TrustRuleResourceDeps["trustRules"];
  readonly verifier: TrustRuleResourceDeps["verifier"];
  readonly createNamespace: ProjectsDeps["createNamespace"];
  readonly decisions: OwnedAccessKeysDeps["decisions"];
  /** Whether a cluster may learn the owner of a token. */
  readonly acceptsReview: ReviewGuard;
  readonly usage: OwnedAccessKeysDeps["usage"];
  readonly activity: LastActivity;
  readonly visibilityOf: (resource: FilteredResource) => ObjectVisibility;
  /** Where CustomResourceDefinitions are accepted: what they compile to, and how many there are. */
  readonly customResources?: { readonly compiled: CompiledDefinitions; readonly count: () => number } | undefined;
};

export function platformResources(deps: PlatformResourceDeps): readonly ResourceDefinition[] {
  const {
    authorizer,
    authenticator,
    ruleResolver,
    rbac,
    visibilityOf,
    controlPlaneKeys,
    configuration,
    acceptsReview,
  } = deps;
  const { identityOf } = authenticator;
  const limited: TokenReviewDeps["limited"] = (asker, token, question) =>
    deps.comparisons.ask(asker, token, question, (answer) => answer !== undefined);
  const escalation = createEscalationCheck({ authorizer, ruleResolver, source: rbac });
  const checkMembership = createMembershipCheck({ names: deps.names, escalation });
  const proxyFallback = configuration.kubeConfig.proxyFallback;
  const credentials = credentialsSubresource((context) => credentialsOfInstance(context, deps), deps);
  // biome-ignore format: a table
  const definitions = [
    ownedAccessKeys({ ...deps, identityOf }),
    users({ ...deps, visibility: visibilityOf("users") }),
    teams({ ...deps, visibility: visibilityOf("teams") }),
    projects({ ...deps, checkMembership, visibility: visibilityOf("projects") }),
    clusters({ ...deps, keys: controlPlaneKeys, visibility: visibilityOf("clusters") }),
    virtualClusterInstances({ ...deps, proxyFallback, credentials, visibility: visibilityOf("virtualclusterinstances") }),
    virtualClusterTemplates(deps),
    spaceInstances({ ...deps, visibility: visibilityOf("spaceinstances") }),
    selves({ ...deps, identityOf }),
    ownSelfSubjectAccessReviews(deps),
    accessKeys(deps),
    projectSecrets(deps),
    sharedSecrets(deps),
    clusterTrustRules({ ...deps, checkMembership }),
    trustRules({ ...deps, checkMembership }),
    identityProviders(deps),

    managementNamespaces(deps),
    secrets,
    services,
    events,
    newEvents,
    leases,
    roles(escalation),
    roleBindings(escalation),
    clusterRoles(escalation),
    clusterRoleBindings(escalation),
    tokenReviews({ tokens: authenticator, audiences: [], accepts: acceptsReview, limited }),
    selfSubjectReviews,
    subjectAccessReviews({ authorizer, showsReasons: (asker) => mayListBindings(asker, authorizer) }),
    localSubjectAccessReviews({ authorizer }),
    selfSubjectAccessReviews({ authorizer }),
    selfSubjectRulesReviews({ ruleResolver }),
  ];
  // Limits that upstream does not have are left out.
  const ours = [deps.names.managementGroup, deps.names.storageGroup];
  const resources = definitions.map((definition) =>
    ours.includes(definition.group) ? withTextLimits(definition) : definition,
  );
  return [...resources, definitionsOfOthers(deps, definitions)];
}

/** CustomResourceDefinitions, or the empty list that clients read where there are none. */
function definitionsOfOthers(
  { customResources }: PlatformResourceDeps,
  own: readonly ResourceDefinition[],
): ResourceDefinition {
  if (customResources === undefined) return noCustomResourceDefinitions;
  const groups = new Set([...own.map(({ group }) => group), noCustomResourceDefinitions.group]);
  return managementDefinitions(customResources.compiled, groups, customResources.count);
}

/** In all projects: those are what the reasons of access reviews name. A control plane asks about users of every project, and may not. */
async function mayListBindings({ user, credential }: RequestContext, authorizer: Authorizer): Promise<boolean> {
  const list = { verb: "list", apiGroup: "rbac.authorization.k8s.io", apiVersion: "v1", isResourceRequest: true };
  const everywhere = { ...list, user, credential, subresource: "", namespace: "", name: "", path: "" };
  const decisions = await Promise.all(
    ["rolebindings", "clusterrolebindings"].map((resource) => authorizer.authorize({ ...everywhere, resource })),
  );
  return decisions.every(({ verdict }) => verdict === "allow");
}

const ownSelfSubjectAccessReviews = (dependencies: {
  readonly names: Pick<PlatformNames, "managementGroup">;
  readonly authorizer: Authorizer;
}): ResourceDefinition => ({
  ...selfSubjectAccessReviews(dependencies),
  group: dependencies.names.managementGroup,
});
