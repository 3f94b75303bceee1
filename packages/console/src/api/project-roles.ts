// The roles of the signed-in user in a project, and the projects whose access reviews answer for all others.

import type { Project } from "@postern/api/project";
import { nameOf } from "./resources.ts";
import type { SelfStatus } from "./use-self.ts";

/** The role of an owner, who is no member. */
const OWNER = "owner";
/** Each is a request. */
const MOST_ASKED = 8;

type Roles = (project: Project) => readonly string[];

/** ClusterRoles that the user has as a member, also of a team. Owners have none of them by that. */
export function memberRoles({ user, team }: SelfStatus): Roles {
  const teams = new Set([...(user?.teams ?? []), ...(team === undefined ? [] : [team])].map(({ name }) => name));
  return ({ spec }) =>
    (spec?.members ?? [])
      .filter(({ kind, name }) => (kind === "Team" ? teams.has(name) : name === user?.name))
      .map(({ clusterRole }) => clusterRole);
}

/**
 * The names of at most `MOST_ASKED` projects; a member may have thousands of them. First comes one for each different set of roles: what is allowed
 * in it is allowed in the others with the same roles. Roles that a project has beside its members are asked about as far as there is room.
 */
export function projectsToAsk(projects: readonly Project[], self: SelfStatus): readonly string[] {
  const rolesIn = memberRoles(self);
  const teams = new Set(self.user?.teams?.map(({ name }) => name));
  const isOwner = ({ spec: { owner } = {} }: Project): boolean =>
    owner !== undefined && (owner.team === undefined ? owner.user === self.user?.name : teams.has(owner.team));
  const byRoles = new Map<string, string>();
  const others: string[] = [];
  for (const project of [...projects].sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1))) {
    const roles = [...(isOwner(project) ? [OWNER] : []), ...rolesIn(project)].sort().join(" ");
    if (byRoles.has(roles)) others.push(nameOf(project));
    else byRoles.set(roles, nameOf(project));
  }
  return [...byRoles.values(), ...others].slice(0, MOST_ASKED);
}
