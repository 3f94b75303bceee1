// The answer to a cluster that reviews a token: whether it may accept it, and the groups of the user. It does not learn the limits of the key.

import type { PlatformNames } from "@postern/api/platform-names";
import type { Authentication } from "@postern/apiserver/authentication/authenticator";
import { GROUP_AUTHENTICATED, type UserInfo } from "@postern/apiserver/authentication/user-info";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { resolveRequestInfo } from "@postern/apiserver/request/request-info";
import { type Audiences, platformAudience } from "../../access-keys/audiences.ts";
import type { AccessKeyIndex } from "../../access-keys/index/access-key-index.ts";
import { isBoundToSources } from "../../access-keys/key-sources.ts";
import type { Directory } from "../../directory/directory.ts";
import { parseClusterIdentity, parseVirtualClusterIdentity } from "../caller.ts";
import type { PlatformAuthorizer } from "../platform-decision.ts";
import type { ProjectSources } from "../project-sources.ts";
import { isClusterIdentity, isReservedAudience } from "../request/audience-of-request.ts";
import type { ProxyRequest } from "../request/platform-request.ts";
import { type InsideDeps, insideClusterRoles } from "./inside-groups.ts";

export type ReviewGuard = (
  authentication: Authentication,
  asker: Pick<RequestContext, "user">,
  /** Audiences that the review names. */
  asked?: readonly string[],
) => boolean;

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
  readonly directory: Pick<Directory, "user">;
  /** Networks of projects: a review does not say where its bearer is. */
  readonly sources: Pick<ProjectSources, "rangesOf">;
  /** Whether keys without audiences are for the platform alone. Default: they are for all receivers. */
  readonly requireAudience?: boolean;
}): ReviewGuard {
  const { names, keys, authorizer, directory, sources, requireAudience = false } = deps;
  return ({ user, credential }, asker, asked = []) => {
    const key = credential === undefined ? undefined : keys.byId(credential.id);
    // A review shows neither where the bearer's request came from nor its connection, and its answer may serve for many requests.
    if (key !== undefined && (isBoundToSources(key, directory) || key.confirmation !== "" || key.maxUses !== undefined))
      return false;
    if (key !== undefined && !isForAsker(key.audiences, asker.user, asked, { names, requireAudience })) return false;
    const restrictions = key?.restrictions;
    const request = requestTo(asker.user, names);
    if (request !== undefined && request.target !== "Cluster" && sources.rangesOf(request.project).length > 0)
      return false;
    if (restrictions === undefined) return true;
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

/**
 * A cluster proves its audience by the key that it asks with. Other audiences are those that the review names, which its sender chooses: it is to be sure that
 * the key is meant for it.
 */
export function isForAsker(
  audiences: Audiences,
  { name }: Pick<UserInfo, "name">,
  asked: readonly string[],
  { names, requireAudience }: { readonly names: PlatformNames; readonly requireAudience: boolean },
): boolean {
  if (audiences.length === 0) return !requireAudience;
  if (isClusterIdentity(name, names) && audiences.includes(name)) return true;
  if (asked.length === 0) return !isClusterIdentity(name, names) && audiences.includes(platformAudience(names));
  return asked.some((audience) => audiences.includes(audience) && !isReservedAudience(audience, names));
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
