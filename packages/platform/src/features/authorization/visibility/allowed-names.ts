// The names of a filtered kind that roles and memberships allow a user to see, computed once per namespace.

import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import { createRbacAuthorizer } from "@postern/apiserver/authorization/rbac/rbac-authorizer";
import type { OpenNames, RuleIndex } from "@postern/apiserver/authorization/rbac/rule-index";
import { aboutInstance, type FilteredResource, groupOfFiltered } from "../filtered-resources.ts";
import { clusterRole, projectRolesOf } from "../owner-permissions.ts";
import type { DecisionDeps } from "../platform-decision.ts";
import { getRequest, type TargetedRequest } from "../request/platform-request.ts";

type AllowedNames = OpenNames;

/** In a namespace; "" for the whole cluster. */
type FindAllowedNames = (user: UserInfo, resource: FilteredResource, namespace: string) => AllowedNames;

const ALL_NAMES: AllowedNames = { all: true, some: new Set() };

export function createAllowedNames({
  names,
  rbac,
  projects,
}: Pick<DecisionDeps, "names" | "rbac" | "projects">): FindAllowedNames {
  const roles = createRbacAuthorizer({ source: rbac });
  return (user, resource, namespace) => {
    // There is no project without a name.
    const memberRoles = projectRolesOf(user, projects.get(names.projectOf(namespace) ?? ""), names);
    const ofMember = memberRoles.flatMap((role) => clusterRole(role, rbac) ?? []);
    const request = getRequest(groupOfFiltered(resource, names), resource, namespace, "");
    const requests = new Set([request, aboutInstance(request, names)]);
    return namesAllowedBy(new Set([...roles.rolesOf(user, namespace), ...ofMember]), requests);
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

/** The names that roles allow for one of the requests, which have no name. */
function namesAllowedBy(roles: Iterable<RuleIndex>, requests: ReadonlySet<TargetedRequest>): AllowedNames {
  const some = new Set<string>();
  for (const role of roles) {
    for (const request of requests) {
      const opened = role.namesFor(request);
      if (opened.all) return ALL_NAMES;
      for (const name of opened.some) some.add(name);
    }
  }
  return { all: false, some };
}

const sameNames = (left: AllowedNames, right: AllowedNames): boolean =>
  left.all === right.all && left.some.size === right.some.size && [...left.some].every((name) => right.some.has(name));
