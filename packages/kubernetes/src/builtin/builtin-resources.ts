// Every built-in kind, made with what it needs.

import type { TokenAuthenticator } from "@postern/apiserver/authentication/token-authenticator";
import type { Authorizer, RuleResolver } from "@postern/apiserver/authorization/authorizer";
import type { RbacSource } from "@postern/apiserver/authorization/rbac/rbac-source";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { selfSubjectReviews } from "./authentication/self-subject-reviews.ts";
import type { TokenRequestOptions } from "./authentication/token-requests.ts";
import { tokenReviews } from "./authentication/token-reviews.ts";
import { selfSubjectRulesReviews } from "./authorization/self-subject-rules-reviews.ts";
import {
  localSubjectAccessReviews,
  selfSubjectAccessReviews,
  subjectAccessReviews,
} from "./authorization/subject-access-reviews.ts";
import { certificateSigningRequests } from "./certificates/certificate-signing-requests.ts";
import { leases } from "./coordination/leases.ts";
import { configMaps } from "./core/config-maps.ts";
import { events } from "./core/events.ts";
import { namespaces } from "./core/namespaces.ts";
import { secrets } from "./core/secrets.ts";
import { serviceAccounts } from "./core/service-accounts.ts";
import { services } from "./core/services.ts";
import { newEvents } from "./events/new-events.ts";
import { clusterRoles } from "./rbac/cluster-roles.ts";
import { createEscalationCheck } from "./rbac/escalation-check.ts";
import { clusterRoleBindings, roleBindings } from "./rbac/role-bindings.ts";
import { roles } from "./rbac/roles.ts";

export type BuiltinDeps = {
  readonly authorizer: Authorizer;
  readonly ruleResolver: RuleResolver;
  readonly rbacSource: Pick<RbacSource, "rulesOf">;
  readonly tokens: TokenAuthenticator;
  /** The audiences of this server. */
  readonly audiences: readonly string[];
  /** Absent: ServiceAccounts get no tokens. */
  readonly serviceAccountTokens?: TokenRequestOptions | undefined;
  readonly customResourceDefinitions: ResourceDefinition;
  /** The kinds of a whole cluster. Default: Services alone, as an empty list. */
  readonly clusterKinds?: readonly ResourceDefinition[] | undefined;
};

/** Group by group. A server that serves fewer kinds leaves some out, or makes them by their own factories. */
export function builtinResources({
  authorizer,
  ruleResolver,
  rbacSource,
  tokens,
  audiences,
  serviceAccountTokens,
  customResourceDefinitions,
  clusterKinds = [services],
}: BuiltinDeps): readonly ResourceDefinition[] {
  const escalation = createEscalationCheck({ authorizer, ruleResolver, source: rbacSource });
  return [
    namespaces,
    configMaps,
    secrets,
    serviceAccounts(serviceAccountTokens),
    ...clusterKinds,
    events,
    newEvents,
    leases,
    roles(escalation),
    roleBindings(escalation),
    clusterRoles(escalation),
    clusterRoleBindings(escalation),
    certificateSigningRequests({ authorizer }),
    customResourceDefinitions,
    tokenReviews({ tokens, audiences }),
    selfSubjectReviews,
    subjectAccessReviews({ authorizer }),
    localSubjectAccessReviews({ authorizer }),
    selfSubjectAccessReviews({ authorizer }),
    selfSubjectRulesReviews({ ruleResolver }),
  ];
}
