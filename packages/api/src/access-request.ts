// The fields of access requests, and of decisions on them.

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { MAX_ACCESS_SECONDS, MIN_ACCESS_SECONDS } from "./access-policy.ts";
import { conditionsField } from "./conditions.ts";

export const ACCESS_POLICY_KINDS = ["ClusterAccessPolicy", "AccessPolicy"] as const;
export type AccessPolicyKind = (typeof ACCESS_POLICY_KINDS)[number];

/** Pending and Approved are open; from the others, a request never returns. */
export const ACCESS_REQUEST_PHASES = ["Pending", "Approved", "Denied", "Withdrawn", "Revoked", "Expired"] as const;
export type AccessRequestPhase = (typeof ACCESS_REQUEST_PHASES)[number];

export const ACCESS_DECISIONS = ["Approve", "Deny", "Withdraw", "Revoke", "Review"] as const;
export type AccessDecision = (typeof ACCESS_DECISIONS)[number];

const name = (what: string) => s.string({ minLength: 1, maxLength: 253 }).describe(what);

const target = s.object({
  project: name("Project of the role, or of the virtual cluster."),
  virtualCluster: name("Virtual cluster of the project. Unset: the project itself."),
  cluster: name("Connected cluster, without a project."),
});

const spec = s.object({
  policy: s
    .object({
      kind: s
        .string({ enum: ACCESS_POLICY_KINDS })
        .describe(
          "ClusterAccessPolicy, or AccessPolicy for a policy of the project of the target. Defaults to ClusterAccessPolicy.",
        ),
      name: name("Name of the policy.").required(),
    })
    .required()
    .describe("Policy that allows to ask for the access."),
  target: target.required().describe("Where the access is needed: a project, a virtual cluster, or a cluster."),
  role: name("ClusterRole in the project or inside the virtual cluster. Unset for a cluster."),
  durationSeconds: s
    .int32({ minimum: MIN_ACCESS_SECONDS, maximum: MAX_ACCESS_SECONDS })
    .describe("How long the access lasts from its approval, in seconds. Defaults to the maximum of the policy."),
  reason: s.string({ maxLength: 1_024 }).describe("Why the access is needed. Approvers and the audit log see it."),
  emergency: s
    .boolean()
    .describe("Whether to take the access at once, if the policy allows it. Approvers review it afterwards."),
});

const person = {
  user: s.string().describe("Name of the user."),
  userUID: s.string().describe("UID of the user."),
};

const approval = s.object({
  ...person,
  time: s.timestamp().describe("Time of the approval."),
  message: s.string().describe("Message of the approver."),
});

const status = s.object({
  phase: s
    .string({ enum: ACCESS_REQUEST_PHASES })
    .describe("Pending, Approved, Denied, Withdrawn, Revoked or Expired. Access is granted while it is Approved."),
  requester: s.object(person).describe("User who asked."),
  policy: s
    .object({
      uid: s.string().describe("UID of the policy."),
      generation: s.int64().describe("Generation of the policy. A request is not approved by another generation."),
    })
    .describe("Policy as it was when the access was asked for."),
  targetUID: s
    .string()
    .describe("UID of the project, virtual cluster or cluster. Another of the same name is not meant."),
  roleDigest: s.string().describe("Digest of the rules of the role in the project. A changed role is not granted."),
  durationSeconds: s.int32().describe("Duration of the access, in seconds."),
  requiredApprovals: s.int32().describe("Number of approvals that are needed."),
  approvals: s.list(approval).describe("Approvals, in order."),
  approverDigests: s
    .list(s.string())
    .describe(
      "Digests of the UIDs of the approvers. Users who become approvers afterwards do not decide on the request.",
    ),
  approvalMode: s.string().describe("How the access was granted: People, Automatic or Emergency."),
  approvedTimestamp: s.timestamp().describe("When the access began."),
  expirationTimestamp: s
    .timestamp()
    .describe("When the access ends; for a pending request, when it can no longer be approved."),
  endedTimestamp: s.timestamp().describe("When the request was denied, withdrawn or revoked, or expired."),
  decidedBy: s.string().describe("User who denied, withdrew or revoked it, or reviewed an emergency."),
  message: s.string().describe("Human-readable message about the phase."),
  noticedPhase: s.string().describe("Phase that the notice webhook was told last."),
  conditions: conditionsField,
});

export const accessRequestFields = s
  .object({
    spec: spec.required().describe("The access that is asked for. It cannot be changed."),
    status: status.describe("State of the request. Set by the server."),
  })
  .describe("Asks for access for a limited time, which ends by itself.");

export type AccessRequest = KindOf<typeof accessRequestFields>;
export type AccessRequestSpec = Infer<typeof spec>;
export type AccessRequestStatus = Infer<typeof status>;
export type AccessApproval = Infer<typeof approval>;

export const accessApprovalFields = s
  .object({
    spec: s
      .object({
        decision: s
          .string({ enum: ACCESS_DECISIONS })
          .required()
          .describe(
            "Approve or Deny a pending request, Withdraw an own one, Revoke an approved one, or Review an emergency.",
          ),
        message: s.string({ maxLength: 1_024 }).describe("Message for the requester."),
      })
      .required()
      .describe("The decision."),
    status: s
      .object({
        phase: s.string().describe("Phase of the request after the decision."),
        approvals: s.int32().describe("Approvals that the request has."),
        requiredApprovals: s.int32().describe("Approvals that it needs."),
        expirationTimestamp: s.timestamp().describe("When the access ends."),
      })
      .describe("The result. Set by the server."),
  })
  .describe("Decides on an access request.");

export type AccessApprovalRequest = KindOf<typeof accessApprovalFields>;
export const accessApprovalSchema = kindSchema(accessApprovalFields.schema);
