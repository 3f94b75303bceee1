// The escalation check on members and owner of a project: you can only grant roles that you have.

import type { PlatformNames } from "@postern/api/platform-names";
import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { EscalationCheck } from "@postern/kubernetes/builtin/rbac/escalation-check";
import { PROJECT_ADMIN } from "../built-in-roles.ts";
import { projectRoleOf } from "../role-aliases.ts";
import { readProjectMembership } from "./project-memberships.ts";

/** Throws 403 for a ClusterRole that the caller neither holds in the project nor may `bind`; `old` on an update. */
export type MembershipCheck = (
  project: KubeObject,
  old: KubeObject | undefined,
  context: RequestContext,
) => Promise<void>;

export function createMembershipCheck(deps: {
  readonly names: PlatformNames;
  readonly escalation: Pick<EscalationCheck, "whyNotBind">;
}): MembershipCheck {
  const { names, escalation } = deps;
  return async (project, old, context) => {
    const before = old && new Set(grantsOf(old, names).map(grantText));
    const { name = "" } = project.metadata;
    const checked = new Set<string>();
    for (const grant of grantsOf(project, names)) {
      const { field, clusterRole } = grant;
      if (before?.has(grantText(grant)) || checked.has(clusterRole)) continue;
      checked.add(clusterRole);
      const why = await escalation.whyNotBind(clusterRole, names.projectNamespace(name), context);
      if (why === undefined) continue;
      throw forbiddenRequestError({ group: names.managementGroup, resource: "projects" }, name, `${field}: ${why}`);
    }
  };
}

type MembershipGrant = {
  readonly field: string;
  readonly kind: string;
  readonly name: string;
  readonly clusterRole: string;
};

const grantText = ({ kind, name, clusterRole }: MembershipGrant): string => JSON.stringify([kind, name, clusterRole]);

function grantsOf(project: KubeObject, names: PlatformNames): readonly MembershipGrant[] {
  const { owner, members } = readProjectMembership(project);
  const asAdmin = (field: string, kind: string, name: string): readonly MembershipGrant[] =>
    name === "" ? [] : [{ field, kind, name, clusterRole: names.role(PROJECT_ADMIN) }];
  const roles = members.map(({ kind, name, clusterRole }, at) => ({
    field: `spec.members[${at}].clusterRole`,
    kind,
    name,
    clusterRole: projectRoleOf(clusterRole, names),
  }));
  return [
    ...roles,
    ...asAdmin("spec.owner.user", "User", owner.user),
    ...asAdmin("spec.owner.team", "Team", owner.team),
  ];
}
