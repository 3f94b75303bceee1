// You can only grant groups and permissions that you have, and cannot lock or demote users with more permissions: the one check for every way in
// which a subject gains a group or loses permissions.

import type { PlatformNames } from "@postern/api/platform-names";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { Authorizer, RuleResolver } from "@postern/apiserver/authorization/authorizer";
import { createRbacAuthorizer, policyRulesOf } from "@postern/apiserver/authorization/rbac/rbac-authorizer";
import type { RbacSource } from "@postern/apiserver/authorization/rbac/rbac-source";
import { uncoveredRules } from "@postern/apiserver/authorization/rbac/rule-coverage";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { AccessKeyOwner } from "../../access-keys/access-key-owner.ts";
import type { AccessKeyIndex } from "../../access-keys/index/access-key-index.ts";
import { keyOfRequest } from "../../access-keys/kinds/owned-access-keys/lineage.ts";
import { mayImpersonate, mayImpersonateGroup } from "../impersonation.ts";

export type GrantCheckDeps = {
  readonly names: PlatformNames;
  readonly authorizer: Authorizer;
  readonly ruleResolver: RuleResolver;
  readonly rbac: RbacSource;
  readonly keys: Pick<AccessKeyIndex, "byId">;
};

/**
 * The first of the groups that the caller may not hand out: one that it is not in and may not impersonate. A narrowed key hands out
 * nothing by being in a group, since what it does with the group is narrowed, and what others do is not.
 */
export async function firstRefusedGroup(
  groups: Iterable<string>,
  context: RequestContext,
  deps: GrantCheckDeps,
): Promise<string | undefined> {
  const { authorizer, keys } = deps;
  const isNarrowed = keyOfRequest(context, keys)?.restrictions !== undefined;
  for (const group of groups) {
    if (!isNarrowed && context.user.groups.includes(group)) continue;
    if (await mayImpersonateGroup(group, context, authorizer)) continue;
    const holder = ownerOfGroup(group, deps.names);
    if (holder !== undefined && (await mayImpersonate(holder, context, deps))) continue;
    return group;
  }
  return undefined;
}

/** The user or team that a group represents. */
function ownerOfGroup(group: string, names: PlatformNames): AccessKeyOwner | undefined {
  for (const [kind, prefix] of [
    ["user", names.userGroup("")],
    ["team", names.teamGroup("")],
  ] as const) {
    if (group.startsWith(prefix) && group.length > prefix.length) return { kind, name: group.slice(prefix.length) };
  }
  return undefined;
}

/**
 * Whether the caller may lock, demote or delete a user or team: callers that may impersonate it, or have all permissions that roles give it in the
 * whole platform. Roles in single projects do not count.
 */
export async function mayAdminister(
  holder: AccessKeyOwner,
  as: UserInfo,
  context: RequestContext,
  deps: GrantCheckDeps,
): Promise<boolean> {
  if (await mayImpersonate(holder, context, deps)) return true;
  const { user, credential } = context;
  const theirs = policyRulesOf(createRbacAuthorizer({ source: deps.rbac }).rulesFor(as, ""));
  if (theirs.length === 0) return true;
  const own = policyRulesOf(await deps.ruleResolver.rulesFor(user, "", credential, context));
  return uncoveredRules(own, theirs).length === 0;
}
