// The state machine of an access request: Pending → Approved → Expired, or Denied, Withdrawn, Revoked.

import type { AccessApproval, AccessRequestPhase, AccessRequestStatus } from "@postern/api/access-request";
import { withCondition } from "@postern/api/conditions";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";

export type ApprovalMode = "People" | "Automatic" | "Emergency";

/** Access begins and ends at whole seconds, as timestamps have them. */
const wholeSeconds = (ms: number): number => Math.floor(ms / 1_000) * 1_000;

export const isOpenStatus = ({ phase }: AccessRequestStatus): boolean => phase === "Pending" || phase === "Approved";

/** `now` in milliseconds. */
export function approvedStatus(
  status: AccessRequestStatus,
  mode: ApprovalMode,
  approvals: readonly AccessApproval[],
  now: number,
): AccessRequestStatus {
  const from = wholeSeconds(now);
  const by = approvals.map(({ user }) => user).join(", ");
  const message = mode === "People" ? `approved by ${by}` : mode === "Automatic" ? "approved by the policy" : EMERGENCY;
  const conditions = withCondition(
    status.conditions ?? [],
    { type: "Approved", holds: true, reason: mode, message },
    now,
  );
  return {
    ...status,
    phase: "Approved",
    approvals,
    approvalMode: mode,
    approvedTimestamp: formatTimestamp(from),
    expirationTimestamp: formatTimestamp(from + Number(status.durationSeconds) * 1_000),
    message,
    conditions:
      mode === "Emergency"
        ? withCondition(conditions, { type: "Reviewed", holds: false, reason: "Pending", message: EMERGENCY }, now)
        : conditions,
  };
}

const EMERGENCY = "taken in an emergency: to be reviewed by an approver";

/** A request that has ended grants nothing, and is never open again. */
export function endedStatus(
  status: AccessRequestStatus,
  phase: Exclude<AccessRequestPhase, "Pending" | "Approved">,
  { reason, message, by }: { readonly reason: string; readonly message: string; readonly by?: string },
  now: number,
): AccessRequestStatus {
  const conditions = withCondition(status.conditions ?? [], { type: "Approved", holds: false, reason, message }, now);
  return {
    ...status,
    phase,
    endedTimestamp: formatTimestamp(now),
    message,
    ...(by === undefined ? {} : { decidedBy: by }),
    conditions: withCondition(conditions, { type: "Ended", holds: true, reason, message }, now),
  };
}

export const reviewedStatus = (
  status: AccessRequestStatus,
  by: string,
  message: string,
  now: number,
): AccessRequestStatus => ({
  ...status,
  decidedBy: by,
  conditions: withCondition(
    status.conditions ?? [],
    {
      type: "Reviewed",
      holds: true,
      reason: "Reviewed",
      message: `reviewed by ${by}${message === "" ? "" : `: ${message}`}`,
    },
    now,
  ),
});
