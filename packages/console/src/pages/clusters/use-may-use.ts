// The hook for who may use a virtual cluster, from all that the signed-in user can see.

import type { AccessRequest } from "@postern/api/access-request";
import type { Project } from "@postern/api/project";
import type { Team } from "@postern/api/team";
import type { User } from "@postern/api/user";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { useMemo } from "react";
import { useApi } from "../../api/api-context.tsx";
import {
  ACCESS_REQUESTS,
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  type ClusterRole,
  type ClusterRoleBinding,
  nameOf,
  PROJECTS,
  TEAMS,
  USERS,
} from "../../api/resources.ts";
import { useLive, useLiveObject } from "../../api/use-live.ts";
import { useMay } from "../../api/use-may.ts";
import { namespaceOf } from "../../settings.ts";
import { createMayUse, type MayUse } from "./may-use.ts";

const RBAC = "rbac.authorization.k8s.io";

export function useMayUse(cluster: VirtualClusterInstance, project: string): MayUse {
  const { session } = useApi();
  const { object } = useLiveObject<Project>(PROJECTS, project);
  const { items: users } = useLive<User>(USERS);
  const { items: teams } = useLive<Team>(TEAMS);
  const { items: requests } = useLive<AccessRequest>(ACCESS_REQUESTS);
  const seesRoles = useMay({ verb: "list", group: RBAC, resource: "clusterroles" });
  const { items: roles } = useLive<ClusterRole>(CLUSTER_ROLES, { isWanted: seesRoles.isAllowed });
  const seesBindings = useMay({ verb: "list", group: RBAC, resource: "clusterrolebindings" });
  const { items: bindings } = useLive<ClusterRoleBinding>(CLUSTER_ROLE_BINDINGS, { isWanted: seesBindings.isAllowed });
  // Members see no bindings: the server answers for them.
  const own = useMay({
    verb: "use",
    resource: "virtualclusterinstances",
    namespace: namespaceOf(project),
    name: nameOf(cluster),
  });
  return useMemo(() => {
    const mayUse = createMayUse({ cluster, project: object, users, teams, roles, bindings, requests });
    const isOwn = ({ kind, name }: Parameters<MayUse>[0]): boolean => kind === "user" && name === session.user;
    return (owner) => (isOwn(owner) && own.isKnown ? own.isAllowed : mayUse(owner));
  }, [cluster, object, users, teams, roles, bindings, requests, session.user, own.isKnown, own.isAllowed]);
}
