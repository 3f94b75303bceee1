import type { AccessRequest } from "@postern/api/access-request";
import { expect, it } from "vitest";
import { approversOf, decidersOf, decisionsOf, isWaiting, placeText, shownPhase } from "./request-state.ts";

const request = (status: AccessRequest["status"], target: AccessRequest["spec"]["target"] = {}): AccessRequest => ({
  apiVersion: "management.postern/v1",
  kind: "AccessRequest",
  metadata: { name: "ops-1" },
  spec: { policy: { name: "oncall" }, target },
  status: { requester: { user: "ann" }, ...status },
});

const REVIEWED = { type: "Reviewed", status: "True", reason: "Reviewed", message: "", lastTransitionTime: "" } as const;

it.each([
  ["pending, of another user", request({ phase: "Pending" }), "carl", ["Approve", "Deny"], true],
  ["pending, one's own", request({ phase: "Pending" }), "ann", ["Withdraw"], false],
  [
    "pending, approved by oneself already",
    request({ phase: "Pending", approvals: [{ user: "carl" }] }),
    "carl",
    ["Approve", "Deny"],
    false,
  ],
  ["approved", request({ phase: "Approved" }), "carl", ["Revoke"], false],
  ["approved, one's own", request({ phase: "Approved" }), "ann", ["Withdraw"], false],
  [
    "taken in an emergency",
    request({ phase: "Approved", approvalMode: "Emergency" }),
    "carl",
    ["Revoke", "Review"],
    true,
  ],
  [
    "taken in an emergency, over, and reviewed",
    request({ phase: "Expired", approvalMode: "Emergency", conditions: [REVIEWED] }),
    "carl",
    [],
    false,
  ],
  ["denied", request({ phase: "Denied" }), "carl", [], false],
  ["new, without a status", request({}), "carl", ["Approve", "Deny"], true],
])("%s", (_what, given, user, decisions, waits) => {
  expect([decisionsOf(given, user), isWaiting(given, user)]).toEqual([decisions, waits]);
});

it.each([
  [{ project: "shop", virtualCluster: "dev" }, "shop / dev"],
  [{ project: "shop" }, "shop"],
  [{ cluster: "eu-west" }, "eu-west"],
])("names the place of %j", (target, text) => {
  expect(placeText({ target })).toBe(text);
});

it.each([
  ["never approved", request({ phase: "Expired" }), "Expired", ""],
  [
    "approved by one of two in time",
    request({ phase: "Expired", approvals: [{ user: "carl" }], requiredApprovals: 2 }),
    "Expired",
    "carl",
  ],
  [
    "over",
    request({ phase: "Expired", approvedTimestamp: "2026-01-01T00:00:00Z", approvals: [{ user: "carl" }] }),
    "Ended",
    "carl",
  ],
  [
    "revoked by its approver",
    request({
      phase: "Revoked",
      approvedTimestamp: "2026-01-01T00:00:00Z",
      approvals: [{ user: "carl" }],
      decidedBy: "carl",
    }),
    "Revoked",
    "carl",
  ],
  [
    "granted by the policy",
    request({ phase: "Approved", approvalMode: "Automatic" }),
    "Approved",
    "policy (automatic)",
  ],
])("shows how a request ended that is %s, and who decided", (_, asked, phase, deciders) => {
  expect([shownPhase(asked), decidersOf(asked)]).toEqual([phase, deciders]);
});

it("names the users and teams that approve", () => {
  expect(approversOf({ users: ["ann"], teams: ["web"] })).toBe("ann, Team web");
  expect(approversOf()).toBe("");
});
