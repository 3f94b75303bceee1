// The decision point, with what it decides by: roles and bindings, members of projects, owners of instances.

import { MANAGEMENT } from "@postern/api/platform-names";
import type { RuleResolver } from "@postern/apiserver/authorization/authorizer";
import { createCachedRbacSource } from "@postern/apiserver/authorization/rbac/cached-rbac-source";
import type { RbacSource } from "@postern/apiserver/authorization/rbac/rbac-source";
import type { ObjectVisibility } from "@postern/apiserver/registry/visibility";
import { createEscalationCheck, type EscalationCheck } from "@postern/kubernetes/builtin/rbac/escalation-check";
import { rbacViews } from "@postern/kubernetes/server/standard-surface";
import type { Foundation } from "../../foundation/foundation.ts";
import type { AccessKeys } from "../access-keys/feature.ts";
import { createEffectiveRules } from "./effective-rules/effective-rules.ts";
import type { FilteredResource } from "./filtered-resources.ts";
import type { GrantedAccess } from "./granted-access.ts";
import { createInstancePermissionIndex } from "./members/instance-permissions.ts";
import { createMembershipCheck, type MembershipCheck } from "./members/membership-check.ts";
import { createProjectMembershipIndex } from "./members/project-memberships.ts";
import { createPlatformAuthorizer } from "./platform-authorizer.ts";
import type { AccessOffers, DecisionDeps, PlatformAuthorizer } from "./platform-decision.ts";
import { createProjectSources, type SourceCheckDeps } from "./project-sources.ts";
import { standingEscalationCheck } from "./standing-user.ts";
import { filterByVisibility } from "./visibility/filter-by-visibility.ts";
import { createVisibility } from "./visibility/visibility.ts";

export type Authorization = Disposable & {
  readonly authorizer: PlatformAuthorizer;
  readonly ruleResolver: RuleResolver;
  readonly rbac: RbacSource;
  /** Decisions are made by these. */
  readonly sources: DecisionDeps;
  /** Networks from which projects may be used. */
  readonly sourceCheck: SourceCheckDeps;
  readonly escalation: EscalationCheck;
  readonly checkMembership: MembershipCheck;
  visibilityOf(resource: FilteredResource): ObjectVisibility;
};

export type AuthorizationNeeds = {
  readonly keys: AccessKeys;
  /** Access for a time. */
  readonly granted: GrantedAccess;
  readonly accessOffers: AccessOffers;
};

export function openAuthorization(
  { names, cache, objects, runtime: { scheduler } }: Foundation,
  { keys, granted, accessOffers }: AuthorizationNeeds,
): Authorization {
  const rbac = createCachedRbacSource(rbacViews(MANAGEMENT, cache), scheduler);
  const projects = createProjectMembershipIndex(objects("projects"), scheduler, granted);
  const instances = createInstancePermissionIndex(
    {
      virtualclusterinstances: objects("virtualclusterinstances", { namespaced: true }),
      spaceinstances: objects("spaceinstances", { namespaced: true }),
    },
    scheduler,
    { access: granted, names },
  );
  const sources: DecisionDeps = {
    names,
    keys: keys.index,
    rbac,
    projects,
    instances,
    grantedClusters: granted.clusters,
    accessOffers,
  };
  const authorizer = createPlatformAuthorizer(sources);
  const ruleResolver = createEffectiveRules(sources);
  const escalation = standingEscalationCheck(createEscalationCheck({ authorizer, ruleResolver, source: rbac }), names);
  const visibility = createVisibility(sources);
  const projectSources = createProjectSources(objects("projects"), scheduler);
  const sourceCheck = { names, sources: projectSources, authorizer };
  return {
    authorizer,
    ruleResolver,
    rbac,
    sources,
    sourceCheck,
    escalation,
    checkMembership: createMembershipCheck({ names, escalation }),
    visibilityOf: (resource) => filterByVisibility(visibility, resource, sourceCheck),
    [Symbol.dispose]() {
      projectSources[Symbol.dispose]();
      instances[Symbol.dispose]();
      projects[Symbol.dispose]();
      rbac[Symbol.dispose]();
    },
  };
}
