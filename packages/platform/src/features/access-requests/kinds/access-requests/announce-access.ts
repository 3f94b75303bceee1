// Events, metrics and audit annotations for access requests.

import type { AccessRequest } from "@postern/api/access-request";
import type { PlatformNames } from "@postern/api/platform-names";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { EventRecorder } from "@postern/apiserver/controllers/event-recorder";
import { describeAccess } from "../access-check.ts";

export type AnnounceAccess = {
  /** A new request, which may be approved at once. */
  asked(request: AccessRequest, context: RequestContext): void;
  /** Its phase, or its review, has changed. `by`: the user, or undefined for the server. */
  changed(request: AccessRequest, reason: AccessEventReason, by?: string): void;
};

export const ACCESS_EVENT_REASONS = [
  "AccessRequested",
  "AccessApproved",
  "EmergencyAccess",
  "AccessDenied",
  "AccessWithdrawn",
  "AccessRevoked",
  "AccessExpired",
  "AccessReviewed",
] as const;
export type AccessEventReason = (typeof ACCESS_EVENT_REASONS)[number];

const WARNINGS: ReadonlySet<AccessEventReason> = new Set(["EmergencyAccess", "AccessRevoked"]);

export function createAnnounceAccess(deps: {
  readonly names: Pick<PlatformNames, "managementGroup" | "key">;
  readonly recordEvent: EventRecorder;
  readonly count: (reason: AccessEventReason) => void;
}): AnnounceAccess {
  const { names, recordEvent, count } = deps;
  const changed: AnnounceAccess["changed"] = (request, reason, by) => {
    count(reason);
    const { name = "", uid = "" } = request.metadata;
    const who = by === undefined ? "" : ` by ${by}`;
    const why = request.status?.message ?? "";
    recordEvent({
      involvedObject: { apiVersion: `${names.managementGroup}/v1`, kind: "AccessRequest", name, uid },
      type: WARNINGS.has(reason) ? "Warning" : "Normal",
      reason,
      message: `${PHRASES[reason]}${who}: ${describeAccess(request)}${why === "" ? "" : ` (${why})`}`,
    });
  };
  return {
    asked(request, context) {
      context.audit.annotate(names.key("access-request-created"), request.metadata.name ?? "");
      const { phase, approvalMode } = request.status ?? {};
      if (phase !== "Approved") changed(request, "AccessRequested");
      else changed(request, approvalMode === "Emergency" ? "EmergencyAccess" : "AccessApproved");
    },
    changed,
  };
}

const PHRASES: { readonly [reason in AccessEventReason]: string } = {
  AccessRequested: "Access was asked for",
  AccessApproved: "Access was approved",
  EmergencyAccess: "Access was taken in an emergency",
  AccessDenied: "Access was denied",
  AccessWithdrawn: "The request was withdrawn",
  AccessRevoked: "Access was revoked",
  AccessExpired: "Access has ended",
  AccessReviewed: "Emergency access was reviewed",
};
