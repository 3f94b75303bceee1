// The user and teams of a caller, from the groups that represent them, so that an impersonated user counts as itself.

import type { PlatformNames } from "@postern/api/platform-names";
import { GROUP_AUTHENTICATED, type UserInfo } from "@postern/apiserver/authentication/user-info";

/** Users and teams by name, as specs list them. */
export type SubjectList = { readonly users: readonly string[]; readonly teams: readonly string[] };

type GroupNames = Pick<PlatformNames, "userGroup" | "teamGroup">;

export const isAuthenticated = ({ groups }: Pick<UserInfo, "groups">): boolean => groups.includes(GROUP_AUTHENTICATED);

export const isUser = ({ groups }: UserInfo, user: string, names: GroupNames): boolean =>
  user !== "" && groups.includes(names.userGroup(user));

export const isInTeam = ({ groups }: UserInfo, team: string, names: GroupNames): boolean =>
  team !== "" && groups.includes(names.teamGroup(team));

export type Owner = { readonly user: string; readonly team: string };

export const isOwner = (user: UserInfo, { user: name, team }: Owner, names: GroupNames): boolean =>
  isUser(user, name, names) || isInTeam(user, team, names);

/** The user name under which a virtual cluster's own key acts. */
export const virtualClusterIdentity = ({ name }: Pick<PlatformNames, "name">, namespace: string, instance: string) =>
  `${name}:vcluster:${namespace}:${instance}`;

/** The user name under which the key of a connected cluster's agent acts. */
export const clusterIdentity = ({ name }: Pick<PlatformNames, "name">, cluster: string): string =>
  `${name}:cluster:${cluster}`;

/** The virtual cluster that a user name represents; undefined for other names. */
export function parseVirtualClusterIdentity(
  { name }: Pick<PlatformNames, "name">,
  user: string,
): { readonly namespace: string; readonly instance: string } | undefined {
  const prefix = `${name}:vcluster:`;
  if (!user.startsWith(prefix)) return undefined;
  const [namespace = "", instance = "", more] = user.slice(prefix.length).split(":");
  return namespace === "" || instance === "" || more !== undefined ? undefined : { namespace, instance };
}

/** The connected cluster that a user name represents; undefined for other names. */
export function parseClusterIdentity({ name }: Pick<PlatformNames, "name">, user: string): string | undefined {
  const prefix = `${name}:cluster:`;
  const cluster = user.startsWith(prefix) ? user.slice(prefix.length) : "";
  return cluster === "" || cluster.includes(":") ? undefined : cluster;
}
