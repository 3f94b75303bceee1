// The columns of access requests in `kubectl get`.

import type { AccessRequest } from "@postern/api/access-request";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { parseTimestamp } from "@postern/apimachinery/time/timestamp";
import type { PrinterColumn } from "@postern/apiserver/registry/resource-definition";
import { ageColumn } from "@postern/kubernetes/builtin/builtin-resource";
import { placeOf } from "../../request-record.ts";

/** The store holds no other kind under this resource. */
const asRequest = (object: KubeObject): AccessRequest => object as AccessRequest;

export const accessRequestColumns: readonly PrinterColumn[] = [
  { name: "Phase", type: "string", description: "Phase of the request.", value: ".status.phase" },
  { name: "Requester", type: "string", description: "User who asked.", value: ".status.requester.user" },
  {
    name: "Target",
    type: "string",
    description: "Where the access is needed.",
    value(object) {
      const place = placeOf(asRequest(object).spec.target);
      if (place === undefined) return "";
      if ("cluster" in place) return `cluster/${place.cluster}`;
      return place.virtualCluster === undefined ? place.project : `${place.project}/${place.virtualCluster}`;
    },
  },
  { name: "Role", type: "string", description: "Role that is asked for.", value: ".spec.role" },
  {
    name: "Left",
    type: "string",
    description: "Time that is left of the access.",
    value(object, now) {
      const { phase, expirationTimestamp } = asRequest(object).status ?? {};
      if (phase !== "Approved") return "";
      return durationText(Math.max(0, (parseTimestamp(expirationTimestamp ?? "") ?? 0) - now));
    },
  },
  {
    name: "Approvals",
    type: "string",
    description: "Approvals that the request has, of those that it needs.",
    value(object) {
      const { approvals = [], requiredApprovals = 1, approvalMode } = asRequest(object).status ?? {};
      if (approvalMode === "Automatic" || approvalMode === "Emergency") return approvalMode;
      return `${approvals.length}/${requiredApprovals}`;
    },
  },
  { name: "Policy", type: "string", priority: 1, description: "Policy of the request.", value: ".spec.policy.name" },
  { name: "Reason", type: "string", priority: 1, description: "Why it is needed.", value: ".spec.reason" },
  { name: "Message", type: "string", priority: 1, description: "Message about the phase.", value: ".status.message" },
  ageColumn,
];

/** Such as `59m` or `45s`, rounded down: an access never lasts longer than is shown. */
export function durationText(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)}m`;
  return `${Math.floor(seconds / 3_600)}h`;
}
