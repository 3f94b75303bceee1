// The names of a filtered kind that roles and memberships allow a user to see, computed once per namespace.

import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { PolicyRule } from "@postern/apiserver/authorization/rbac/policy-rule";
import { createRbacAuthorizer, policyRulesOf } from "@postern/apiserver/authorization/rbac/rbac-authorizer";
import { ruleAllows } from "@postern/apiserver/authorization/rbac/rule-allows";
import type { DecisionDeps } from "./decision.ts";
import type { FilteredResource } from "./filtered-resources.ts";
import { clusterRoleRules, projectRolesOf } from "./owner-rights.ts";
import { getRequest, type TargetedRequest } from "./platform-request.ts";

export type AllowedNames = { readonly all: boolean; readonly some: ReadonlySet<string> };

/** In a namespace; "" for the whole cluster. */
export type FindAllowedNames = (user: UserInfo, resource: FilteredResource, namespace: string) => AllowedNames;

const ALL_NAMES: AllowedNames = { all: true, some: new Set() };

export function createAllowedNames({
  names,
  rbac,
  projects,
}: Pick<DecisionDeps, "names" | "rbac" | "projects">): FindAllowedNames {
  const roles = createRbacAuthorizer({ source: rbac });
  return (user, resource, namespace) => {
    const rules = policyRulesOf(roles.rulesFor(user, namespace));
    // There is no project without a name.
    const memberRoles = projectRolesOf(user, projects.get(names.projectOf(namespace) ?? ""), names);
    const memberRules = memberRoles.flatMap((role) => clusterRoleRules(role, rbac));
    const request = getRequest(names.managementGroup, resource, namespace, "");
    return namesAllowedBy([...rules, ...memberRules], request);
  };
}

/** Visible names by namespace, computed on first use. */
export class AllowedNamesByNamespace {
  readonly #find: (namespace: string) => AllowedNames;
  readonly #byNamespace = new Map<string, AllowedNames>();

  constructor(find: (namespace: string) => AllowedNames) {
    this.#find = find;
  }

  in(namespace: string): AllowedNames {
    const known = this.#byNamespace.get(namespace);
    if (known !== undefined) return known;
    const found = this.#find(namespace);
    this.#byNamespace.set(namespace, found);
    return found;
  }

  /** Whether the visible names of a namespace have changed. A namespace that was not used here may have been used by an earlier list. */
  isOutdated(namespace: string): boolean {
    const known = this.#byNamespace.get(namespace);
    return known === undefined || !sameNames(known, this.#find(namespace));
  }
}

/** The names that rules allow for a request without a name. */
function namesAllowedBy(rules: readonly PolicyRule[], request: TargetedRequest): AllowedNames {
  const opened = rules.filter((rule) => ruleAllows({ ...rule, resourceNames: [] }, request));
  if (opened.some(({ resourceNames }) => resourceNames.length === 0)) return ALL_NAMES;
  return { all: false, some: new Set(opened.flatMap(({ resourceNames }) => resourceNames)) };
}

const sameNames = (left: AllowedNames, right: AllowedNames): boolean =>
  left.all === right.all && left.some.size === right.some.size && [...left.some].every((name) => right.some.has(name));
