// The escalation check on members and owner of a project: you can only grant roles that you have.

import type { PlatformNames } from "@postern/api/platform-names";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { RBAC_GROUP } from "@postern/apiserver/authorization/rbac/policy-rule";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { EscalationCheck } from "@postern/kubernetes/builtin/rbac/escalation-check";
import { PROJECT_ADMIN } from "./built-in-roles.ts";
import { readProjectMembership } from "./project-memberships.ts";
import { projectRoleOf } from "./role-aliases.ts";

/** Throws 403 for a ClusterRole that the caller neither holds in the project nor may `bind`; `old` on an update. */
export type MembershipCheck = (
  project: KubeObject,
  old: KubeObject | undefined,
  context: RequestContext,
) => Promise<void>;

export function createMembershipCheck(deps: {
  readonly names: PlatformNames;
  readonly escalation: Pick<EscalationCheck, "binding">;
}): MembershipCheck {
  const { names, escalation } = deps;
  return async (project, old, context) => {
    const before = old && new Set(grantsOf(old, names).map(grantText));
    const given = grantsOf(project, names).filter((grant) => !before?.has(grantText(grant)));
    for (const clusterRole of new Set(given.map((grant) => grant.clusterRole))) {
      await escalation.binding(asBinding(clusterRole, project, names), undefined, context);
    }
  };
}

type MembershipGrant = { readonly kind: string; readonly name: string; readonly clusterRole: string };

const grantText = ({ kind, name, clusterRole }: MembershipGrant): string => JSON.stringify([kind, name, clusterRole]);

function grantsOf(project: KubeObject, names: PlatformNames): readonly MembershipGrant[] {
  const { owner, members } = readProjectMembership(project);
  const asAdmin = (kind: string, name: string): readonly MembershipGrant[] =>
    name === "" ? [] : [{ kind, name, clusterRole: names.role(PROJECT_ADMIN) }];
  const roles = members.map((member) => ({ ...member, clusterRole: projectRoleOf(member.clusterRole, names) }));
  return [...roles, ...asAdmin("User", owner.user), ...asAdmin("Team", owner.team)];
}

/** Role and namespace of the RoleBinding that corresponds to a membership. */
const asBinding = (clusterRole: string, project: KubeObject, names: PlatformNames): KubeObject => ({
  ...project,
  kind: "RoleBinding",
  metadata: { namespace: names.projectNamespace(project.metadata.name ?? ""), name: clusterRole },
  roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: clusterRole },
});
