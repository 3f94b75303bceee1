// The approved access request that a credential is made with: what it grants ends, and the credential with it.

import type { PlatformNames } from "@postern/api/platform-names";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { GrantedAccess, HeldGrant } from "./granted-access.ts";
import type { InsideIdentity, InstancePlace } from "./inside/inside-groups.ts";

export type HeldGrantSources = {
  readonly names: Pick<PlatformNames, "accessRequestGroup">;
  readonly insideIdentity: (user: UserInfo, place: InstancePlace) => InsideIdentity;
  /** Access for a time. */
  readonly granted: Pick<GrantedAccess, "reaching">;
};

/** Undefined where the caller has the same roles without one. Of several, the one that ends last: the credential has no other. */
export function heldGrantOf(
  { user }: { readonly user: UserInfo },
  place: InstancePlace,
  { names, insideIdentity, granted }: HeldGrantSources,
): HeldGrant | undefined {
  const virtualCluster = "virtualCluster" in place ? place.virtualCluster : "";
  const [held] = granted.reaching(user.groups, place.project, virtualCluster);
  if (held === undefined) return undefined;
  const [now, without] = [insideIdentity(user, place).groups, insideIdentity(standingUser(user, names), place).groups];
  return now.every((group) => without.includes(group)) ? undefined : held;
}

/** The user without access that it was granted for a time. */
export function standingUser(user: UserInfo, { accessRequestGroup }: HeldGrantSources["names"]): UserInfo {
  const prefix = accessRequestGroup("");
  const groups = user.groups.filter((group) => !group.startsWith(prefix));
  return groups.length === user.groups.length ? user : { ...user, groups };
}
