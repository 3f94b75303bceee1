// Decides as the server does whether users and teams may use a virtual cluster: as owners, by roles, by its own lists, and for a time.

import type { AccessRequest } from "@postern/api/access-request";
import type { Owner as OwnerField } from "@postern/api/owner";
import type { Project } from "@postern/api/project";
import type { Team } from "@postern/api/team";
import type { User } from "@postern/api/user";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { type ClusterRole, type ClusterRoleBinding, nameOf } from "../../api/resources.ts";
import { settings } from "../../settings.ts";
import { roleAllows, type WantedRequest } from "../access/role-permits.ts";
import { type Identity, identityOf, teamGroup, userGroup } from "../access/user-identity.ts";
import type { Owner } from "../keys/key-state.ts";

/** All that the signed-in user can see of them. */
export type AccessSources = {
  readonly cluster: VirtualClusterInstance;
  readonly project: Project | undefined;
  readonly users: readonly User[];
  readonly teams: readonly Team[];
  readonly roles: readonly ClusterRole[];
  readonly bindings: readonly ClusterRoleBinding[];
  readonly requests: readonly AccessRequest[];
};

export type MayUse = (owner: Owner) => boolean;

/** A role whose rules cannot be seen counts as one that allows it: a key is shown rather once too often. */
export function createMayUse(sources: AccessSources): MayUse {
  const { cluster, project, roles, bindings, requests } = sources;
  const wanted = { ...USE, name: nameOf(cluster) };
  const rolesByName = new Map(roles.map((role) => [nameOf(role), role]));
  const gives = (name: string): boolean => {
    const role = rolesByName.get(name);
    return role === undefined || roleAllows(role, wanted);
  };
  const members = (project?.spec?.members ?? []).filter(({ clusterRole }) => gives(clusterRole));
  const bound = bindings.filter(({ roleRef: { name = "" } = {} }) => rolesByName.has(name) && gives(name));
  const subjects = bound.flatMap((binding) => binding.subjects ?? []);
  const lists = [
    ...(cluster.spec?.access ?? []).filter(({ verbs = [] }) => verbs.includes("use") || verbs.includes("*")),
    ...(cluster.spec?.extraAccessRules ?? []).filter(({ clusterRole = "" }) => clusterRole !== ""),
  ];
  const owners = [cluster.spec?.owner, project?.spec?.owner];
  const granted = requests.filter(({ spec, status }) => {
    const { target, role } = spec ?? {};
    if (status?.phase !== "Approved" || target?.project === undefined || target.project !== project?.metadata.name)
      return false;
    return target.virtualCluster === undefined ? gives(role ?? "") : target.virtualCluster === nameOf(cluster);
  });
  const identities = createIdentities(sources);
  return (owner) => {
    const { user, groups } = identities(owner);
    const groupSet = new Set(groups);
    const isNamed = (isTeam: boolean, name: string): boolean => {
      const groupFor = isTeam ? teamGroup : userGroup;
      return name === "*" ? groups.some((group) => group.startsWith(groupFor(""))) : groupSet.has(groupFor(name));
    };
    const owns = ({ user: ownUser = "", team = "" }: OwnerField): boolean =>
      (ownUser !== "" && groupSet.has(userGroup(ownUser))) || (team !== "" && groupSet.has(teamGroup(team)));
    return (
      owners.some((each) => each !== undefined && owns(each)) ||
      members.some(({ kind, name }) => isNamed(kind === "Team", name)) ||
      lists.some(
        ({ users = [], teams = [] }) =>
          users.some((name) => isNamed(false, name)) || teams.some((name) => isNamed(true, name)),
      ) ||
      subjects.some(({ kind, name = "" }) =>
        kind === "Group" ? groupSet.has(name) : kind === "User" && name === user,
      ) ||
      granted.some(({ status }) => isNamed(false, status?.requester?.user ?? ""))
    );
  };
}

const USE: WantedRequest = { verb: "use", group: settings.managementGroup, resource: "virtualclusterinstances" };

/** The user and the groups of requests with a key of an owner. */
function createIdentities({ users, teams }: Pick<AccessSources, "users" | "teams">): (owner: Owner) => Identity {
  const byName = new Map(users.map((user) => [nameOf(user), user]));
  const bySubject = new Map(users.map((user) => [user.spec?.subject || nameOf(user), user]));
  const teamsOf = new Map<string, string[]>();
  for (const team of teams) {
    for (const user of team.spec?.users ?? []) teamsOf.set(user, [...(teamsOf.get(user) ?? []), nameOf(team)]);
  }
  return (owner) => {
    const { kind, name } = owner;
    if (kind === "team") return { user: "", groups: [teamGroup(name), ...EVERYONE] };
    const user = (kind === "user" ? byName : bySubject).get(name);
    const { groups, ...identity } = user === undefined ? unseen(owner) : identityOf(user);
    return {
      ...identity,
      groups: [...groups, ...(teamsOf.get(user === undefined ? name : nameOf(user)) ?? []).map(teamGroup)],
    };
  };
}

const EVERYONE = [`${settings.name}:authenticated`, "system:authenticated"];

const unseen = ({ kind, name }: Owner): Identity => ({
  user: name,
  groups: [...(kind === "user" ? [userGroup(name)] : []), ...EVERYONE],
});
