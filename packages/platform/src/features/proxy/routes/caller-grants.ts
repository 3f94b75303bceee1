// The access for a time that a caller needs where it goes: credentials that it gets there end with it.

import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { HeldGrant } from "../../authorization/granted-access.ts";
import { heldGrantOf, standingUser } from "../../authorization/held-grant.ts";
import { insideIdentity } from "../../authorization/inside/inside-groups.ts";
import type { ProxyPath } from "../../authorization/request/proxy-path.ts";
import type { ProxyDeps } from "./proxy-decision.ts";

type GrantDeps = Pick<ProxyDeps, "names" | "sources" | "authorizer" | "granted">;

/** Undefined where the caller could do the same without one. */
export function grantOfCaller(
  { user, credential, info }: Pick<RequestContext, "user" | "credential" | "info">,
  { destination }: Pick<ProxyPath, "destination">,
  { names, sources, authorizer, granted }: GrantDeps,
): HeldGrant | undefined {
  if (destination.target !== "Cluster") {
    const inside = (of: typeof user, place: Parameters<typeof insideIdentity>[1]) => insideIdentity(of, place, sources);
    return heldGrantOf({ user }, destination, { names, insideIdentity: inside, granted });
  }
  const [held] = granted.reachingCluster(user.groups, destination.cluster);
  if (held === undefined) return undefined;
  const standing = authorizer.decide({ ...destination, inner: info }, { user: standingUser(user, names), credential });
  return standing.verdict === "allow" ? undefined : held;
}
