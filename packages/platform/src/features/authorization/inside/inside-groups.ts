// The identity of a caller inside a virtual cluster: its name and groups, and one group for each role that it has there.

import type { PlatformNames } from "@postern/api/platform-names";
import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import { isSystemName } from "../../../foundation/kinds/system-name.ts";
import { PROJECT_ADMIN, PROJECT_READER, PROJECT_USER, PROJECT_VIEWER } from "../built-in-roles.ts";
import { isOwner } from "../caller.ts";
import type { InstancePermissionIndex } from "../members/instance-permissions.ts";
import type { ProjectMembershipIndex } from "../members/project-memberships.ts";
import { projectRolesOf } from "../owner-permissions.ts";
import { insideRoleOf } from "../role-aliases.ts";

export type InsideDeps = {
  readonly names: PlatformNames;
  readonly projects: Pick<ProjectMembershipIndex, "get">;
  readonly instances: Pick<InstancePermissionIndex, "get">;
};

/** A virtual cluster of a project, or a space. */
export type InstancePlace = { readonly project: string } & (
  | { readonly virtualCluster: string }
  | { readonly space: string }
);

/** Its resource, and the name of the object. */
export const instanceAt = (place: InstancePlace) =>
  "space" in place
    ? ({ resource: "spaceinstances", name: place.space } as const)
    : ({ resource: "virtualclusterinstances", name: place.virtualCluster } as const);

export type InsideIdentity = { readonly name: string; readonly groups: readonly string[] };

/**
 * The user and groups that the proxy impersonates and client certificates carry. No group of Kubernetes' own is among them, whatever
 * the caller's are. Throws ApiError 403 for a caller whose very name is one of Kubernetes' own.
 */
export function insideIdentity(user: UserInfo, place: InstancePlace, deps: InsideDeps): InsideIdentity {
  if (user.name === "" || isSystemName(user.name)) {
    const { resource, name } = instanceAt(place);
    const target = { group: deps.names.managementGroup, resource };
    throw forbiddenRequestError(target, name, "this username is reserved in virtual clusters");
  }
  const roles = insideClusterRoles(user, place, deps).map(deps.names.insideRoleGroup);
  const own = user.groups.filter((group) => group !== "" && !isSystemName(group) && !isPlatformsOwn(group, deps.names));
  return { name: user.name, groups: [...new Set([...own, ...roles])] };
}

/** Each includes the permissions of those before it. */
const ROLES_IN_ORDER: readonly string[] = ["view", "edit", "admin", "cluster-admin"];

/** Whether the identity `now` still has everything of the identity `then`, with which the caller came in. */
export const isKeptInside = (then: InsideIdentity, now: InsideIdentity, deps: Pick<InsideDeps, "names">): boolean =>
  now.name === then.name && groupsKeptInside(then, now, deps).length === then.groups.length;

/** The groups that a caller still has: a role includes the roles with fewer permissions. */
export function groupsKeptInside(
  then: Pick<InsideIdentity, "groups">,
  now: Pick<InsideIdentity, "groups">,
  { names }: Pick<InsideDeps, "names">,
): readonly string[] {
  const prefix = names.insideRoleGroup("");
  const rankOf = (group: string): number =>
    group.startsWith(prefix) ? ROLES_IN_ORDER.indexOf(group.slice(prefix.length)) : -1;
  const highest = Math.max(-1, ...now.groups.map(rankOf));
  const isKept = (group: string): boolean => {
    const rank = rankOf(group);
    if (group.startsWith(prefix) && highest === ROLES_IN_ORDER.length - 1) return true;
    return now.groups.includes(group) || (rank >= 0 && rank <= highest);
  };
  return then.groups.filter(isKept);
}

/** A role's group from outside would be a role that was never granted here; an access request means nothing inside. */
const isPlatformsOwn = (group: string, names: PlatformNames): boolean =>
  group.startsWith(names.insideRoleGroup("")) || group.startsWith(names.accessRequestGroup(""));

/** The ClusterRoles that the caller has inside: those of its project and of every rule that lists it add up. */
export function insideClusterRoles(
  user: UserInfo,
  place: InstancePlace,
  { names, projects, instances }: InsideDeps,
): readonly string[] {
  const { project } = place;
  const { resource, name } = instanceAt(place);
  const instance = instances.get(resource, names.projectNamespace(project), name);
  // A deleted instance has no users.
  if (instance === undefined) return [];
  const roles = projectRolesOf(user, projects.get(project), names);
  const isAdmin = user.groups.includes(names.adminsGroup) || roles.includes(names.role(PROJECT_ADMIN));
  if (isAdmin || isOwner(user, instance.owner, names)) return ["cluster-admin"];
  const extra = instance.extraAccessRules.of(user, names).map((rule) => insideRoleOf(rule.clusterRole, names));
  const all = new Set([...projectRolesInside(roles, names), ...extra]);
  return all.has("cluster-admin") ? ["cluster-admin"] : [...all];
}

function projectRolesInside(roles: readonly string[], names: PlatformNames): readonly string[] {
  if (roles.includes(names.role(PROJECT_USER))) return ["edit"];
  return [PROJECT_READER, PROJECT_VIEWER].some((role) => roles.includes(names.role(role))) ? ["view"] : [];
}
