// The users who created a credential of a cluster: the owners of the access keys among its ancestors.

import type { Credential } from "@postern/apiserver/authentication/authenticator";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { AccessKeyAuthenticator } from "../../access-keys/access-key-authenticator.ts";
import type { AccessKeyIndex } from "../../access-keys/index/access-key-index.ts";
import { groupsKeptInside, type InstancePlace, insideIdentity } from "../../authorization/inside/inside-groups.ts";
import { decodeLineage } from "../../certificates/key-lineage.ts";

export type CredentialCreator = { readonly user: UserInfo; readonly credential: Credential };

/** As they are now. None for a credential that belongs to the cluster itself. */
export function creatorsOf(
  { credential }: Pick<RequestContext, "credential">,
  keys: Pick<AccessKeyIndex, "byUid">,
  { identityOf }: Pick<AccessKeyAuthenticator, "identityOf">,
): readonly CredentialCreator[] {
  const lineage = credential?.lineage?.();
  if (lineage === undefined) return [];
  return decodeLineage(lineage).flatMap(({ keys: origins }) => {
    const key = keys.byUid(origins.at(-1)?.uid ?? "");
    return key === undefined ? [] : [{ user: identityOf(key), credential: { id: key.id } }];
  });
}

/**
 * A certificate says which groups its holder had. Of those, the ones that are still the holder's: it may have left the project or a team
 * since. A name that is not the maker's own is one that the cluster gave out, and keeps what the cluster gave it.
 */
export function withCurrentGroups(
  user: UserInfo,
  makers: readonly CredentialCreator[],
  place: InstancePlace,
  sources: Parameters<typeof insideIdentity>[2],
): UserInfo {
  const own = makers.find((maker) => maker.user.name === user.name);
  if (own === undefined) return user;
  const now = insideIdentity(own.user, place, sources);
  // Where a role was lowered, the lower one is within the higher that the certificate says.
  const groups = [...groupsKeptInside(user, now, sources), ...groupsKeptInside(now, user, sources)];
  return { ...user, groups: [...new Set(groups)] };
}
