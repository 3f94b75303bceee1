// Which objects of a filtered kind a caller sees: exactly those that it may get. Fast over many objects, since what all objects of
// a namespace have in common is found out once.

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import { isMaster } from "@postern/apiserver/authorization/masters-authorizer";
import type { PolicyRule } from "@postern/apiserver/authorization/rbac/policy-rule";
import { createRbacAuthorizer, policyRulesOf } from "@postern/apiserver/authorization/rbac/rbac-authorizer";
import { ruleAllows } from "@postern/apiserver/authorization/rbac/rule-allows";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { AccessKeyState } from "../access-keys/access-key-state.ts";
import { type DecisionSources, keyStanding, type Subject } from "./decision.ts";
import { type FilteredResource, isInstanceResource } from "./filtered-resources.ts";
import { clusterRoleRules, ownerRight, projectRolesOf } from "./owner-rights.ts";
import { managementRequest, type TargetedRequest } from "./request-target.ts";
import { inScope } from "./scope.ts";

export type VisibleObjects = "all" | ((object: CachedObject) => boolean);

/** What a caller sees of one kind, for as long as a watch lasts. */
export type FollowedVisibility = {
  readonly visible: VisibleObjects;
  /** True when what the caller sees of objects that have not changed may be different from what it was. */
  isOutdated(): boolean;
};

export type Visibility = {
  /** As of now: for one list. */
  visibleTo(subject: Subject, resource: FilteredResource): VisibleObjects;
  follow(subject: Subject, resource: FilteredResource): FollowedVisibility;
};

/** All names, or the ones in the set. */
type Names = "all" | ReadonlySet<string>;
const NO_NAMES: ReadonlySet<string> = new Set();
const NOTHING = (): boolean => false;

export function createVisibility(sources: DecisionSources): Visibility {
  const { names, keys, rbac, projects, instances } = sources;
  const roles = createRbacAuthorizer({ source: rbac });

  const getRequest = (resource: FilteredResource, namespace: string, name: string): TargetedRequest => ({
    isResourceRequest: true,
    verb: "get",
    apiGroup: names.managementGroup,
    resource,
    subresource: "",
    namespace,
    name,
    path: "",
  });

  /** Names that roles and memberships open in a namespace; "" for the whole cluster. */
  const openNames = (user: UserInfo, resource: FilteredResource, namespace: string): Names => {
    const rules = policyRulesOf(roles.rulesFor(user, namespace));
    const project = namespace === "" ? undefined : names.projectOf(namespace);
    const memberRoles = project === undefined ? [] : projectRolesOf(user, projects.get(project), names);
    const memberRules = memberRoles.flatMap((role) => clusterRoleRules(role, rbac));
    return namesOpenedBy([...rules, ...memberRules], getRequest(resource, "", ""));
  };

  const follow = (subject: Subject, resource: FilteredResource): FollowedVisibility => {
    const { user } = subject;
    const standing = keyStanding(subject, keys);
    if (!standing.good) return { visible: NOTHING, isOutdated: () => true };
    const { key } = standing;
    const isServerItself = subject.credential === undefined && isMaster(user);
    const everywhere = isServerItself ? "all" : openNames(user, resource, "");
    const isUnscoped = key?.restrictions === undefined;
    const byNamespace = new Map<string, Names>();
    const { version: rolesVersion } = rbac;
    let projectsVersion = projects.version;

    const openedIn = (namespace: string): Names => {
      if (everywhere === "all" || namespace === "") return everywhere;
      const known = byNamespace.get(namespace);
      if (known !== undefined) return known;
      const opened = openNames(user, resource, namespace);
      byNamespace.set(namespace, opened);
      return opened;
    };

    const mayGet = (request: TargetedRequest, object: CachedObject): boolean => {
      const opened = openedIn(request.namespace);
      if (opened === "all" || opened.has(request.name)) return true;
      // What the object says of itself decides, so that an event is judged by the state that it shows.
      const ownFacts = {
        names,
        roles: rbac,
        projects: resource === "projects" ? { ...NO_PROJECTS, get: () => projects.of(object) } : NO_PROJECTS,
        instances: isInstanceResource(resource) ? { ...NO_INSTANCES, get: () => instances.of(object) } : NO_INSTANCES,
      };
      return ownerRight(user, request, ownFacts) !== undefined;
    };

    const isVisible = (object: CachedObject): boolean => {
      const { namespace, name } = placeOf(object.key, isInstanceResource(resource));
      const request = getRequest(resource, namespace, name);
      return isOpenTo(key, request, user) && mayGet(request, object);
    };

    const membershipsChanged = (): boolean => {
      if (everywhere === "all" || projects.version === projectsVersion) return false;
      projectsVersion = projects.version;
      return [...byNamespace].some(([namespace, opened]) => !sameNames(opened, openNames(user, resource, namespace)));
    };

    return {
      visible: everywhere === "all" && isUnscoped ? "all" : isVisible,
      isOutdated() {
        const now = keyStanding(subject, keys);
        if (!now.good || !opensTheSame(now.key, key)) return true;
        if (isServerItself) return false;
        if (rbac.version === rolesVersion) return membershipsChanged();
        // Roles change seldom; only who saw everything, and still does, need not look again.
        return everywhere !== "all" || openNames(user, resource, "") !== "all";
      },
    };
  };

  const isOpenTo = (key: AccessKeyState | undefined, request: TargetedRequest, user: UserInfo): boolean =>
    key?.restrictions === undefined ||
    inScope(key.restrictions, managementRequest(request), { names, user, owner: key.owner }).open;

  return { follow, visibleTo: (subject, resource) => follow(subject, resource).visible };
}

const NONE: readonly never[] = [];
const NO_PROJECTS = { version: 0, get: () => undefined, of: () => NO_PROJECT, entries: () => NONE };
const NO_PROJECT = { owner: { user: "", team: "" }, members: [] };
const NO_INSTANCES = { version: 0, get: () => undefined, of: () => NO_INSTANCE, entries: () => NONE };
const NO_INSTANCE = { owner: { user: "", team: "" }, access: [], extraAccessRules: [] };

/** A key's record also changes when it is used, which changes nothing that it opens. */
const opensTheSame = (now: AccessKeyState | undefined, then: AccessKeyState | undefined): boolean =>
  now === then ||
  now?.revision === then?.revision ||
  (now !== undefined &&
    then !== undefined &&
    now.uid === then.uid &&
    equalJson(asJson(now.restrictions), asJson(then.restrictions)) &&
    equalJson(asJson(now.owner), asJson(then.owner)));

const asJson = (value: AccessKeyState["restrictions"] | AccessKeyState["owner"]): JsonValue =>
  // Plain data, of which only undefined is not JSON.
  value === undefined ? null : (value as unknown as JsonValue);

/** The names that rules open to a request which leaves its name open. */
function namesOpenedBy(rules: readonly PolicyRule[], request: TargetedRequest): Names {
  const opened = new Set<string>();
  for (const rule of rules) {
    if (!ruleAllows({ ...rule, resourceNames: [] }, request)) continue;
    if (rule.resourceNames.length === 0) return "all";
    for (const name of rule.resourceNames) opened.add(name);
  }
  return opened.size === 0 ? NO_NAMES : opened;
}

function sameNames(left: Names, right: Names): boolean {
  if (left === "all" || right === "all") return left === right;
  return left.size === right.size && [...left].every((name) => right.has(name));
}

/** Keys end in `/<name>`, below `/<namespace>` for namespaced kinds; neither holds a slash. */
function placeOf(key: string, namespaced: boolean): { readonly namespace: string; readonly name: string } {
  const slash = key.lastIndexOf("/");
  const name = key.slice(slash + 1);
  return namespaced
    ? { namespace: key.slice(key.lastIndexOf("/", slash - 1) + 1, slash), name }
    : { namespace: "", name };
}
