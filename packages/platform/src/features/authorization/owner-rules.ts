// Permissions of a credential's owner beyond roles and bindings, as rules for one namespace.

import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { PolicyRule } from "@postern/apiserver/authorization/rbac/policy-rule";
import { isOwner } from "./caller.ts";
import type { InstanceResource } from "./filtered-resources.ts";
import type { IndexedPermissions } from "./instance-permissions.ts";
import {
  clusterRoleRules,
  GUEST_PARTS,
  GUEST_VERBS,
  isGuestOf,
  type OwnerPermissionDeps,
  projectRolesOf,
} from "./owner-permissions.ts";

type RulesSources = Pick<OwnerPermissionDeps, "names" | "projects" | "instances" | "grantedClusters"> & {
  readonly rbac: OwnerPermissionDeps["roles"];
};

const INSTANCES: readonly InstanceResource[] = ["virtualclusterinstances", "spaceinstances"];
const OWNER_VERBS = ["get", "list", "watch", "update", "patch", "delete", "use"];
const OWNER_SUBRESOURCES = ["kubeconfig", "accesskey", "credentials", "join"];

/** May tell less than decisions allow, never more. */
export function ownerRules(user: UserInfo, namespace: string, sources: RulesSources): readonly PolicyRule[] {
  const { names, projects, instances } = sources;
  // There is no project without a name.
  const inProject = memberRules(user, names.projectOf(namespace) ?? "", sources);
  const onInstances = INSTANCES.flatMap((resource) =>
    [...instances.entries(resource, namespace)].flatMap(([name, fact]) =>
      instanceRules(user, resource, name, fact, sources),
    ),
  );
  const onProjects = [...projects.entries()].flatMap(([name]) => [
    ...memberRules(user, name, sources).flatMap((rule) => projectObjectRule(rule, name, sources)),
    ...guestRules(user, name, sources),
  ]);
  return [...ownRules(user, sources), ...inProject, ...onInstances, ...onProjects];
}

const memberRules = (user: UserInfo, project: string, { names, projects, rbac }: RulesSources) =>
  projectRolesOf(user, projects.get(project), names).flatMap((role) => clusterRoleRules(role, rbac));

/** The rules of a project member for the project itself. */
function projectObjectRule(rule: PolicyRule, project: string, { names }: RulesSources): readonly PolicyRule[] {
  if (!rule.apiGroups.includes(names.managementGroup) && !rule.apiGroups.includes("*")) return [];
  if (rule.resourceNames.length > 0 && !rule.resourceNames.includes(project)) return [];
  const resources = rule.resources.includes("*")
    ? ["projects", "projects/clusters", "projects/templates"]
    : rule.resources.filter((resource) => resource === "projects" || resource.startsWith("projects/"));
  return resources.length === 0 ? [] : [managed(names.managementGroup, rule.verbs, resources, project)];
}

/** Rules that let users of an instance see its project. */
function guestRules(user: UserInfo, project: string, sources: RulesSources): readonly PolicyRule[] {
  if (!isGuestOf(user, project, sources)) return [];
  const parts = GUEST_PARTS.map((part) => (part === "" ? "projects" : `projects/${part}`));
  return [managed(sources.names.managementGroup, ["get"], parts, project)];
}

function instanceRules(
  user: UserInfo,
  resource: InstanceResource,
  name: string,
  { owner, access, extraAccessRules }: IndexedPermissions,
  { names }: RulesSources,
): readonly PolicyRule[] {
  const withSubresources = (list: readonly string[]) => list.map((subresource) => `${resource}/${subresource}`);
  const owned = isOwner(user, owner, names)
    ? [
        managed(names.managementGroup, OWNER_VERBS, [resource], name),
        managed(names.managementGroup, ["*"], withSubresources(OWNER_SUBRESOURCES), name),
      ]
    : [];
  const granted = access.of(user, names).flatMap(({ verbs, subresources }) => {
    const onMain = verbs.includes("*") ? OWNER_VERBS : verbs.filter((verb) => OWNER_VERBS.includes(verb));
    const named = subresources.filter((subresource) => subresource !== "status");
    const below = withSubresources(subresources.includes("*") ? OWNER_SUBRESOURCES : named);
    return [
      ...(onMain.length === 0 ? [] : [managed(names.managementGroup, onMain, [resource], name)]),
      ...(below.length === 0 || verbs.length === 0 ? [] : [managed(names.managementGroup, verbs, below, name)]),
    ];
  });
  const hasRole = extraAccessRules.lists(user, names);
  const asGuest = hasRole
    ? [
        managed(names.managementGroup, GUEST_VERBS, [resource], name),
        managed(names.managementGroup, ["create"], withSubresources(["kubeconfig"]), name),
      ]
    : [];
  return [...owned, ...granted, ...asGuest];
}

/** The caller's own user and teams, from its groups. */
function ownRules(user: UserInfo, { names }: RulesSources): readonly PolicyRule[] {
  const ownNames = (prefix: string): readonly string[] =>
    user.groups
      .filter((group) => group.startsWith(prefix))
      .map((group) => group.slice(prefix.length))
      .filter((name) => name !== "");
  const users = ownNames(names.userGroup(""));
  const teams = ownNames(names.teamGroup(""));
  return [
    ...users.map((name) =>
      managed(names.managementGroup, ["get"], ["users", "users/accesskeys", "users/credentials"], name),
    ),
    ...teams.map((name) =>
      managed(names.managementGroup, ["get"], ["teams", "teams/accesskeys", "teams/credentials"], name),
    ),
  ];
}

const managed = (group: string, verbs: readonly string[], resources: readonly string[], name: string): PolicyRule => ({
  verbs,
  apiGroups: [group],
  resources,
  resourceNames: [name],
  nonResourceURLs: [],
});
