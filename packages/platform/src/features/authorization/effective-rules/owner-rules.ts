// Permissions of a credential's owner beyond roles and bindings, as rules for one namespace.

import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { PolicyRule } from "@postern/apiserver/authorization/rbac/policy-rule";
import { clusterRoleRules, type OwnerPermissionDeps, projectRolesOf } from "../owner-permissions.ts";
import { managed } from "./managed-rule.ts";

type RulesSources = Pick<OwnerPermissionDeps, "names" | "projects"> & { readonly rbac: OwnerPermissionDeps["roles"] };

/** Without rules about instances. May tell less than decisions allow, never more. */
export function ownerRules(user: UserInfo, namespace: string, sources: RulesSources): readonly PolicyRule[] {
  const { names, projects } = sources;
  // There is no project without a name.
  const inProject = memberRules(user, names.projectOf(namespace) ?? "", sources);
  const onProjects = [...projects.entries()].flatMap(([name]) =>
    memberRules(user, name, sources).flatMap((rule) => projectObjectRule(rule, name, sources)),
  );
  return [...ownRules(user, sources), ...inProject, ...onProjects];
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
