// Access requests as pages show them: where they lead, what the user may decide, and which they have to look at.

import type { AccessPolicy } from "@postern/api/access-policy";
import type { AccessDecision, AccessRequest } from "@postern/api/access-request";
import type { Tone } from "../../components/badge.tsx";
import { t } from "../../texts/text.tsx";
import { roleName } from "../access/role-name.ts";

export const PHASE_TONES: { readonly [phase: string]: Tone } = {
  Pending: "info",
  Approved: "good",
  Denied: "bad",
  Revoked: "bad",
  Withdrawn: "muted",
  Expired: "muted",
  Ended: "muted",
};

export const phaseOf = ({ status }: AccessRequest): string => status?.phase ?? "Pending";

/** As pages show it: access that ended by itself is `Ended`, and `Expired` is a request that was not approved in time. */
export const shownPhase = (request: AccessRequest): string => {
  const phase = phaseOf(request);
  return phase === "Expired" && request.status?.approvedTimestamp != null ? "Ended" : phase;
};

/** The users who approved, denied, withdrew or revoked it, each once; without any, the way in which it was granted. */
export function decidersOf({ status = {} }: AccessRequest): string {
  const users = [...(status.approvals ?? []).map(({ user = "" }) => user), status.decidedBy ?? ""].filter(Boolean);
  if (users.length > 0) return [...new Set(users)].join(", ");
  if (status.approvalMode === "Automatic") return t("request.automatic");
  return status.approvalMode === "Emergency" ? t("request.emergency.taken") : "";
}

/** The approvers whom a policy names, such as `ann, Team web`; empty without any. */
export const approversOf = ({ users = [], teams = [] }: NonNullable<AccessPolicy["spec"]["approvers"]> = {}): string =>
  [...users, ...teams.map((team) => t("new.owner.team", { name: team }))].join(", ");

/** Such as `shop / dev`, `shop`, or the name of a connected cluster. */
export function placeText({ target }: Pick<AccessRequest["spec"], "target">): string {
  if (target.cluster !== undefined && target.cluster !== "") return target.cluster;
  return [target.project, target.virtualCluster].filter(Boolean).join(" / ");
}

/** The page of the place. */
export function addressOfPlace({ target }: Pick<AccessRequest["spec"], "target">): string {
  const { cluster = "", project = "", virtualCluster } = target;
  if (cluster !== "") return `/host-clusters/${cluster}`;
  return virtualCluster === undefined ? `/projects/${project}` : `/clusters/${project}/${virtualCluster}`;
}

/** Such as `Project user in shop`. */
export const requestTitle = ({ spec }: Pick<AccessRequest, "spec">): string =>
  t("requests.what", {
    role: spec.role === undefined ? t("requests.use") : roleName(spec.role),
    place: placeText(spec),
  });

export const isOwn = ({ status }: AccessRequest, user: string): boolean => status?.requester?.user === user;

const isUnreviewed = ({ status }: AccessRequest): boolean =>
  status?.approvalMode === "Emergency" &&
  status.conditions?.some(({ type, status: is }) => type === "Reviewed" && is === "True") !== true;

const hasApproved = ({ status }: AccessRequest, user: string): boolean =>
  status?.approvals?.some((approval) => approval.user === user) === true;

/** Waits for the user: another user's request that is pending, or was taken in an emergency. The server shows only requests that the user may decide. */
export const isWaiting = (request: AccessRequest, user: string): boolean =>
  !isOwn(request, user) && ((phaseOf(request) === "Pending" && !hasApproved(request, user)) || isUnreviewed(request));

/** The decisions that its state allows the user. The server decides whether the policy does, too. */
export function decisionsOf(request: AccessRequest, user: string): readonly AccessDecision[] {
  const phase = phaseOf(request);
  const isOpen = phase === "Pending" || phase === "Approved";
  if (isOwn(request, user)) return isOpen ? ["Withdraw"] : [];
  return [
    ...(phase === "Pending" ? (["Approve", "Deny"] as const) : []),
    ...(phase === "Approved" ? (["Revoke"] as const) : []),
    ...(isUnreviewed(request) ? (["Review"] as const) : []),
  ];
}
