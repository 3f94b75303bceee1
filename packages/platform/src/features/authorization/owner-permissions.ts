// Permissions of the owner of a credential beyond roles and bindings: on itself, in its projects, and on its instances.

import type { PlatformNames } from "@postern/api/platform-names";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import { isImpersonationVerb } from "@postern/apiserver/authorization/authorizer";
import { type PolicyRule, RBAC_GROUP } from "@postern/apiserver/authorization/rbac/policy-rule";
import type { RbacSource } from "@postern/apiserver/authorization/rbac/rbac-source";
import type { RuleIndex } from "@postern/apiserver/authorization/rbac/rule-index";
import { PROJECT_ADMIN } from "./built-in-roles.ts";
import { isInTeam, isOwner, isUser, parseClusterIdentity, parseVirtualClusterIdentity } from "./caller.ts";
import { isInstanceResource } from "./filtered-resources.ts";
import type { GrantedAccess } from "./granted-access.ts";
import type { IndexedPermissions, InstanceAccess, InstancePermissionIndex } from "./members/instance-permissions.ts";
import type { IndexedMembership, ProjectMembershipIndex } from "./members/project-memberships.ts";
import { asksAboutOthers } from "./request/asks-about-others.ts";
import type { TargetedRequest } from "./request/platform-request.ts";
import { projectRoleOf } from "./role-aliases.ts";

export type PermissionCode =
  | "own-user"
  | "own-team"
  | "project-member"
  | "instance-owner"
  | "instance-access"
  | "access-request"
  | "virtual-cluster-identity"
  | "cluster-identity";

/** `reason` is for people: it names the object that gives the right. */
export type Permission = {
  readonly code: PermissionCode;
  readonly reason: string;
  /** Name of the access request that gives the right for a time. */
  readonly accessRequest?: string;
};

export type OwnerPermissionDeps = {
  readonly names: PlatformNames;
  readonly roles: Pick<RbacSource, "rulesOf">;
  readonly projects: ProjectMembershipIndex;
  readonly instances: InstancePermissionIndex;
  /** Connected clusters that are granted for a time. Absent: none. */
  readonly grantedClusters?: GrantedAccess["clusters"];
};

const MAIN_VERBS: ReadonlySet<string> = new Set(["get", "list", "watch", "update", "patch", "delete", "use"]);

/** The permission that allows a request to the management API; undefined if only roles may allow it. */
export function ownerPermission(
  user: UserInfo,
  request: TargetedRequest,
  deps: OwnerPermissionDeps,
): Permission | undefined {
  if (!request.isResourceRequest) return undefined;
  const { names, instances, projects } = deps;
  const identity = identityPermission(user, request, deps);
  if (identity !== undefined) return identity;

  const project = projectOfRequest(request, names);
  if (project !== undefined) {
    const permission = projectPermission(user, request, project, projects.get(project), deps);
    if (permission !== undefined) return permission;
    const guest = guestPermission(user, request, deps);
    if (guest !== undefined) return guest;
  }
  if (request.apiGroup !== names.managementGroup || request.name === "") return undefined;
  const { resource, namespace, name } = request;
  if (isInstanceResource(resource))
    return instancePermission(user, request, instances.get(resource, namespace, name), names);
  if (namespace !== "") return undefined;
  return ownPermission(user, request, names) ?? grantedClusterPermission(user, request, deps.grantedClusters);
}

const CLUSTER_VERBS: ReadonlySet<string> = new Set(["get", "use"]);

/** A caller that was granted a connected cluster may see and use it. The request is about the management group. */
export function grantedClusterPermission(
  user: UserInfo,
  { resource, subresource, verb, name }: TargetedRequest,
  granted: GrantedAccess["clusters"] | undefined,
): Permission | undefined {
  if (granted === undefined || resource !== "clusters" || subresource !== "" || !CLUSTER_VERBS.has(verb))
    return undefined;
  const found = granted.of(name).find(({ group }) => user.groups.includes(group));
  return found === undefined ? undefined : byAccessRequest(found.accessRequest);
}

const byAccessRequest = (accessRequest: string): Permission => ({
  code: "access-request",
  reason: `has the approved access request ${accessRequest}`,
  accessRequest,
});

const OWN_PARTS: ReadonlySet<string> = new Set(["", "accesskeys", "credentials"]);

/** The caller's own user and teams, and the lists of keys and credentials below each. */
export function ownPermission(user: UserInfo, request: TargetedRequest, names: PlatformNames): Permission | undefined {
  const { verb, resource, subresource, name } = request;
  if (verb !== "get" || !OWN_PARTS.has(subresource)) return undefined;
  if (resource === "users" && isUser(user, name, names)) return { code: "own-user", reason: `is user ${name}` };
  if (resource === "teams" && isInTeam(user, name, names)) return { code: "own-team", reason: `is in team ${name}` };
  return undefined;
}

/** The project whose members a request concerns: that of its namespace, or the one it is about. */
export function projectOfRequest(
  { apiGroup, resource, namespace, name }: TargetedRequest,
  names: PlatformNames,
): string | undefined {
  if (namespace !== "") return names.projectOf(namespace);
  return apiGroup === names.managementGroup && resource === "projects" && name !== "" ? name : undefined;
}

/** Permission that a member's ClusterRole gives, in the project's namespace and for the project itself. */
export function projectPermission(
  user: UserInfo,
  request: TargetedRequest,
  project: string,
  fact: IndexedMembership | undefined,
  { names, roles }: Pick<OwnerPermissionDeps, "names" | "roles">,
): Permission | undefined {
  for (const [role, accessRequest] of roleSourcesOf(user, fact, names)) {
    if (clusterRole(role, roles)?.allows(request) !== true) continue;
    if (accessRequest !== undefined) return byAccessRequest(accessRequest);
    return { code: "project-member", reason: `has ClusterRole ${role} in project ${project}` };
  }
  return undefined;
}

/** The ClusterRoles of a caller in a project, the owner's first. */
export function projectRolesOf(
  user: UserInfo,
  fact: IndexedMembership | undefined,
  names: PlatformNames,
): readonly string[] {
  return [...roleSourcesOf(user, fact, names).keys()];
}

/** The same with the access request behind each role; undefined for a standing role, which comes first. */
function roleSourcesOf(
  user: UserInfo,
  fact: IndexedMembership | undefined,
  names: PlatformNames,
): ReadonlyMap<string, string | undefined> {
  const sources = new Map<string, string | undefined>();
  if (fact === undefined) return sources;
  if (isOwner(user, fact.owner, names)) sources.set(names.role(PROJECT_ADMIN), undefined);
  for (const member of fact.members.of(user, names)) {
    const role = projectRoleOf(member.clusterRole, names);
    if (!sources.has(role)) sources.set(role, member.accessRequest);
  }
  return sources;
}

export const clusterRole = (name: string, roles: Pick<RbacSource, "rulesOf">): RuleIndex | undefined =>
  roles.rulesOf({ apiGroup: RBAC_GROUP, kind: "ClusterRole", name }, "");

export const clusterRoleRules = (name: string, roles: Pick<RbacSource, "rulesOf">): readonly PolicyRule[] =>
  clusterRole(name, roles)?.rules ?? [];

/** Permissions of the owner of an instance, and of users in its access list. `request` is about that instance. */
export function instancePermission(
  user: UserInfo,
  request: TargetedRequest,
  fact: IndexedPermissions | undefined,
  names: PlatformNames,
): Permission | undefined {
  if (fact === undefined) return undefined;
  const { namespace, name } = request;
  if (isOwner(user, fact.owner, names) && opensToOwner(request)) {
    return { code: "instance-owner", reason: `owns ${namespace}/${name}` };
  }
  const { access, extraAccessRules } = fact;
  for (const at of access.placesOf(user, names)) {
    const entry = access.entries[at];
    if (entry === undefined || !accessOpens(entry, request)) continue;
    return { code: "instance-access", reason: `is in spec.access[${at}] of ${namespace}/${name}` };
  }
  if (!opensToGuest(request)) return undefined;
  const [rule] = extraAccessRules.placesOf(user, names);
  if (rule === undefined) return undefined;
  const accessRequest = extraAccessRules.entries[rule]?.accessRequest;
  if (accessRequest !== undefined) return byAccessRequest(accessRequest);
  return { code: "instance-access", reason: `is in spec.extraAccessRules[${rule}] of ${namespace}/${name}` };
}

export const GUEST_VERBS: readonly string[] = ["get", "list", "watch", "use"];

/** Users with a role inside may get and use the instance. */
const opensToGuest = ({ verb, subresource }: TargetedRequest): boolean =>
  subresource === "" ? GUEST_VERBS.includes(verb) : subresource === "kubeconfig" && verb === "create";

/** The parts of a project that clients read on the way to an instance in it. */
export const GUEST_PARTS: readonly string[] = ["", "clusters", "templates"];

/** Users of an instance may get its project: clients look it up there. */
export function guestPermission(
  user: UserInfo,
  request: TargetedRequest,
  { names, instances }: Pick<OwnerPermissionDeps, "names" | "instances">,
): Permission | undefined {
  const { apiGroup, resource, namespace, name, verb, subresource } = request;
  const isProject = apiGroup === names.managementGroup && resource === "projects" && namespace === "";
  if (
    !isProject ||
    verb !== "get" ||
    !GUEST_PARTS.includes(subresource) ||
    !instances.isUserIn(user, names.projectNamespace(name), names)
  ) {
    return undefined;
  }
  return { code: "instance-access", reason: `may use an instance of project ${name}` };
}

/** The status says what the platform has done: others read it, and none of them writes it. */
const STATUS_VERBS: ReadonlySet<string> = new Set(["get", "list", "watch"]);

/** Everything but the status, which says what the platform has done. */
const opensToOwner = ({ verb, subresource }: TargetedRequest): boolean => {
  if (subresource === "") return MAIN_VERBS.has(verb);
  // Only roles let a caller act as another user.
  return subresource === "status" ? verb === "get" : !isImpersonationVerb(verb);
};

/** The verbs apply to the instance itself and to the subresources that are listed. */
const accessOpens = ({ verbs, subresources }: InstanceAccess, request: TargetedRequest): boolean => {
  const { verb, subresource } = request;
  if (!(verbs.includes(verb) || verbs.includes("*"))) return false;
  if (subresource === "") return MAIN_VERBS.has(verb);
  if (isImpersonationVerb(verb) || (subresource === "status" && !STATUS_VERBS.has(verb))) return false;
  return subresources.includes(subresource) || subresources.includes("*");
};

/** Permissions of control planes and agents on their own keys: check their clients' keys, and see themselves. */
export function identityPermission(
  user: UserInfo,
  request: TargetedRequest,
  { names, instances }: Pick<OwnerPermissionDeps, "names" | "instances">,
): Permission | undefined {
  // The names of people and teams never begin so.
  if (!user.name.startsWith(`${names.name}:`)) return undefined;
  const own = parseVirtualClusterIdentity(names, user.name);
  if (own !== undefined) {
    const { namespace, instance } = own;
    if (instances.get("virtualclusterinstances", namespace, instance) === undefined) return undefined;
    const isOwn =
      isReadOf(request, "virtualclusterinstances", instance, names) &&
      request.namespace === namespace &&
      (request.subresource === "" || request.subresource === "accesskey");
    if (!isOwn && !asksAboutOthers(request, names)) return undefined;
    return { code: "virtual-cluster-identity", reason: `is virtual cluster ${namespace}/${instance}` };
  }
  const cluster = parseClusterIdentity(names, user.name);
  if (cluster === undefined) return undefined;
  const isOwn = isReadOf(request, "clusters", cluster, names) && request.subresource === "";
  if (!isOwn && !asksAboutOthers(request, names)) return undefined;
  return { code: "cluster-identity", reason: `is cluster ${cluster}` };
}

const isReadOf = (request: TargetedRequest, resource: string, name: string, { managementGroup }: PlatformNames) =>
  request.verb === "get" &&
  request.apiGroup === managementGroup &&
  request.resource === resource &&
  request.name === name;
