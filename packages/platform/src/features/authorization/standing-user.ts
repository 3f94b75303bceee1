// A caller without access that it was granted for a time: with this, it gives no lasting access to itself or others.

import type { PlatformNames } from "@postern/api/platform-names";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { EscalationCheck } from "@postern/kubernetes/builtin/rbac/escalation-check";
import { standingUser } from "./held-grant.ts";

type GroupNames = Pick<PlatformNames, "accessRequestGroup">;

/** The same context for callers without such access. */
export function asStanding(context: RequestContext, names: GroupNames): RequestContext {
  const user = standingUser(context.user, names);
  return user === context.user ? context : context.with({ user });
}

/** Roles and bindings last: they are written with standing permissions. */
export const standingEscalationCheck = (check: EscalationCheck, names: GroupNames): EscalationCheck => ({
  role: (role, old, context) => check.role(role, old, asStanding(context, names)),
  binding: (binding, old, context) => check.binding(binding, old, asStanding(context, names)),
  whyNotBind: (role, namespace, context) => check.whyNotBind(role, namespace, asStanding(context, names)),
});
