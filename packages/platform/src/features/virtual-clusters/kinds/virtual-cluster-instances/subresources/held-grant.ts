// A kubeconfig that is made with an approved access request: it ends with what the request grants.

import type { PlatformNames } from "@postern/api/platform-names";
import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { IssuedGrants } from "../../../../access-keys/issued-grants.ts";
import { requestRuleOf } from "../../../../access-keys/key-grant.ts";
import type { HeldGrant } from "../../../../authorization/granted-access.ts";
import type { HeldGrantSources } from "../../../../authorization/held-grant.ts";

export type HeldGrantDeps = HeldGrantSources & {
  readonly names: PlatformNames;
  /** Marks the write of the key. */
  readonly grants: Pick<IssuedGrants, "during">;
};

/** The caller with that grant alone: others would end earlier, and what they gave would stay in a certificate. */
export function onlyWith(user: UserInfo, { uid }: HeldGrant, names: PlatformNames): UserInfo {
  const [prefix, own] = [names.accessRequestGroup(""), names.accessRequestGroup(uid)];
  return { ...user, groups: user.groups.filter((group) => group === own || !group.startsWith(prefix)) };
}

/** Seconds until the grant ends, rounded down. Throws ApiError 403 in its last second. */
export function secondsLeft({ until, name }: HeldGrant, { receivedAt, info }: RequestContext): number {
  const seconds = Math.floor((until - receivedAt) / 1_000);
  if (seconds > 0) return seconds;
  throw forbiddenRequestError(
    { group: info.apiGroup, resource: info.resource },
    info.name,
    `the access request ${name} ends now`,
  );
}

/** Runs the write of a key that ends with the grant. */
export const writtenWith = <T>(
  { name, uid, until }: HeldGrant,
  context: RequestContext,
  { grants }: HeldGrantDeps,
  write: () => Promise<T>,
): Promise<T> => {
  const grant = { rule: requestRuleOf(name), ruleUid: uid, terms: "", until };
  return grants.during(context, { grant, origins: [], parents: [] }, write);
};
