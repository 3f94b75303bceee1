// The one decision point: authorizes every request, from any API surface.

import type { AccessKeyScope } from "@postern/api/access-key-restrictions";
import { ACCESS_REQUEST_ANNOTATION } from "@postern/apimachinery/audit/audit-annotations";
import type { AccessKeyState } from "../access-keys/access-key-state.ts";
import { DecisionMemo } from "./decision-memo.ts";
import { isServerItself, keyStanding, provisionerOf } from "./key-standing.ts";
import { labelsOfClusters } from "./members/instance-permissions.ts";
import { clusterRole } from "./owner-permissions.ts";
import type { DecisionDeps, DecisionStep, PlatformAuthorizer, PlatformDecision, Subject } from "./platform-decision.ts";
import { isControlPlaneKeyRequest } from "./request/control-plane-key-request.ts";
import { managementRequest, type PlatformRequest } from "./request/platform-request.ts";
import { usesScope } from "./restrictions/limited-uses.ts";
import { RestrictionIndex } from "./restrictions/restriction-index.ts";
import { inScope, type ScopeVerdict } from "./restrictions/scope.ts";
import { createUserPermissions, type UserRight, useRequest } from "./user-permissions.ts";

const MASTERS: PlatformDecision = { verdict: "allow", code: "masters", reason: "", annotations: {} };

const REFUSALS = {
  "key-refused": "the access key is no longer accepted",
  "out-of-scope": "the scope of the access key does not allow this request",
  "limited-uses": "an access key with spec.maxUses issues no credentials, and changes nothing that does",
  "out-of-rules": "the rules of the access key do not allow this request",
} as const;

export function createPlatformAuthorizer(sources: DecisionDeps): PlatformAuthorizer {
  const { names, keys, rbac, instances, accessOffers } = sources;
  const clusterLabels = labelsOfClusters(instances);
  const userPermissions = createUserPermissions(sources);
  const { policyVersion } = userPermissions;
  const memo = new DecisionMemo();
  const index = new RestrictionIndex();
  const rightAnnotation = names.key("authorization-right");
  const scopeAnnotation = names.key("authorization-scope");
  const keyAnnotation = names.key("authorization-key");

  const decisionOf = (
    request: PlatformRequest,
    right: UserRight,
    scope: ScopeVerdict,
    key: AccessKeyState | undefined,
    offer: () => string | undefined,
  ): PlatformDecision => {
    const annotations = {
      [rightAnnotation]: right.allowed ? right.code : "none",
      [scopeAnnotation]: scope.reason,
    };
    const isMisplaced = !scope.open && request.target === "Management";
    const place = isMisplaced ? onlyPlaceIn(key?.restrictions?.scope) : undefined;
    const hint = place === undefined ? "" : `the access key opens ${place} alone`;
    if (!right.allowed) {
      // A key that does not reach there would not do with the access either.
      const offered = scope.open ? offer() : undefined;
      const reason = joinReasons(right.reason, offered ?? hint);
      return { verdict: "no-opinion", code: "no-right", reason, annotations };
    }
    if (scope.open) {
      const { code, reason, accessRequest } = right;
      if (accessRequest !== undefined && isControlPlaneKeyRequest(request, names))
        return { verdict: "deny", code: "no-right", reason: lastingReason(accessRequest), annotations };
      const granted = accessRequest && { auditAnnotations: { [ACCESS_REQUEST_ANNOTATION]: accessRequest } };
      return { verdict: "allow", code, reason, annotations, ...granted };
    }
    const code = scope.reason === "out-of-rules" || scope.reason === "limited-uses" ? scope.reason : "out-of-scope";
    return { verdict: "deny", code, reason: joinReasons(REFUSALS[code], hint), annotations };
  };

  const scopeOf = (
    request: PlatformRequest,
    { user, credential }: Subject,
    key: AccessKeyState | undefined,
  ): ScopeVerdict =>
    usesScope(key, request, names) ??
    inScope(key?.restrictions, request, {
      names,
      user,
      owner: key?.owner ?? NOBODY,
      isProvisioning: isProvisioning(credential),
      clusterLabels,
      index,
    });

  const allowsInProject = (role: string, request: PlatformRequest): boolean => {
    const asked = request.target === "Management" ? request.inner : useRequest(request, names);
    return clusterRole(role, rbac)?.allows(asked) === true;
  };

  const refuseKey = (cause: string): PlatformDecision => ({
    verdict: "deny",
    code: "key-refused",
    reason: REFUSALS["key-refused"],
    annotations: { [keyAnnotation]: cause },
  });

  const decide = (request: PlatformRequest, subject: Subject): PlatformDecision => {
    const standing = keyStanding(subject, keys);
    if (!standing.good) return refuseKey(standing.cause);
    if (isServerItself(subject)) return MASTERS;
    const { key } = standing;
    // Each only goes up, so that the sum is the same only when every part is.
    const version = policyVersion.version + (accessOffers?.version ?? 0);
    const decideNow = () =>
      decisionOf(request, userPermissions.of(subject.user, request), scopeOf(request, subject, key), key, () =>
        accessOffers?.offerFor(subject.user, request, (role) => allowsInProject(role, request)),
      );
    // The same user and key may do more in the SCIM routes than elsewhere.
    if (isProvisioning(subject.credential)) return decideNow();
    return memo.recall(version, subject.user, key, request, decideNow);
  };

  return {
    decide,
    authorize: (attributes) => decide(managementRequest(attributes), attributes),
    explainDecision(request, subject) {
      const decision = decide(request, subject);
      const standing = keyStanding(subject, keys);
      const right: Pick<UserRight, "allowed" | "reason"> = isServerItself(subject)
        ? { allowed: true, reason: "the server's own work" }
        : userPermissions.of(subject.user, request);
      const scope = standing.good ? scopeOf(request, subject, standing.key) : undefined;
      const steps: readonly DecisionStep[] = [
        { step: "key", passed: standing.good, reason: standing.good ? "" : standing.cause },
        { step: "right", passed: right.allowed, reason: right.reason },
        ...(scope === undefined ? [] : [{ step: "scope" as const, passed: scope.open, reason: scope.reason }]),
      ];
      return { decision, steps };
    },
    policyVersion,
  };
}

/** A key of a control plane is one for all who ask for it: it cannot end with one of them. */
const lastingReason = (accessRequest: string): string =>
  `the access request ${accessRequest} gives access for a time, and this credential would last`;

const joinReasons = (...reasons: readonly string[]): string => reasons.filter((reason) => reason !== "").join("; ");

/**
 * The path of the one virtual cluster or space that the scope opens. Programs that leave out the path of their server send the requests for it to the
 * management API.
 */
function onlyPlaceIn(scope: AccessKeyScope | undefined): string | undefined {
  if (scope === undefined) return undefined;
  const { roles, projects, clusters, spaces, virtualClusters } = scope;
  const [place, ...others] = [
    ...virtualClusters.map(({ project, virtualCluster }) => [project, "virtualcluster", virtualCluster]),
    ...spaces.map(({ project, space }) => [project, "space", space]),
    ...[...roles, ...projects, ...clusters].map(() => ["*"]),
  ];
  const isOne = place !== undefined && others.length === 0 && !place.includes("*");
  return isOne ? `/kubernetes/project/${place.join("/")}` : undefined;
}

const isProvisioning = (credential: Subject["credential"]): boolean => provisionerOf(credential) !== undefined;

const NOBODY = { kind: "subject", name: "" } as const;
