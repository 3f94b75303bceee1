// Lets through what the caller may do, and nothing else.
// Source: k8s.io/apiserver/pkg/endpoints/filters/authorization.go

import type { AuthorizationDecision, Authorizer } from "../authorization/authorizer.ts";
import { authorizeAsLongAsOpen } from "../authorization/open-requests.ts";
import type { AuthorizationResult, ServerMetrics } from "../metrics/server-metrics.ts";
import type { Clock } from "../runtime/clock.ts";
import { authorizationAttributesOf, forbiddenErrorFor } from "./authorization-attributes.ts";
import type { Handler } from "./handler.ts";

export const AUDIT_DECISION = "authorization.k8s.io/decision";
export const AUDIT_REASON = "authorization.k8s.io/reason";

export type WithAuthorizationDeps = {
  readonly authorizer: Authorizer;
  readonly metrics: ServerMetrics;
  readonly clock: Clock;
};

const RESULTS: { readonly [verdict in AuthorizationDecision["verdict"]]: AuthorizationResult } = {
  allow: "allowed",
  deny: "denied",
  "no-opinion": "no-opinion",
};

export function withAuthorization(next: Handler, { authorizer, metrics, clock }: WithAuthorizationDeps): Handler {
  return async (context) => {
    const attributes = authorizationAttributesOf(context);
    const startedAt = clock.elapsed();
    let result: AuthorizationResult = "error";
    let decision: AuthorizationDecision;
    try {
      decision = await authorizeAsLongAsOpen(authorizer, attributes, context.open);
      result = RESULTS[decision.verdict];
    } finally {
      metrics.authorization(result, (clock.elapsed() - startedAt) / 1000);
    }
    const allowed = decision.verdict === "allow";
    context.audit.annotate(AUDIT_DECISION, allowed ? "allow" : "forbid");
    context.audit.annotate(AUDIT_REASON, decision.reason);
    if (!allowed) throw forbiddenErrorFor(attributes, decision.reason);
    return next(context);
  };
}
