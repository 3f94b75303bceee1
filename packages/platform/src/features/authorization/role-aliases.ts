// The names of roles that clients of the original interface write, and the ClusterRoles that they mean here. Its command line shares a
// virtual cluster with `loft-cluster-space-admin`; its projects name their members' roles `loft-management-project-admin` and so on.

import type { PlatformNames } from "@postern/api/platform-names";
import { PROJECT_ADMIN, PROJECT_USER, PROJECT_VIEWER } from "./built-in-roles.ts";

type Names = Pick<PlatformNames, "name" | "role">;

/** The ClusterRole inside a virtual cluster or space that a rule of its instance names. */
export function insideRoleOf(clusterRole: string, { name }: Pick<Names, "name">): string {
  const known: { readonly [role: string]: string } = {
    [`${name}-cluster-space-admin`]: "admin",
    [`${name}-cluster-space-default`]: "edit",
  };
  return Object.hasOwn(known, clusterRole) ? (known[clusterRole] ?? clusterRole) : clusterRole;
}

/** The ClusterRole in the management API that a member of a project has. */
export function projectRoleOf(clusterRole: string, { name, role }: Names): string {
  const suffix = clusterRole.startsWith(`${name}-management-`) ? clusterRole.slice(`${name}-management-`.length) : "";
  return PROJECT_ROLES.includes(suffix) ? role(suffix) : clusterRole;
}

const PROJECT_ROLES: readonly string[] = [PROJECT_ADMIN, PROJECT_USER, PROJECT_VIEWER];
