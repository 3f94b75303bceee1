// The one decision point: whether a request may proceed, whichever way it came.

import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { Rights } from "@postern/apiserver/authorization/rights";
import type { AccessKeyState } from "../access-keys/access-key-state.ts";
import {
  type DecisionSources,
  type DecisionStep,
  type Explanation,
  isServerItself,
  keyStanding,
  type PlatformDecision,
  type Subject,
} from "./decision.ts";
import { DecisionMemo } from "./decision-memo.ts";
import { managementRequest, type PlatformRequest } from "./platform-request.ts";
import { inScope, type ScopeVerdict } from "./scope.ts";
import { createUserRights, type UserRight } from "./user-rights.ts";

export type PlatformAuthorizer = Authorizer & {
  /** Synchronous: everything it looks at is in memory. */
  authorize(attributes: Parameters<Authorizer["authorize"]>[0]): PlatformDecision;
  /**
   * allowed(key, request) = the key is good ∧ its owner may ∧ its scope opens ∧ each of its rule sets opens.
   * "deny" when the key is what stops the request, "no-opinion" when its owner has no right to it.
   */
  decide(request: PlatformRequest, subject: Subject): PlatformDecision;
  /** The same decision with every condition judged, also those behind the first that fails. */
  explainDecision(request: PlatformRequest, subject: Subject): Explanation;
  /** Roles, memberships and ownership; whether the key of a request is good is for its credential to tell. */
  readonly rights: Rights;
};

const MASTERS: PlatformDecision = { verdict: "allow", code: "masters", reason: "", annotations: {} };

const REFUSALS = {
  "key-refused": "the access key is no longer accepted",
  "out-of-scope": "the scope of the access key does not open this request",
  "out-of-rules": "the rules of the access key do not open this request",
} as const;

export function createPlatformAuthorizer(sources: DecisionSources): PlatformAuthorizer {
  const { names, keys } = sources;
  const userRights = createUserRights(sources);
  const { rights } = userRights;
  const memo = new DecisionMemo();
  const rightAnnotation = names.key("authorization-right");
  const scopeAnnotation = names.key("authorization-scope");
  const keyAnnotation = names.key("authorization-key");

  const judge = (right: UserRight, scope: ScopeVerdict): PlatformDecision => {
    const annotations = {
      [rightAnnotation]: right.allowed ? right.code : "none",
      [scopeAnnotation]: scope.reason,
    };
    if (!right.allowed) return { verdict: "no-opinion", code: "no-right", reason: right.reason, annotations };
    if (scope.open) return { verdict: "allow", code: right.code, reason: right.reason, annotations };
    const code = scope.reason === "out-of-rules" ? "out-of-rules" : "out-of-scope";
    return { verdict: "deny", code, reason: REFUSALS[code], annotations };
  };

  const scopeOf = (request: PlatformRequest, { user }: Subject, key: AccessKeyState | undefined): ScopeVerdict =>
    inScope(key?.restrictions, request, { names, user, owner: key?.owner ?? NOBODY });

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
    return memo.recall(rights.version, subject.user, key, request, () =>
      judge(userRights.of(subject.user, request), scopeOf(request, subject, key)),
    );
  };

  return {
    decide,
    authorize: (attributes) => decide(managementRequest(attributes), attributes),
    explainDecision(request, subject) {
      const decision = decide(request, subject);
      const standing = keyStanding(subject, keys);
      const right: Pick<UserRight, "allowed" | "reason"> = isServerItself(subject)
        ? { allowed: true, reason: "the server's own work" }
        : userRights.of(subject.user, request);
      const scope = standing.good ? scopeOf(request, subject, standing.key) : undefined;
      const steps: readonly DecisionStep[] = [
        { step: "key", passed: standing.good, reason: standing.good ? "" : standing.cause },
        { step: "right", passed: right.allowed, reason: right.reason },
        ...(scope === undefined ? [] : [{ step: "scope" as const, passed: scope.open, reason: scope.reason }]),
      ];
      return { decision, steps };
    },
    rights,
  };
}

const NOBODY = { kind: "subject", name: "" } as const;
