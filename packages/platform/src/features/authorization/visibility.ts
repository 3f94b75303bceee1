// Which objects of a filtered kind a caller sees: exactly those that it may get. Facts that all objects of a namespace share are computed once.

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { expiredError } from "@postern/apimachinery/meta/api-error";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import { combinedPolicyVersion, type PolicyVersion } from "@postern/apiserver/authorization/policy-version";
import { createRbacAuthorizer } from "@postern/apiserver/authorization/rbac/rbac-authorizer";
import type { RbacChange } from "@postern/apiserver/authorization/rbac/rbac-source";
import type { OpenNames, RuleIndex } from "@postern/apiserver/authorization/rbac/rule-index";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { ObjectVisibility } from "@postern/apiserver/registry/visibility";
import type { AccessKeyState } from "../access-keys/access-key-state.ts";
import { type FilteredResource, isInstanceResource } from "./filtered-resources.ts";
import {
  clusterRole,
  guestPermission,
  identityPermission,
  instancePermission,
  isGuestOf,
  ownPermission,
  type Permission,
  projectPermission,
  projectRolesOf,
} from "./owner-permissions.ts";
import { type DecisionDeps, isServerItself, keyStanding, provisionerOf, type Subject } from "./platform-authorizer.ts";
import { getRequest, managementRequest, type TargetedRequest } from "./platform-request.ts";
import { RestrictionIndex } from "./restriction-index.ts";
import { inScope } from "./scope.ts";

export type VisibleObjects = "all" | ((object: CachedObject) => boolean);

/** Visible objects of one kind, for as long as a watch lasts. */
export type FollowedVisibility = {
  readonly visible: VisibleObjects;
  /** True when what the caller sees of objects that have not changed may be different from what it was. */
  isOutdated(): boolean;
};

export type Visibility = {
  /** Version of all that it follows from, beside the objects themselves. */
  readonly policyVersion: PolicyVersion;
  /** As of now: for one list. */
  visibleTo(subject: Subject, resource: FilteredResource): VisibleObjects;
  follow(subject: Subject, resource: FilteredResource): FollowedVisibility;
};

const EVERYTHING: FollowedVisibility = { visible: "all", isOutdated: () => false };
const NOTHING: FollowedVisibility = { visible: () => false, isOutdated: () => true };

export function createVisibility(deps: DecisionDeps): Visibility {
  const { names, keys, rbac, projects, instances } = deps;
  const openNames = createAllowedNames(deps);
  const index = new RestrictionIndex();
  const ownership = { names, roles: rbac };

  /** Permissions from one object itself, so that an event is filtered by the state that it shows. */
  const rightTo = (object: CachedObject, request: TargetedRequest, user: UserInfo): Permission | undefined => {
    const { resource, name } = request;
    if (resource === "projects") {
      return (
        projectPermission(user, request, name, projects.of(object), ownership) ?? guestPermission(user, request, deps)
      );
    }
    if (isInstanceResource(resource)) return instancePermission(user, request, instances.of(object), names);
    return ownPermission(user, request, names);
  };

  const follow = (subject: Subject, resource: FilteredResource): FollowedVisibility => {
    const { user } = subject;
    const standing = keyStanding(subject, keys);
    if (!standing.good) return NOTHING;
    if (isServerItself(subject)) return EVERYTHING;
    const { key } = standing;
    const seesAll = (): boolean => openNames(user, resource, "").all;
    const sawAll = seesAll();
    const isUnscoped = key?.restrictions === undefined;
    const opened = new AllowedNamesByNamespace((namespace) => openNames(user, resource, namespace));
    const guests = resource === "projects" && !sawAll ? new GuestProjects(user, deps) : undefined;
    let { version: rolesVersion } = rbac;
    let { version: projectsVersion } = projects;

    /** Whether roles or bindings have changed that concern the user, since this was last asked. */
    const rolesChanged = (): boolean => {
      if (rbac.version === rolesVersion) return false;
      const changes = rbac.changesSince(rolesVersion);
      rolesVersion = rbac.version;
      // Only who saw everything, and still does, need not look closer.
      if (sawAll && seesAll()) return false;
      return changes === undefined || changes.some((change) => concerns(change, user));
    };
    const concerns = (change: RbacChange, { name, groups }: UserInfo): boolean => {
      if (!("role" in change)) return change.users.has(name) || groups.some((group) => change.groups.has(group));
      const { role } = change;
      return rbac.isBoundTo(role, user) || (role.kind === "ClusterRole" && isMemberAs(role.name));
    };
    const isMemberAs = (clusterRole: string): boolean => {
      for (const [, fact] of projects.entries()) {
        if (projectRolesOf(user, fact, names).includes(clusterRole)) return true;
      }
      return false;
    };

    /** The same for memberships, which apply to the namespaces of projects. */
    const membershipsChanged = (): boolean => {
      if (projects.version === projectsVersion) return false;
      const changes = projects.changesSince(projectsVersion);
      projectsVersion = projects.version;
      if (!isInstanceResource(resource) || (sawAll && seesAll())) return false;
      if (changes === undefined) return true;
      return changes.some(
        ({ project, memberships }) =>
          memberships.some((membership) => projectRolesOf(user, membership, names).length > 0) &&
          opened.isOutdated(names.projectNamespace(project)),
      );
    };

    const isVisible = (object: CachedObject): boolean => {
      const { namespace, name } = placeOf(object.key, isInstanceResource(resource));
      const request = getRequest(names.managementGroup, resource, namespace, name);
      if (!isOpenTo(key, request, subject)) return false;
      const { all, some } = opened.in(namespace);
      if (all || some.has(name)) return true;
      return (identityPermission(user, request, deps) ?? rightTo(object, request, user)) !== undefined;
    };

    return {
      visible: sawAll && isUnscoped ? "all" : isVisible,
      isOutdated() {
        const now = keyStanding(subject, keys);
        if (!now.good || !opensTheSame(now.key, key)) return true;
        return rolesChanged() || membershipsChanged() || guests?.haveChanged() === true;
      },
    };
  };

  const isOpenTo = (
    key: AccessKeyState | undefined,
    request: TargetedRequest,
    { user, credential }: Subject,
  ): boolean => {
    if (key?.restrictions === undefined) return true;
    const isProvisioning = provisionerOf(credential) !== undefined;
    const context = { names, user, owner: key.owner, isProvisioning, index };
    return inScope(key.restrictions, managementRequest(request), context).open;
  };

  return {
    policyVersion: combinedPolicyVersion([rbac, projects]),
    follow,
    visibleTo: (subject, resource) => follow(subject, resource).visible,
  };
}

/** The projects that a user sees for its instances in them, for as long as a watch lasts. */
class GuestProjects {
  readonly #find: () => ReadonlySet<string>;
  readonly #instances: Pick<DecisionDeps["instances"], "version">;
  #version: number;
  #known: ReadonlySet<string>;

  constructor(user: UserInfo, deps: DecisionDeps) {
    const { projects, instances } = deps;
    this.#find = () =>
      new Set([...projects.entries()].map(([name]) => name).filter((name) => isGuestOf(user, name, deps)));
    this.#instances = instances;
    this.#version = instances.version;
    this.#known = this.#find();
  }

  haveChanged(): boolean {
    if (this.#instances.version === this.#version) return false;
    this.#version = this.#instances.version;
    const now = this.#find();
    return now.size !== this.#known.size || [...now].some((name) => !this.#known.has(name));
  }
}

/** A key's record also changes with its conditions and values, which changes nothing that it opens. */
const opensTheSame = (now: AccessKeyState | undefined, then: AccessKeyState | undefined): boolean =>
  now?.uid === then?.uid &&
  equalJson(asJson(now?.restrictions), asJson(then?.restrictions)) &&
  equalJson(asJson(now?.owner), asJson(then?.owner));

const asJson = (value: AccessKeyState["restrictions"] | AccessKeyState["owner"]): JsonValue | undefined =>
  // Plain data, of which only undefined is not JSON.
  value as unknown as JsonValue | undefined;

/** Keys end in `/<name>`, below `/<namespace>` for namespaced kinds; neither holds a slash. */
function placeOf(key: string, namespaced: boolean): { readonly namespace: string; readonly name: string } {
  const slash = key.lastIndexOf("/");
  const name = key.slice(slash + 1);
  return namespaced
    ? { namespace: key.slice(key.lastIndexOf("/", slash - 1) + 1, slash), name }
    : { namespace: "", name };
}

// The names of a filtered kind that roles and memberships allow a user to see, computed once per namespace.

type AllowedNames = OpenNames;

/** In a namespace; "" for the whole cluster. */
type FindAllowedNames = (user: UserInfo, resource: FilteredResource, namespace: string) => AllowedNames;

const ALL_NAMES: AllowedNames = { all: true, some: new Set() };

function createAllowedNames({
  names,
  rbac,
  projects,
}: Pick<DecisionDeps, "names" | "rbac" | "projects">): FindAllowedNames {
  const roles = createRbacAuthorizer({ source: rbac });
  return (user, resource, namespace) => {
    // There is no project without a name.
    const memberRoles = projectRolesOf(user, projects.get(names.projectOf(namespace) ?? ""), names);
    const ofMember = memberRoles.flatMap((role) => clusterRole(role, rbac) ?? []);
    const request = getRequest(names.managementGroup, resource, namespace, "");
    return namesAllowedBy(new Set([...roles.rolesOf(user, namespace), ...ofMember]), request);
  };
}

/** Visible names by namespace, computed on first use. */
class AllowedNamesByNamespace {
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

/** The names that roles allow for a request without a name. */
function namesAllowedBy(roles: Iterable<RuleIndex>, request: TargetedRequest): AllowedNames {
  const some = new Set<string>();
  for (const role of roles) {
    const opened = role.namesFor(request);
    if (opened.all) return ALL_NAMES;
    for (const name of opened.some) some.add(name);
  }
  return { all: false, some };
}

const sameNames = (left: AllowedNames, right: AllowedNames): boolean =>
  left.all === right.all && left.some.size === right.some.size && [...left.some].every((name) => right.some.has(name));

// Narrows the lists and watches of a resource to what the caller may get.

const RIGHTS_CHANGED = "what you may see has changed; list again";

/** For the `visibility` of a resource definition. Gets, updates and deletions are decided by name. */
export const filterByVisibility = (visibility: Visibility, resource: FilteredResource): ObjectVisibility => ({
  visibleTo: (context) => visibility.visibleTo(context, resource),

  /** Ends with Expired when the visibility for the caller has changed, so that clients list again. */
  follow(context, end) {
    const { policyVersion } = visibility;
    const decidedAt = policyVersion.version;
    const { visible, isOutdated } = visibility.follow(context, resource);
    let over = false;
    const holds = (): boolean => {
      if (over) return false;
      if (!isOutdated()) return true;
      over = true;
      end(expiredError(RIGHTS_CHANGED));
      return false;
    };
    // Also where nothing happens that would be judged: a client may show what is not for its user any more.
    context.open?.keep({ policyVersion, decidedAt, holds, onLost: () => {} });
    return {
      visible,
      holds,
      [Symbol.dispose]() {
        over = true;
      },
    };
  },
});
