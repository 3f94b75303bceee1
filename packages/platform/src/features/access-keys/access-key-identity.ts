// The user name and groups of a request with an access key, to which permissions are granted.

import type { PlatformNames } from "@postern/api/platform-names";
import { GROUP_AUTHENTICATED, type UserInfo } from "@postern/apiserver/authentication/user-info";
import type { Directory, DirectoryUser } from "../directory/directory.ts";
import type { AccessKeyState } from "./access-key-state.ts";

/** The key of UserInfo.extra that carries the public handle of the access key. */
const accessKeyIdExtra = ({ domain }: PlatformNames): string => `authentication.${domain}/access-key-id`;

export type IdentityDeps = {
  readonly directory: Directory;
  readonly names: PlatformNames;
  /** Access for a time. Absent: none. */
  readonly granted?: GrantedGroups;
};

/** Access that users were granted for a time. */
export type GrantedGroups = {
  /** Changes with each grant that begins or ends. */
  readonly version: number;
  /** One for each approved access request that the key has. Keys with a scope have only the one that they were made with. */
  groupsOf(key: GrantHolder, user: Pick<DirectoryUser, "name" | "uid">): readonly string[];
};

type GrantHolder = Partial<Pick<AccessKeyState, "restrictions" | "grant">>;

/** The identity of a key's bearer. Does not check whether the key is valid. */
export function accessKeyIdentity(
  key: Pick<AccessKeyState, "id" | "owner" | "groups"> & GrantHolder,
  { directory, names, granted }: IdentityDeps,
): UserInfo {
  const { owner } = key;
  const extra = { [accessKeyIdExtra(names)]: [key.id] };
  const common = [...withoutGrants(key.groups, names), GROUP_AUTHENTICATED, names.authenticatedGroup];
  if (owner.kind === "team") {
    const group = names.teamGroup(owner.name);
    return { name: group, groups: distinct([group, ...common]), extra, ...uidOf(directory.team(owner.name)) };
  }
  if (owner.kind === "subject") return { name: owner.name, groups: distinct(common), extra };
  const user = directory.user(owner.name);
  const { own, represented } = groupsOfUser(user ?? { name: owner.name, groups: [] }, { directory, names });
  return {
    name: user?.subject ?? owner.name,
    groups: distinct([
      ...own,
      ...common,
      ...represented,
      ...(user === undefined ? [] : (granted?.groupsOf(key, user) ?? [])),
    ]),
    extra,
    ...uidOf(user),
  };
}

/** The groups that a User has of its own, and those that stand for itself and its teams. */
export function groupsOfUser(
  { name, groups }: Pick<DirectoryUser, "name" | "groups">,
  { directory, names }: Pick<IdentityDeps, "directory" | "names">,
): { readonly own: readonly string[]; readonly represented: readonly string[] } {
  const teams = directory.teamsOf(name).map((team) => names.teamGroup(team.name));
  return { own: withoutGrants(groups, names), represented: [names.userGroup(name), ...teams] };
}

/** Groups of users and keys are texts that others wrote. */
function withoutGrants(groups: readonly string[], names: PlatformNames): readonly string[] {
  const prefix = names.accessRequestGroup("");
  return groups.filter((group) => !group.startsWith(prefix));
}

const distinct = (groups: readonly string[]): readonly string[] => [...new Set(groups)];

const uidOf = (holder: { readonly uid: string } | undefined): { readonly uid?: string } =>
  holder === undefined ? {} : { uid: holder.uid };
