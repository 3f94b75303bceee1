// One decision on an access request, by its state and the policy as they are now: the status that it leads to, or the refusal.

import type { AccessApproval, AccessDecision, AccessRequest, AccessRequestStatus } from "@postern/api/access-request";
import { conflictError, forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import { formatTimestamp, parseTimestamp } from "@postern/apimachinery/time/timestamp";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Foundation } from "../../../../../foundation/foundation.ts";
import { type AccessPolicyState, isListedApprover } from "../../../access-policy-state.ts";
import { isSamePerson, type Person, personOf } from "../../../person.ts";
import { ACCESS_REQUESTS } from "../../../request-record.ts";
import { isKeyMadeBy } from "../../access-caller.ts";
import type { AccessRequestNeeds, AccessRequestParts } from "../../needs.ts";
import type { AccessEventReason } from "../announce-access.ts";
import { approvedStatus, endedStatus, isOpenStatus, reviewedStatus } from "../request-status.ts";

export type Decided = { readonly status: AccessRequestStatus; readonly event: AccessEventReason | undefined };

export type DecisionCall = {
  readonly decision: AccessDecision;
  /** Empty without one. */
  readonly message: string;
  readonly person: Person;
  readonly context: RequestContext;
};

/** Phase and reason of a request that a decision ended. */
type EndReason = "Withdrawn" | "Denied" | "Revoked";

const MADE_BY_REQUESTER = "the access key of the request was created by the requester";

/** The returned function throws ApiErrors 403 and 409. */
export function createDecideRequest(
  { names, runtime: { clock } }: Foundation,
  needs: AccessRequestNeeds,
  check: AccessRequestParts["check"],
): (request: AccessRequest, call: DecisionCall) => Decided {
  return (request, { decision, message, person, context }) => {
    const { status = {} } = request;
    const now = clock.now();
    const by = person.user.name;
    const target = { group: names.managementGroup, resource: ACCESS_REQUESTS };
    const refuse = (why: string) => forbiddenRequestError(target, request.metadata.name ?? "", why);
    const conflict = (why: string) => conflictError(target, request.metadata.name ?? "", why);
    const isRequester = status.requester?.userUID === person.user.uid;
    const policy = check.policyOf(request.spec);

    switch (decision) {
      case "Withdraw":
        if (!isRequester) throw refuse("only the requester may withdraw it");
        if (!isOpenStatus(status)) throw conflict(`it is ${status.phase} already`);
        return { status: ended("Withdrawn"), event: "AccessWithdrawn" };
      case "Deny":
        checkApprover();
        if (status.phase !== "Pending") throw conflict(`it is ${status.phase} already`);
        return { status: ended("Denied"), event: "AccessDenied" };
      case "Revoke":
        checkApprover();
        if (status.phase !== "Approved") throw conflict(`it is ${status.phase}`);
        return { status: ended("Revoked"), event: "AccessRevoked" };
      case "Review":
        checkReviewer();
        return { status: reviewedStatus(status, by, message, now), event: "AccessReviewed" };
      case "Approve":
        return approved(openPolicy());
    }

    function ended(phase: EndReason): AccessRequestStatus {
      const text = `${phase.toLowerCase()} by ${by}`;
      const why = { reason: phase, message: message === "" ? text : `${text}: ${message}`, by };
      return endedStatus(status, phase, why, now);
    }

    function mayDecide(): boolean {
      return policy !== undefined && (isListedApprover(policy, person) || check.mayApproveByRole(policy, person));
    }

    function checkApprover(): void {
      if (!mayDecide()) throw refuse(`user ${by} is not an approver of the policy`);
    }

    function checkReviewer(): void {
      // Known by its account, also while it is locked.
      const requester = needs.directory.user(status.requester?.user ?? "");
      if (status.approvalMode !== "Emergency") throw conflict("it was not taken in an emergency");
      if (!mayDecide() || isRequester || (requester !== undefined && isSamePerson(requester, person.user)))
        throw refuse(`user ${by} may not review it`);
      if (requester !== undefined && isKeyMadeBy(context, requester, needs)) throw refuse(MADE_BY_REQUESTER);
    }

    /** The policy of a request that can still be approved. */
    function openPolicy(): AccessPolicyState {
      if (status.phase !== "Pending") throw conflict(`it is ${status.phase} already`);
      // The leading server may not have looked at it yet.
      if ((parseTimestamp(status.expirationTimestamp ?? "") ?? 0) <= now) throw conflict("it was not approved in time");
      const fault = check.faultOf(request);
      if (policy === undefined || fault !== undefined) throw conflict(fault?.message ?? "the policy was deleted");
      return policy;
    }

    function approved(open: AccessPolicyState): Decided {
      const before = status.approvals ?? [];
      const fault = check.approvalFault(request, open, person, before);
      if (fault?.reason === "AlreadyApproved") throw conflict(fault.message);
      if (fault !== undefined) throw refuse(fault.message);
      const requester = personOf(status.requester?.user ?? "", needs.directory);
      if (!open.approvers.allowRequester && requester !== undefined && isKeyMadeBy(context, requester.user, needs))
        throw refuse(MADE_BY_REQUESTER);
      const own = { user: by, userUID: person.user.uid, time: formatTimestamp(now) };
      const approvals = [
        ...before.filter((approval, at) => isStillGiven(approval, before.slice(0, at), open)),
        message === "" ? own : { ...own, message },
      ];
      if (approvals.length < open.approvers.count) return { status: { ...status, approvals }, event: undefined };
      return { status: approvedStatus(status, "People", approvals, now), event: "AccessApproved" };
    }

    /** An earlier approval counts only if it would be given now. */
    function isStillGiven(
      { user = "", userUID }: AccessApproval,
      earlier: readonly AccessApproval[],
      open: AccessPolicyState,
    ): boolean {
      const approver = personOf(user, needs.directory);
      if (approver === undefined || approver.user.uid !== userUID) return false;
      return check.approvalFault(request, open, approver, earlier) === undefined;
    }
  };
}
