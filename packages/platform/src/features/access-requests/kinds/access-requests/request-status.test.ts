import type { AccessRequest, AccessRequestStatus } from "@postern/api/access-request";
import { expect, test } from "vitest";
import { accessRequestColumns, durationText } from "./columns.ts";
import { approvedStatus, endedStatus, isOpenStatus, reviewedStatus } from "./request-status.ts";

const NOW = Date.parse("2026-11-28T10:00:00.900Z");
const pending: AccessRequestStatus = { phase: "Pending", durationSeconds: 600, conditions: [] };

test("access lasts from whole second to whole second", () => {
  const approved = approvedStatus(pending, "People", [{ user: "carl", userUID: "u" }], NOW);
  expect(approved).toMatchObject({
    phase: "Approved",
    approvedTimestamp: "2026-11-28T10:00:00Z",
    expirationTimestamp: "2026-11-28T10:10:00Z",
    message: "approved by carl",
  });
  expect(approved.conditions).toMatchObject([{ type: "Approved", status: "True", reason: "People" }]);
  expect(isOpenStatus(approved)).toBe(true);
});

test("a request that has ended is not approved any more", () => {
  const approved = approvedStatus(pending, "Automatic", [], NOW);
  const ended = endedStatus(approved, "Revoked", { reason: "Revoked", message: "revoked by carl", by: "carl" }, NOW);
  expect(ended.conditions).toMatchObject([
    { type: "Approved", status: "False", reason: "Revoked" },
    { type: "Ended", status: "True", reason: "Revoked" },
  ]);
  expect([ended.phase, ended.decidedBy, isOpenStatus(ended)]).toEqual(["Revoked", "carl", false]);
});

test("an emergency waits for its review", () => {
  const taken = approvedStatus(pending, "Emergency", [], NOW);
  expect(taken.conditions?.find(({ type }) => type === "Reviewed")).toMatchObject({ status: "False" });
  const reviewed = reviewedStatus(taken, "carl", "fine", NOW);
  expect(reviewed.conditions?.find(({ type }) => type === "Reviewed")).toMatchObject({
    status: "True",
    message: "reviewed by carl: fine",
  });
});

test("the columns show target, time left and approvals", () => {
  const request = (status: AccessRequestStatus, target: AccessRequest["spec"]["target"]): AccessRequest => ({
    apiVersion: "management.postern/v1",
    kind: "AccessRequest",
    metadata: { name: "x" },
    spec: { policy: { name: "p" }, target },
    status,
  });
  const shown = (object: AccessRequest, name: string) => {
    const value = accessRequestColumns.find((column) => column.name === name)?.value;
    return typeof value === "function" ? value(object, NOW) : value;
  };
  const waiting = request({ ...pending, requiredApprovals: 2 }, { project: "a", virtualCluster: "b" });
  expect(["Target", "Left", "Approvals"].map((name) => shown(waiting, name))).toEqual(["a/b", "", "0/2"]);
  const taken = request(approvedStatus(pending, "Emergency", [], NOW), { cluster: "eu" });
  expect(["Target", "Left", "Approvals"].map((name) => shown(taken, name))).toEqual(["cluster/eu", "9m", "Emergency"]);
  expect([119_999, 120_000, 7_200_000].map(durationText)).toEqual(["119s", "2m", "2h"]);
});
