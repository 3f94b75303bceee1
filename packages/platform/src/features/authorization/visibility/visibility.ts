// Which objects of a filtered kind a caller sees: exactly those that it may get. Facts that all objects of a namespace share are computed once.

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { Labels } from "@postern/apimachinery/selectors/label-requirement";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import { combinedPolicyVersion, type PolicyVersion } from "@postern/apiserver/authorization/policy-version";
import type { RbacChange } from "@postern/apiserver/authorization/rbac/rbac-source";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { VisibleObjects } from "@postern/apiserver/registry/visibility";
import type { AccessKeyState } from "../../access-keys/access-key-state.ts";
import {
  aboutInstance,
  type FilteredResource,
  groupOfFiltered,
  isInProject,
  isInstanceResource,
} from "../filtered-resources.ts";
import { isServerItself, keyStanding, provisionerOf } from "../key-standing.ts";
import {
  grantedClusterPermission,
  guestPermission,
  identityPermission,
  instancePermission,
  ownPermission,
  type Permission,
  projectPermission,
  projectRolesOf,
} from "../owner-permissions.ts";
import type { DecisionDeps, Subject } from "../platform-decision.ts";
import { getRequest, managementRequest, type TargetedRequest } from "../request/platform-request.ts";
import { RestrictionIndex } from "../restrictions/restriction-index.ts";
import { inScope } from "../restrictions/scope.ts";
import { AllowedNamesByNamespace, createAllowedNames } from "./allowed-names.ts";

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
  const rightTo = (object: CachedObject, asked: TargetedRequest, user: UserInfo): Permission | undefined => {
    const request = aboutInstance(asked, names);
    const { resource, name } = request;
    if (resource === "projects") {
      return (
        projectPermission(user, request, name, projects.of(object), ownership) ?? guestPermission(user, request, deps)
      );
    }
    if (isInstanceResource(resource)) return instancePermission(user, request, instances.of(object.record), names);
    return ownPermission(user, request, names) ?? grantedClusterPermission(user, request, deps.grantedClusters);
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
      // A caller that saw everything, and still does, is not concerned.
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
      if (!isInProject(resource) || (sawAll && seesAll())) return false;
      if (changes === undefined) return true;
      return changes.some(
        ({ project, memberships }) =>
          memberships.some((membership) => projectRolesOf(user, membership, names).length > 0) &&
          opened.isOutdated(names.projectNamespace(project)),
      );
    };

    const isVisible = (object: CachedObject): boolean => {
      const { namespace, name } = placeOf(object.key, isInProject(resource));
      const request = getRequest(groupOfFiltered(resource, names), resource, namespace, name);
      if (!isOpenTo(key, request, subject, object)) return false;
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
    object: CachedObject,
  ): boolean => {
    if (key?.restrictions === undefined) return true;
    const isProvisioning = provisionerOf(credential) !== undefined;
    // The labels of the object itself, so that an event is filtered by the labels that it shows.
    let labels: Labels | undefined;
    const clusterLabels = {
      of: () => {
        labels ??= instances.of(object.record).labels;
        return labels;
      },
    };
    const context = { names, user, owner: key.owner, isProvisioning, clusterLabels, index };
    return inScope(key.restrictions, managementRequest(request), context).open;
  };

  return {
    policyVersion: combinedPolicyVersion([
      rbac,
      projects,
      ...(deps.grantedClusters === undefined ? [] : [deps.grantedClusters]),
    ]),
    follow,
    visibleTo: (subject, resource) => follow(subject, resource).visible,
  };
}

/** The namespaces of projects that a user sees for its instances in them, for as long as a watch lasts. */
class GuestProjects {
  readonly #find: () => ReadonlySet<string>;
  readonly #instances: Pick<DecisionDeps["instances"], "version">;
  #version: number;
  #known: ReadonlySet<string>;

  constructor(user: UserInfo, deps: DecisionDeps) {
    const { names, instances } = deps;
    this.#find = () => instances.namespacesOf(user, names);
    this.#instances = instances;
    this.#version = instances.version;
    this.#known = this.#find();
  }

  haveChanged(): boolean {
    if (this.#instances.version === this.#version) return false;
    this.#version = this.#instances.version;
    const now = this.#find();
    return now.size !== this.#known.size || [...now].some((namespace) => !this.#known.has(namespace));
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
