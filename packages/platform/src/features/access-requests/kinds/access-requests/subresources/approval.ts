// POST accessrequests/{name}/approval: a decision on a request. Decided again on the newest state of the request when writes collide.

import {
  type AccessApprovalRequest,
  type AccessDecision,
  type AccessRequest,
  type AccessRequestStatus,
  accessApprovalSchema,
} from "@postern/api/access-request";
import { conflictError, forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp, parseTimestamp } from "@postern/apimachinery/time/timestamp";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Subresource } from "@postern/apiserver/registry/resource-definition";
import { createOptionsOf, isDryRun } from "@postern/apiserver/request/query-options";
import type { Foundation } from "../../../../../foundation/foundation.ts";
import { isListedApprover } from "../../../access-policy-state.ts";
import { isSamePerson, type Person, personOf } from "../../../person.ts";
import { ACCESS_REQUESTS } from "../../../request-record.ts";
import { callerOf, isKeyMadeBy } from "../../access-caller.ts";
import type { AccessRequestNeeds, AccessRequestParts } from "../../needs.ts";
import type { AccessEventReason } from "../announce-access.ts";
import { approvedStatus, endedStatus, isOpenStatus, reviewedStatus } from "../request-status.ts";

type Decided = { readonly status: AccessRequestStatus; readonly event: AccessEventReason | undefined };

const MADE_BY_REQUESTER = "the access key of the request was created by the requester";

export const approval = (
  { names, own, runtime: { clock } }: Foundation,
  needs: AccessRequestNeeds,
  { check, writes, announce }: AccessRequestParts,
): Subresource => {
  const target = { group: names.managementGroup, resource: ACCESS_REQUESTS };
  return {
    name: "approval",
    kind: { group: names.managementGroup, version: "v1", kind: "AccessApproval" },
    schema: accessApprovalSchema,
    description: "Decides on the access request: approves, denies, withdraws, revokes or reviews it.",
    async create(context, body) {
      const person = callerOf(context, needs);
      const { name } = context.info;
      // The schema of the kind has checked it.
      const { spec } = body as AccessApprovalRequest;
      const { servedStore, genericStore } = own("AccessRequest");
      // Throws 404 where the caller does not see it.
      const seen = await servedStore.get?.(context, "", name, { resourceVersion: "" });
      const uid = seen?.decode().metadata.uid ?? "";
      context.audit.annotate(names.key("access-request-decided"), name);
      let event: AccessEventReason | undefined;
      const transform = (current: KubeObject): KubeObject => {
        const decided = decide(current as AccessRequest, spec.decision, spec.message ?? "", person, context);
        ({ event } = decided);
        return { ...current, status: decided.status as unknown as KubeObject };
      };
      const isDry = isDryRun(createOptionsOf(context.request.query));
      const { object } = await writes.during(context, () =>
        genericStore.update(context, "", name, { uid, transform, subresource: "" }, { dryRun: isDry }),
      );
      const request = object.decode() as AccessRequest;
      if (event !== undefined && !isDry) announce.changed(request, event, person.user.name);
      const { phase, approvals = [], requiredApprovals, expirationTimestamp } = request.status ?? {};
      return {
        ...body,
        metadata: { name },
        status: {
          phase: phase ?? "Pending",
          approvals: approvals.length,
          requiredApprovals: Number(requiredApprovals ?? 1),
          ...(phase === "Approved" && expirationTimestamp ? { expirationTimestamp } : {}),
        },
      };
    },
  };

  function decide(
    request: AccessRequest,
    decision: AccessDecision,
    message: string,
    person: Person,
    context: RequestContext,
  ): Decided {
    const { status = {} } = request;
    const now = clock.now();
    const by = person.user.name;
    const name = request.metadata.name ?? "";
    const refuse = (why: string) => forbiddenRequestError(target, name, why);
    const conflict = (why: string) => conflictError(target, name, why);
    const isRequester = status.requester?.userUID === person.user.uid;
    const withMessage = (text: string) => (message === "" ? text : `${text}: ${message}`);

    if (decision === "Withdraw") {
      if (!isRequester) throw refuse("only the requester may withdraw it");
      if (!isOpenStatus(status)) throw conflict(`it is ${status.phase} already`);
      const why = { reason: "Withdrawn", message: withMessage(`withdrawn by ${by}`), by };
      return { status: endedStatus(status, "Withdrawn", why, now), event: "AccessWithdrawn" };
    }

    const policy = check.policyOf(request.spec);
    const mayDecide =
      policy !== undefined && (isListedApprover(policy, person) || check.mayApproveByRole(policy, person));
    switch (decision) {
      case "Deny": {
        if (!mayDecide) throw refuse(`user ${by} is not an approver of the policy`);
        if (status.phase !== "Pending") throw conflict(`it is ${status.phase} already`);
        const why = { reason: "Denied", message: withMessage(`denied by ${by}`), by };
        return { status: endedStatus(status, "Denied", why, now), event: "AccessDenied" };
      }
      case "Revoke": {
        if (!mayDecide) throw refuse(`user ${by} is not an approver of the policy`);
        if (status.phase !== "Approved") throw conflict(`it is ${status.phase}`);
        const why = { reason: "Revoked", message: withMessage(`revoked by ${by}`), by };
        return { status: endedStatus(status, "Revoked", why, now), event: "AccessRevoked" };
      }
      case "Review": {
        // Known by its account, also while it is locked.
        const requester = needs.directory.user(status.requester?.user ?? "");
        if (status.approvalMode !== "Emergency") throw conflict("it was not taken in an emergency");
        if (!mayDecide || isRequester || (requester !== undefined && isSamePerson(requester, person.user)))
          throw refuse(`user ${by} may not review it`);
        if (requester !== undefined && isKeyMadeBy(context, requester, needs)) throw refuse(MADE_BY_REQUESTER);
        return { status: reviewedStatus(status, by, message, now), event: "AccessReviewed" };
      }
      case "Approve":
        break;
    }

    if (status.phase !== "Pending") throw conflict(`it is ${status.phase} already`);
    // The leading server may not have looked at it yet.
    if ((parseTimestamp(status.expirationTimestamp ?? "") ?? 0) <= now) throw conflict("it was not approved in time");
    const fault = check.faultOf(request);
    if (policy === undefined || fault !== undefined) throw conflict(fault?.message ?? "the policy was deleted");
    const before = status.approvals ?? [];
    const mine = check.approvalFault(request, policy, person, before);
    if (mine?.reason === "AlreadyApproved") throw conflict(mine.message);
    if (mine !== undefined) throw refuse(mine.message);
    const requester = personOf(status.requester?.user ?? "", needs.directory);
    if (!policy.approvers.allowRequester && requester !== undefined && isKeyMadeBy(context, requester.user, needs))
      throw refuse(MADE_BY_REQUESTER);
    const approvals = [
      ...before.filter((approval, at) => {
        // An earlier approval counts only if it would be given now.
        const other = personOf(approval.user ?? "", needs.directory);
        if (other === undefined || other.user.uid !== approval.userUID) return false;
        return check.approvalFault(request, policy, other, before.slice(0, at)) === undefined;
      }),
      { user: by, userUID: person.user.uid, time: formatTimestamp(now), ...(message === "" ? {} : { message }) },
    ];
    if (approvals.length < policy.approvers.count) return { status: { ...status, approvals }, event: undefined };
    return { status: approvedStatus(status, "People", approvals, now), event: "AccessApproved" };
  }
};
