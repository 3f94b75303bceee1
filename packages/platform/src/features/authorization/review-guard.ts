// The answer to a cluster that reviews a token: whether it may accept it, and the groups of the user. It does not learn the limits of the key.

import type { PlatformNames } from "@postern/api/platform-names";
import type { Authentication } from "@postern/apiserver/authentication/authenticator";
import { GROUP_AUTHENTICATED, type UserInfo } from "@postern/apiserver/authentication/user-info";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { resolveRequestInfo } from "@postern/apiserver/request/request-info";
import type { AccessKeyIndex } from "../access-keys/access-key-index.ts";
import { parseClusterIdentity, parseVirtualClusterIdentity } from "./caller.ts";
import { type InsideDeps, insideClusterRoles } from "./inside-groups.ts";
import type { PlatformAuthorizer } from "./platform-decision.ts";
import type { ProxyRequest } from "./platform-request.ts";

export type ReviewGuard = (authentication: Authentication, asker: Pick<RequestContext, "user">) => boolean;

/** Anything but what every live key may ask. */
const inner = resolveRequestInfo("GET", "/api/v1/secrets", new URLSearchParams());

/**
 * A key without restrictions is its owner, anywhere. A scoped key is accepted if its scope covers the whole cluster that asks; limits by rules cannot
 * be passed to the cluster.
 */
export function createReviewGuard(deps: {
  readonly names: PlatformNames;
  readonly keys: Pick<AccessKeyIndex, "byId">;
  readonly authorizer: Pick<PlatformAuthorizer, "decide">;
}): ReviewGuard {
  const { names, keys, authorizer } = deps;
  return ({ user, credential }, asker) => {
    const key = credential === undefined ? undefined : keys.byId(credential.id);
    // A review does not say where the bearer's request came from.
    if (key !== undefined && key.sourceRanges.length > 0) return false;
    const restrictions = key?.restrictions;
    if (restrictions === undefined) return true;
    const request = requestTo(asker.user, names);
    if (request === undefined || restrictions.ruleSets.length > 0) return false;
    const bearer = { ...user, groups: [...user.groups, GROUP_AUTHENTICATED] };
    return authorizer.decide(request, { user: bearer, credential }).verdict === "allow";
  };
}

/** In the virtual cluster that asks, the user has the groups of its roles there, as through the proxy. */
export function reviewedUser(user: UserInfo, asker: UserInfo, deps: InsideDeps): UserInfo {
  const { names } = deps;
  const instance = parseVirtualClusterIdentity(names, asker.name);
  const project = instance === undefined ? undefined : names.projectOf(instance.namespace);
  if (instance === undefined || project === undefined) return user;
  const ofRoles = names.insideRoleGroup("");
  const own = user.groups.filter((group) => !group.startsWith(ofRoles));
  const bearer = { ...user, groups: [...own, GROUP_AUTHENTICATED] };
  const roles = insideClusterRoles(bearer, { project, virtualCluster: instance.instance }, deps);
  return { ...user, groups: [...new Set([...own, ...roles.map(names.insideRoleGroup)])] };
}

/** The cluster of a control plane's own key; undefined for every other user. */
function requestTo({ name }: UserInfo, names: PlatformNames): ProxyRequest | undefined {
  const cluster = parseClusterIdentity(names, name);
  if (cluster !== undefined) return { target: "Cluster", cluster, inner };
  const instance = parseVirtualClusterIdentity(names, name);
  const project = instance === undefined ? undefined : names.projectOf(instance.namespace);
  if (instance === undefined || project === undefined) return undefined;
  return { target: "ProjectVirtualCluster", project, virtualCluster: instance.instance, inner };
}
