// Strategy of access requests: the server records who asks, and by which policy; what is asked for never changes.

import type { AccessRequest, AccessRequestStatus } from "@postern/api/access-request";
import { equalJson } from "@postern/apimachinery/json/equal-json";
import { ApiError, forbiddenRequestError, invalidObjectError } from "@postern/apimachinery/meta/api-error";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import {
  type FieldError,
  forbiddenError,
  invalidError,
  notFoundFieldError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import type { Strategy, WriteLimit } from "@postern/apiserver/registry/strategy";
import type { Foundation } from "../../../../foundation/foundation.ts";
import { isServerItself } from "../../../authorization/key-standing.ts";
import type { Directory } from "../../../directory/directory.ts";
import type { AccessGrants } from "../../access-grants.ts";
import {
  MAX_APPROVERS,
  MAX_OPEN_PER_PLACE,
  MAX_OPEN_PER_USER,
  MAX_STORED_PER_USER,
  PENDING_MS,
} from "../../access-limits.ts";
import { type AccessPolicyState, type Labels, mayAsk, offersAccess } from "../../access-policy-state.ts";
import { digestOfUser, type Person } from "../../person.ts";
import { policyExpressionHolds } from "../../policy-expression.ts";
import { ACCESS_REQUESTS, type AccessPlace, describePlace, placeOf } from "../../request-record.ts";
import { callerOf } from "../access-caller.ts";
import type { AccessCheck } from "../access-check.ts";
import type { AccessRequestNeeds, AccessRequestParts } from "../needs.ts";
import { approvedStatus } from "./request-status.ts";

export function accessRequestStrategy(
  { names: { managementGroup }, runtime: { clock } }: Foundation,
  needs: AccessRequestNeeds,
  { check, writes, announce }: AccessRequestParts,
): Strategy<AccessRequest> {
  const { grants, labelsOf } = needs.access;
  const resource = { group: managementGroup, resource: ACCESS_REQUESTS };
  const kind = { group: managementGroup, version: "v1", kind: "AccessRequest" };

  const statusOf = (request: AccessRequest, place: AccessPlace, policy: AccessPolicyState, person: Person) => {
    const { spec } = request;
    const now = clock.now();
    const { user } = person;
    const role = check.roleOf(place, spec.role);
    const durationSeconds = spec.durationSeconds ?? policy.maxDurationSeconds;
    const status: AccessRequestStatus = {
      phase: "Pending",
      requester: { user: user.name, userUID: user.uid },
      policy: { uid: policy.uid, generation: policy.generation },
      targetUID: check.uidOf(place) ?? "",
      roleDigest: check.digestOf(place, role),
      durationSeconds,
      requiredApprovals: policy.approvers.count,
      approvals: [],
      approverDigests: approverDigests(policy, needs.directory),
      expirationTimestamp: formatTimestamp(now + PENDING_MS),
      conditions: [],
    };
    if (spec.emergency === true) return approvedStatus(status, "Emergency", [], now);
    const facts = { person, request: { ...spec, durationSeconds }, now };
    const isAutomatic = policy.autoApprove !== undefined && policyExpressionHolds(policy.autoApprove, facts);
    return isAutomatic ? approvedStatus(status, "Automatic", [], now) : status;
  };

  return {
    nameWhenAbsent: () => ({ generateName: "access-" }),

    prepareForCreate(request, context) {
      const { status: _, ...rest } = request;
      const asked = rest as AccessRequest;
      const place = placeOf(asked.spec.target);
      // Validation says so. A request without a requester, by the server itself, is never granted.
      if (place === undefined || isServerItself(context)) return { ...asked, status: { phase: "Pending" } };
      const person = callerOf(context, needs);
      const policy = check.policyOf(asked.spec);
      const { name = "" } = asked.metadata;
      // One answer for both: others' policies stay unknown.
      if (policy === undefined || policy.isOff || !mayAsk(policy, person))
        throw forbiddenRequestError(
          resource,
          name,
          `there is no policy ${JSON.stringify(asked.spec.policy.name)} that you may ask by`,
        );
      const errors = requestErrors(asked, place, policy, check, labelsOf);
      if (errors.length > 0) throw invalidObjectError(kind, name, errors);
      return { ...asked, status: statusOf(asked, place, policy, person) };
    },

    validate(request) {
      const { target } = request.spec;
      if (placeOf(target) !== undefined) return [];
      return target.project === undefined && target.cluster === undefined
        ? [requiredError("spec.target", "a project, a virtual cluster of a project, or a cluster")]
        : [invalidError("spec.target", "", "must be a project, a virtual cluster of a project, or a cluster alone")];
    },

    prepareForUpdate: (request, old, context) => (writes.has(context) ? request : withStatus(request, old.status)),

    validateUpdate: (request, old) =>
      equalJson(request.spec, old.spec) ? [] : [invalidError("spec", "", "field is immutable: make another request")],

    limits(request, old) {
      if (old !== undefined) return [];
      return accessLimits(request, grants.stored);
    },

    afterCreate(request, context) {
      announce.asked(request, context);
    },
  };
}

const withStatus = (request: AccessRequest, status: AccessRequest["status"]): AccessRequest => {
  const { status: _, ...rest } = request;
  // The rest keeps the members that make it an object of this kind.
  return (status === undefined ? rest : { ...rest, status }) as AccessRequest;
};

function requestErrors(
  { spec }: AccessRequest,
  place: AccessPlace,
  policy: AccessPolicyState,
  check: AccessCheck,
  labelsOf: (place: AccessPlace) => Labels,
): readonly FieldError[] {
  const role = check.roleOf(place, spec.role);
  const { durationSeconds = policy.maxDurationSeconds, reason = "", emergency } = spec;
  const { pattern, source, required } = policy.reason;
  const isOffered = offersAccess(policy, place, role, labelsOf);
  const isThere = check.uidOf(place) !== undefined;
  return [
    // First: outside of the policy, requesters do not learn what there is.
    ...(isOffered
      ? []
      : [invalidError("spec.role", spec.role ?? "", `the policy does not offer this role in ${describePlace(place)}`)]),
    ...(isOffered && !isThere ? [notFoundFieldError("spec.target", describePlace(place))] : []),
    ...(isOffered && isThere && !check.isBoundInside(place, role)
      ? [
          invalidError(
            "spec.role",
            role,
            "is not bound inside: name it in spec.extraAccessRules of the virtual cluster",
          ),
        ]
      : []),
    ...(durationSeconds > policy.maxDurationSeconds
      ? [invalidError("spec.durationSeconds", durationSeconds, `must be at most ${policy.maxDurationSeconds}`)]
      : []),
    ...(required && reason.trim() === "" ? [requiredError("spec.reason", "the policy demands a reason")] : []),
    ...(reason.trim() !== "" && pattern?.test(reason) === false
      ? [invalidError("spec.reason", reason, `must contain the pattern ${source}`)]
      : []),
    ...(emergency === true && !policy.allowEmergency
      ? [forbiddenError("spec.emergency", "the policy has no access in emergencies")]
      : []),
  ];
}

/** People who may approve when the access is asked for. Later ones do not: membership could be changed for the approval. */
function approverDigests({ approvers }: AccessPolicyState, directory: Directory): readonly string[] {
  const members = directory.membersOf(approvers.teams);
  const named = [...approvers.users].flatMap((name) => directory.user(name) ?? []);
  const digests = new Set([...named, ...members].map(digestOfUser));
  if (digests.size <= MAX_APPROVERS) return [...digests];
  throw new ApiError({
    code: 403,
    reason: "Forbidden",
    message: `the policy has ${digests.size} approvers, and at most ${MAX_APPROVERS} are allowed: name smaller teams`,
  });
}

/** Several servers may each let one request more pass at the same moment, and none after they have seen it. */
function accessLimits({ status, spec }: AccessRequest, stored: AccessGrants["stored"]): readonly WriteLimit[] {
  const user = status?.requester?.user ?? "";
  const place = placeOf(spec.target);
  const refuse = (message: string) => {
    throw new ApiError({ code: 403, reason: "Forbidden", message });
  };
  return [
    {
      name: `access requests of ${user}`,
      check() {
        if (stored.countOpen(user) >= MAX_OPEN_PER_USER)
          refuse(`you have ${MAX_OPEN_PER_USER} open access requests, which is the limit: withdraw one first`);
        if (stored.of(user).length >= MAX_STORED_PER_USER)
          refuse("you have made many access requests in a short time: old ones are being deleted, try again later");
      },
    },
    {
      name: `access requests in ${place === undefined ? "" : "project" in place ? place.project : "clusters"}`,
      check() {
        if (stored.countOpenIn(place) >= MAX_OPEN_PER_PLACE)
          refuse(
            `there are ${MAX_OPEN_PER_PLACE} open access requests for ${describePlace(place)}, which is the limit`,
          );
      },
    },
  ];
}
