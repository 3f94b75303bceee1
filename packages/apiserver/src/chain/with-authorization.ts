// Lets through what the caller may do, and nothing else.
// Source: k8s.io/apiserver/pkg/endpoints/filters/authorization.go

import type { AuthorizationAttributes, AuthorizationDecision, Authorizer } from "../authorization/authorizer.ts";
import { authorizeAsLongAsOpen } from "../authorization/open-requests.ts";
import type { AuthorizationResult, ServerMetrics } from "../metrics/server-metrics.ts";
import type { Clock } from "../runtime/clock.ts";
import { authorizationAttributesOf, forbiddenErrorFor } from "./authorization-attributes.ts";
import type { Handler, RequestContext } from "./handler.ts";

export const AUDIT_DECISION = "authorization.k8s.io/decision";
export const AUDIT_REASON = "authorization.k8s.io/reason";

/** What is asked about a request, in the terms in which it is refused, and of whom. */
export type AuthorizationQuestion = { readonly attributes: AuthorizationAttributes; readonly authorizer: Authorizer };

/** Throws ApiErrors for requests that ask for nothing there is. */
export type QuestionOf = (context: RequestContext) => AuthorizationQuestion;

export type WithAuthorizationDeps = {
  readonly authorizer: Authorizer;
  /** Default: what the path asks for, and of `authorizer`. */
  readonly questionOf?: QuestionOf | undefined;
  readonly metrics: ServerMetrics;
  readonly clock: Clock;
};

const RESULTS: { readonly [verdict in AuthorizationDecision["verdict"]]: AuthorizationResult } = {
  allow: "allowed",
  deny: "denied",
  "no-opinion": "no-opinion",
};

export function withAuthorization(next: Handler, deps: WithAuthorizationDeps): Handler {
  const { metrics, clock } = deps;
  const byPath: QuestionOf = (context) => ({
    attributes: authorizationAttributesOf(context),
    authorizer: deps.authorizer,
  });
  const { questionOf = byPath } = deps;
  return async (context) => {
    const { attributes, authorizer } = questionOf(context);
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
