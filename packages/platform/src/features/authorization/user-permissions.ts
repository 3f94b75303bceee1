// The permissions of a user with any credential: by roles, by ownership, and by the lists that are open to all.

import type { PlatformNames } from "@postern/api/platform-names";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import { combinedPolicyVersion, type PolicyVersion } from "@postern/apiserver/authorization/policy-version";
import { createRbacAuthorizer } from "@postern/apiserver/authorization/rbac/rbac-authorizer";
import { isAuthenticated } from "./caller.ts";
import { aboutInstance, isFilteredList } from "./filtered-resources.ts";
import { ownerPermission } from "./owner-permissions.ts";
import type { DecisionCode, DecisionDeps } from "./platform-decision.ts";
import {
  managementRequest,
  type PlatformRequest,
  type TargetedRequest,
  type VirtualClusterRequest,
} from "./request/platform-request.ts";

export type UserRight =
  | {
      readonly allowed: true;
      readonly code: DecisionCode;
      readonly reason: string;
      /** Name of the access request that gives the right for a time. */
      readonly accessRequest?: string;
    }
  /** `reason` is set when something was wrong with the roles. */
  | { readonly allowed: false; readonly reason: string };

type UserPermissions = {
  /** Version of all that the answers follow from. */
  readonly policyVersion: PolicyVersion;
  of(user: UserInfo, request: PlatformRequest): UserRight;
};

export function createUserPermissions(deps: Omit<DecisionDeps, "keys">): UserPermissions {
  const { names, rbac, projects, instances, grantedClusters } = deps;
  const roles = createRbacAuthorizer({ source: rbac });
  const ownership = {
    names,
    roles: rbac,
    projects,
    instances,
    ...(grantedClusters === undefined ? {} : { grantedClusters }),
  };
  /** The access request behind a role that the caller has inside: other rights of it may let it in. */
  const requestInside = (user: UserInfo, { project, virtualCluster }: VirtualClusterRequest): string | undefined => {
    const instance = instances.get("virtualclusterinstances", names.projectNamespace(project), virtualCluster);
    const held = [
      ...(instance?.extraAccessRules.of(user, names) ?? []),
      ...(projects.get(project)?.members.of(user, names) ?? []),
    ];
    return held.find(({ accessRequest }) => accessRequest !== undefined)?.accessRequest;
  };
  const granted = grantedClusters === undefined ? [] : [grantedClusters];
  const rightTo = (user: UserInfo, asked: TargetedRequest, request: PlatformRequest): UserRight => {
    const byRole = roles.authorize({ ...asked, user, apiVersion: "*" });
    const inside = request.target === "ProjectVirtualCluster" ? requestInside(user, request) : undefined;
    const withRequest = inside === undefined ? {} : { accessRequest: inside };
    if (byRole.verdict === "allow") return { allowed: true, code: "role", reason: byRole.reason, ...withRequest };
    const owned = ownerPermission(user, asked, ownership);
    if (owned !== undefined) return { allowed: true, ...withRequest, ...owned };
    if (isFilteredList(managementRequest(asked), names) && isAuthenticated(user)) {
      return { allowed: true, code: "filtered-list", reason: "lists show what the caller may get" };
    }
    return { allowed: false, reason: byRole.reason };
  };
  return {
    policyVersion: combinedPolicyVersion([rbac, projects, instances, ...granted]),
    of(user, request) {
      const asked = request.target === "Management" ? request.inner : useRequest(request, names);
      const right = rightTo(user, asked, request);
      const about = aboutInstance(asked, names);
      if (right.allowed || about === asked) return right;
      const onInstance = rightTo(user, about, request);
      return onInstance.allowed ? onInstance : right;
    },
  };
}

/** Request to the management API that goes with a request through a proxy: to `use` the object behind it. */
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
