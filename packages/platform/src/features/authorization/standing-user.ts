// A caller without access that it was granted for a time: with this, it gives no lasting access to itself or others.

import type { PlatformNames } from "@postern/api/platform-names";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { EscalationCheck } from "@postern/kubernetes/builtin/rbac/escalation-check";

type GroupNames = Pick<PlatformNames, "accessRequestGroup">;

/** The same context for callers without such access. */
export function asStanding(context: RequestContext, { accessRequestGroup }: GroupNames): RequestContext {
  const { user } = context;
  const prefix = accessRequestGroup("");
  const groups = user.groups.filter((group) => !group.startsWith(prefix));
  return groups.length === user.groups.length ? context : context.with({ user: { ...user, groups } });
}

/** Roles and bindings last: they are written with standing permissions. */
export const standingEscalationCheck = (check: EscalationCheck, names: GroupNames): EscalationCheck => ({
  role: (role, old, context) => check.role(role, old, asStanding(context, names)),
  binding: (binding, old, context) => check.binding(binding, old, asStanding(context, names)),
});
