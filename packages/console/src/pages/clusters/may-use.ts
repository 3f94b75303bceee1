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
  const granted = requests.filter(({ spec, status }) => {
    const { target, role } = spec ?? {};
    if (status?.phase !== "Approved" || target?.project === undefined || target.project !== project?.metadata.name)
      return false;
    return target.virtualCluster === undefined ? gives(role ?? "") : target.virtualCluster === nameOf(cluster);
  });
  // Sets, since a page asks for ten thousand keys: the groups that may use it, and the user names.
  const allowed = new Set([
    ...[cluster.spec?.owner, project?.spec?.owner].flatMap(groupsOfOwner),
    ...members.map(({ kind, name }) => (kind === "Team" ? teamGroup(name) : userGroup(name))),
    ...lists.flatMap(({ users = [], teams = [] }) => [...users.map(userGroup), ...teams.map(teamGroup)]),
    ...subjects.flatMap(({ kind, name = "" }) => (kind === "Group" ? [name] : [])),
    ...granted.map(({ status }) => userGroup(status?.requester?.user ?? "")),
  ]);
  const allowedUsers = new Set(subjects.flatMap(({ kind, name = "" }) => (kind === "User" ? [name] : [])));
  const everyone = [userGroup, teamGroup]
    .filter((groupFor) => allowed.has(groupFor("*")))
    .map((groupFor) => groupFor(""));
  const identities = createIdentities(sources);
  const known = new Map<string, boolean>();
  return (owner) => {
    const id = `${owner.kind}/${owner.name}`;
    const before = known.get(id);
    if (before !== undefined) return before;
    const { user, groups } = identities(owner);
    const may =
      allowedUsers.has(user) ||
      groups.some((group) => allowed.has(group) || everyone.some((prefix) => group.startsWith(prefix)));
    known.set(id, may);
    return may;
  };
}

const groupsOfOwner = ({ user = "", team = "" }: OwnerField = {}): readonly string[] => [
  ...(user === "" ? [] : [userGroup(user)]),
  ...(team === "" ? [] : [teamGroup(team)]),
];

const USE: WantedRequest = { verb: "use", group: settings.managementGroup, resource: "virtualclusterinstances" };

/** The user and the groups of requests with a key of an owner. */
function createIdentities({ users, teams }: Pick<AccessSources, "users" | "teams">): (owner: Owner) => Identity {
  const byName = new Map(users.map((user) => [nameOf(user), user]));
  const bySubject = new Map(users.map((user) => [user.spec?.subject || nameOf(user), user]));
  const teamsOf = new Map<string, string[]>();
  for (const team of teams) {
    for (const user of team.spec?.users ?? []) {
      const known = teamsOf.get(user);
      if (known === undefined) teamsOf.set(user, [nameOf(team)]);
      else known.push(nameOf(team));
    }
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
