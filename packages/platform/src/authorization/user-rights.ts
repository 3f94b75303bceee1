// What a user may do, whatever credential it came with: by roles, by what it owns, and by the lists that anybody may ask for.

import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import { createRbacAuthorizer } from "@postern/apiserver/authorization/rbac/rbac-authorizer";
import { combinedRights, type Rights } from "@postern/apiserver/authorization/rights";
import type { PlatformNames } from "../platform-names.ts";
import { isAuthenticated } from "./caller.ts";
import type { DecisionCode, DecisionDeps } from "./decision.ts";
import { isFilteredList } from "./filtered-resources.ts";
import { ownerRight } from "./owner-rights.ts";
import { managementRequest, type PlatformRequest, type TargetedRequest } from "./platform-request.ts";

export type UserRight =
  | { readonly allowed: true; readonly code: DecisionCode; readonly reason: string }
  /** `reason` is set when something was wrong with the roles. */
  | { readonly allowed: false; readonly reason: string };

export type UserRights = {
  /** What the answers follow from. */
  readonly rights: Rights;
  of(user: UserInfo, request: PlatformRequest): UserRight;
};

export function createUserRights(deps: Omit<DecisionDeps, "keys">): UserRights {
  const { names, rbac, projects, instances } = deps;
  const roles = createRbacAuthorizer({ source: rbac });
  const ownership = { names, roles: rbac, projects, instances };
  return {
    rights: combinedRights([rbac, projects, instances]),
    of(user, request) {
      const asked = request.target === "Management" ? request.inner : useRequest(request, names);
      const byRole = roles.authorize({ ...asked, user, apiVersion: "*" });
      if (byRole.verdict === "allow") return { allowed: true, code: "role", reason: byRole.reason };
      const owned = ownerRight(user, asked, ownership);
      if (owned !== undefined) return { allowed: true, ...owned };
      if (isFilteredList(managementRequest(asked), names) && isAuthenticated(user)) {
        return { allowed: true, code: "filtered-list", reason: "lists show what the caller may get" };
      }
      return { allowed: false, reason: byRole.reason };
    },
  };
}

/** What the way through a proxy asks of the management API: to `use` what is behind it. */
export function useRequest(
  request: Exclude<PlatformRequest, { readonly target: "Management" }>,
  names: PlatformNames,
): TargetedRequest {
  const use = { isResourceRequest: true, verb: "use", apiGroup: names.managementGroup, subresource: "", path: "" };
  switch (request.target) {
    case "Cluster":
      return { ...use, resource: "clusters", namespace: "", name: request.cluster };
    case "ProjectSpace":
      return {
        ...use,
        resource: "spaceinstances",
        namespace: names.projectNamespace(request.project),
        name: request.space,
      };
    case "ProjectVirtualCluster":
      return {
        ...use,
        resource: "virtualclusterinstances",
        namespace: names.projectNamespace(request.project),
        name: request.virtualCluster,
      };
  }
}
