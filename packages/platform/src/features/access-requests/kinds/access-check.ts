// Conditions for a request to be granted, and for as long as it is: checked when it is asked for, when it takes effect, and afterwards.

import { createHash } from "node:crypto";
import type { AccessApproval, AccessRequest } from "@postern/api/access-request";
import { RBAC_GROUP } from "@postern/apiserver/authorization/rbac/policy-rule";
import type { Foundation } from "../../../foundation/foundation.ts";
import { accessKeyIdentity } from "../../access-keys/access-key-identity.ts";
import type { Authorization } from "../../authorization/feature.ts";
import { getRequest, managementRequest } from "../../authorization/request/platform-request.ts";
import { insideRoleOf, projectRoleOf } from "../../authorization/role-aliases.ts";
import type { Directory, DirectoryUser } from "../../directory/directory.ts";
import { insideRoles } from "../../virtual-clusters/inside-roles.ts";
import { ACCESS_POLICIES, CLUSTER_ACCESS_POLICIES } from "../access-policies.ts";
import { type AccessPolicyState, isListedApprover, mayAsk, offersAccess } from "../access-policy-state.ts";
import type { AccessRequests } from "../feature.ts";
import { digestOfUser, isSamePerson, type Person, personOf } from "../person.ts";
import { type AccessPlace, describePlace, placeOf, policyOf } from "../request-record.ts";

/** Why access is not, or no longer, granted: a reason for programs, and a message for people. */
export type AccessFault = { readonly reason: string; readonly message: string };

export type AccessCheck = {
  policyOf(spec: AccessRequest["spec"]): AccessPolicyState | undefined;
  /** Undefined if there is no such object. */
  uidOf(place: AccessPlace): string | undefined;
  /** As the roles of policies are compared. */
  roleOf(place: AccessPlace, role: string | undefined): string;
  /** "" for roles that the management API does not know. */
  digestOf(place: AccessPlace, role: string): string;
  /** Whether the platform binds the role inside the virtual cluster; true for other places. */
  isBoundInside(place: AccessPlace, role: string): boolean;
  /** Whether a user has the verb approve on the policy, by its roles as they are now. */
  mayApproveByRole(policy: AccessPolicyState, person: Person): boolean;
  /** Why a request is not granted any more. A pending one needs the policy that it was asked for by. */
  faultOf(request: AccessRequest): AccessFault | undefined;
  /** Why an approval does not count. `others` came before it. */
  approvalFault(
    request: AccessRequest,
    policy: AccessPolicyState,
    approver: Person,
    others: readonly AccessApproval[],
  ): AccessFault | undefined;
};

export function createAccessCheck(
  { names, lookup }: Foundation,
  { policies, labelsOf }: AccessRequests,
  directory: Directory,
  { rbac, authorizer }: Authorization,
): AccessCheck {
  const asks = new AskMemo();
  const check: AccessCheck = {
    policyOf: (spec) => policies.get(policyOf(spec, names.projectNamespace)),
    uidOf(place) {
      if ("cluster" in place) return lookup.cluster(place.cluster)?.metadata.uid;
      const { project, virtualCluster } = place;
      if (virtualCluster === undefined) return lookup.project(project)?.metadata.uid;
      return lookup.virtualClusterInstance(names.projectNamespace(project), virtualCluster)?.metadata.uid;
    },
    roleOf(place, role = "") {
      if ("cluster" in place) return role;
      return place.virtualCluster === undefined ? projectRoleOf(role, names) : insideRoleOf(role, names);
    },
    digestOf(place, role) {
      if ("cluster" in place || place.virtualCluster !== undefined) return "";
      const rules = rbac.rulesOf({ apiGroup: RBAC_GROUP, kind: "ClusterRole", name: role }, "")?.rules;
      return createHash("sha256")
        .update(JSON.stringify(rules ?? null))
        .digest("base64url");
    },
    isBoundInside(place, role) {
      if ("cluster" in place || place.virtualCluster === undefined) return true;
      const instance = lookup.virtualClusterInstance(names.projectNamespace(place.project), place.virtualCluster);
      return instance !== undefined && insideRoles(instance, names).includes(role);
    },
    mayApproveByRole({ kind, namespace, name }, { user }) {
      const owner = { kind: "user", name: user.name } as const;
      const resource = kind === "AccessPolicy" ? ACCESS_POLICIES : CLUSTER_ACCESS_POLICIES;
      const asked = {
        ...getRequest(names.managementGroup, resource, namespace, name),
        verb: "approve",
      };
      // Without a credential, so without access that it was granted for a time.
      const identity = accessKeyIdentity({ id: "", owner, groups: [] }, { directory, names });
      return authorizer.decide(managementRequest(asked), { user: identity }).verdict === "allow";
    },
    faultOf(request) {
      const { spec, status = {} } = request;
      const place = placeOf(spec.target);
      const policy = check.policyOf(spec);
      if (policy === undefined || policy.uid !== status.policy?.uid)
        return { reason: "PolicyGone", message: "the policy was deleted" };
      if (policy.isOff) return { reason: "PolicyDisabled", message: "the policy is disabled" };
      if (status.phase === "Pending" && policy.generation !== Number(status.policy.generation))
        return { reason: "PolicyChanged", message: "the policy has changed since the request: ask again" };
      const person = personOf(status.requester?.user ?? "", directory);
      if (person === undefined || person.user.uid !== status.requester?.userUID)
        return { reason: "RequesterGone", message: "the requester was deleted or is locked" };
      if (!asks.mayAsk(policy, person))
        return { reason: "RequesterNotAllowed", message: "the policy does not allow the requester to ask any more" };
      if (place === undefined || check.uidOf(place) !== status.targetUID)
        return { reason: "TargetGone", message: "the target was deleted" };
      const role = check.roleOf(place, spec.role);
      if (!offersAccess(policy, place, role, labelsOf))
        return { reason: "PolicyChanged", message: "the policy does not offer the access any more" };
      if (check.digestOf(place, role) !== (status.roleDigest ?? ""))
        return { reason: "RoleChanged", message: `the role ${role} has changed since the request: ask again` };
      return undefined;
    },
    approvalFault({ status = {} }, policy, approver, others) {
      const { user } = approver;
      const requester = personOf(status.requester?.user ?? "", directory);
      if (requester === undefined)
        return { reason: "RequesterGone", message: "the requester was deleted or is locked" };
      if (!policy.approvers.allowRequester && isSamePerson(user, requester.user))
        return { reason: "OwnRequest", message: "the policy does not allow requesters to approve their own requests" };
      const isListed = isListedApprover(policy, approver);
      const wasListed = isListed && (status.approverDigests ?? []).includes(digestOfUser(user));
      const mayApprove = wasListed || check.mayApproveByRole(policy, approver);
      if (!mayApprove && !isListed)
        return { reason: "NotAnApprover", message: `user ${user.name} is not an approver of the policy` };
      if (!mayApprove)
        return {
          reason: "ApproverSince",
          message: `user ${user.name} became an approver after the request was made`,
        };
      const isSecond = others.some((approval) => {
        const other = directory.user(approval.user ?? "");
        return approval.userUID === user.uid || (other !== undefined && isSamePerson(other, user));
      });
      if (isSecond) return { reason: "AlreadyApproved", message: `user ${user.name} has approved the request already` };
      return undefined;
    },
  };
  return check;
}

/** Each change has all open requests looked at: expressions are evaluated again only for users and policies that have changed. */
class AskMemo {
  readonly #known = new WeakMap<
    AccessPolicyState,
    WeakMap<DirectoryUser, { readonly teams: string; readonly may: boolean }>
  >();

  mayAsk(policy: AccessPolicyState, person: Person): boolean {
    const byUser = this.#known.get(policy) ?? new WeakMap();
    this.#known.set(policy, byUser);
    const teams = JSON.stringify(person.teams);
    const before = byUser.get(person.user);
    if (before?.teams === teams) return before.may;
    const may = mayAsk(policy, person);
    byUser.set(person.user, { teams, may });
    return may;
  }
}

/** For people: what a request asks for. */
export function describeAccess({ spec, status }: AccessRequest): string {
  const role = spec.role === undefined ? "" : ` as ${spec.role}`;
  return `${status?.requester?.user ?? "a user"} to ${describePlace(placeOf(spec.target))}${role}`;
}
