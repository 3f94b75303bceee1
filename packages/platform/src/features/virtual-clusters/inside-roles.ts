// The ClusterRoles that the platform gives inside virtual clusters and spaces.

import type { PlatformNames } from "@postern/api/platform-names";
import type { SpaceInstance } from "@postern/api/space-instance";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { insideRoleOf } from "../authorization/role-aliases.ts";

/** For owners and administrators, users and viewers of the project. */
export const STANDARD_ROLES: readonly string[] = ["cluster-admin", "edit", "view"];

/** All roles that can be granted inside, without duplicates. */
export function insideRoles(
  { spec }: VirtualClusterInstance | SpaceInstance,
  names: Pick<PlatformNames, "name">,
): readonly string[] {
  const extra = (spec?.extraAccessRules ?? []).flatMap(({ clusterRole = "" }) =>
    clusterRole === "" ? [] : [insideRoleOf(clusterRole, names)],
  );
  return [...new Set([...STANDARD_ROLES, ...extra])];
}
