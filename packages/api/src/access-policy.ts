// The fields of access policies: who may ask for which access, and who approves it.

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import { description, displayName } from "./display-fields.ts";

/** The longest access that a policy may offer: a week, in seconds. */
export const MAX_ACCESS_SECONDS = 7 * 86_400;
/** Certificates and timers have whole seconds; below a minute, an access ends before it is used. */
export const MIN_ACCESS_SECONDS = 60;
/** Entries of each list of a policy. With them, the work of one request is bounded. */
export const MAX_POLICY_ENTRIES = 100;
export const MAX_REQUIRED_APPROVALS = 5;
export const MAX_EXPRESSION = 4_096;

export const ACCESS_TARGET_KINDS = ["Project", "VirtualCluster", "Cluster"] as const;

const namesOf = (what: string) =>
  s
    .list(s.string({ minLength: 1, maxLength: 253 }), { maxItems: MAX_POLICY_ENTRIES })
    .describe(`Names of ${what}, compared exactly.`);

const expression = (what: string) => s.string({ minLength: 1, maxLength: MAX_EXPRESSION }).describe(what);

const requesters = s.object({
  users: namesOf("users"),
  teams: namesOf("teams, whose members may ask"),
  expression: expression(
    "CEL expression over user that is true for further users, such as 'oncall' in user.groups. The members of user are name, username, email, displayName, groups, teams and isBot.",
  ),
});

const target = s.object({
  kind: s
    .string({ enum: ACCESS_TARGET_KINDS })
    .required()
    .describe(
      "Project gives a role in the project, VirtualCluster a role inside virtual clusters, Cluster the use of connected clusters.",
    ),
  projects: namesOf('projects, or "*" for all. Defaults to the project of the policy'),
  names: namesOf("virtual clusters or clusters. Unset: all that the selector matches"),
  selector: s
    .object({
      matchLabels: s.map(s.string({ maxLength: 63 })).describe("Labels that the object must have, all of them."),
    })
    .describe(
      "Selects virtual clusters or clusters by their labels, when access is asked for and when it is approved.",
    ),
  roles: s
    .list(s.string({ minLength: 1, maxLength: 253 }), { maxItems: MAX_POLICY_ENTRIES })
    .describe(
      "ClusterRoles that may be asked for: of the management API for a project, of the virtual cluster for a virtual cluster. None for clusters.",
    ),
});

const approvers = s.object({
  users: namesOf("users"),
  teams: namesOf("teams, whose members may approve"),
  count: s
    .int32({ minimum: 1, maximum: MAX_REQUIRED_APPROVALS })
    .describe("Number of different people who have to approve. Defaults to 1."),
  allowRequester: s
    .boolean()
    .describe("Whether the requester may be one of the approvers. Accounts of the same person count as the requester."),
});

const reason = s.object({
  required: s.boolean().describe("Whether a request must have a reason."),
  pattern: s
    .string({ minLength: 1, maxLength: 256 })
    .describe("Regular expression (RE2) that the reason must contain, such as the ID of a ticket: ^OPS-[0-9]+."),
});

const spec = s.object({
  displayName,
  description,
  disabled: s.boolean().describe("Whether the policy is disabled. Access that was granted by it ends."),
  requesters: requesters.required().describe("Users who may ask. One of the members must match."),
  targets: s
    .list(target, { minItems: 1, maxItems: 20 })
    .required()
    .describe("Access that may be asked for. One entry must match."),
  maxDurationSeconds: s
    .int32({ minimum: MIN_ACCESS_SECONDS, maximum: MAX_ACCESS_SECONDS })
    .required()
    .describe("Longest duration that may be asked for, in seconds."),
  approvers: approvers.describe("Users who approve. Without them, users with the verb approve on the policy do."),
  autoApprove: expression(
    "CEL expression over user, request and now that approves a request at once if it is true, such as 'oncall' in user.groups && now.getHours('Europe/Berlin') < 8. The members of request are role, project, virtualCluster, cluster, durationSeconds and reason. An expression that is too expensive is false.",
  ),
  allowEmergency: s
    .boolean()
    .describe(
      "Whether a requester may take the access at once in an emergency. It is announced by an Event of type Warning, and approvers review it afterwards.",
    ),
  reason: reason.describe("Demands on the reason of a request."),
});

export const accessPolicyFields = s
  .object({
    spec: spec.required().describe("Who may ask for which access, and who approves it."),
  })
  .describe("Lets users ask for access for a limited time, with approval by others.");

export type AccessPolicy = KindOf<typeof accessPolicyFields>;
export type AccessPolicyTarget = Infer<typeof target>;
