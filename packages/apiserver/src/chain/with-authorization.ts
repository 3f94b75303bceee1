// Authorizes the request.
// Source: k8s.io/apiserver/pkg/endpoints/filters/authorization.go

import type { AuthorizationAttributes, AuthorizationDecision, Authorizer } from "../authorization/authorizer.ts";
import { authorizeWhileOpen } from "../authorization/long-running-requests.ts";
import { authorizationAttributesOf, forbiddenErrorFor } from "../context/authorization-attributes.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import type { AuthorizationResult } from "../metrics/stage-metrics.ts";
import type { Awaitable } from "../runtime/awaitable.ts";
import type { Clock } from "../runtime/clock.ts";
import { inSpan, type Tracing } from "../tracing/tracing.ts";
import type { RequestState } from "./request-state.ts";
import type { Filter } from "./run-filters.ts";

export const AUDIT_DECISION = "authorization.k8s.io/decision";
export const AUDIT_REASON = "authorization.k8s.io/reason";

/** The authorization question of a request, in the terms of the error message, and its user. */
export type AuthorizationQuestion = {
  readonly attributes: AuthorizationAttributes;
  readonly authorizer: Authorizer;
  /** For the error message after a refusal, where the decision says what was refused. Default: `attributes`. */
  readonly refusedAttributes?: () => AuthorizationAttributes;
};

/** Throws ApiErrors for requests that ask for nothing there is. */
export type QuestionOf = (call: RequestState) => AuthorizationQuestion;

const RESULTS: { readonly [verdict in AuthorizationDecision["verdict"]]: AuthorizationResult } = {
  allow: "allowed",
  deny: "denied",
  "no-opinion": "no-opinion",
};

export function withAuthorization(deps: {
  readonly authorizer: Authorizer;
  /** Default: the question of the path, for `authorizer`. */
  readonly questionOf?: QuestionOf | undefined;
  readonly metrics: ServerMetrics;
  readonly clock: Clock;
  /** Absent: no tracing. */
  readonly tracing?: Tracing | undefined;
}): Filter {
  const { authorizer: ofChain, questionOf, metrics, clock, tracing } = deps;
  const byPath: QuestionOf = (call) => ({ attributes: authorizationAttributesOf(call), authorizer: ofChain });
  const ask = questionOf ?? byPath;
  const measure = (result: AuthorizationResult, startedAt: number): void =>
    metrics.authorization(result, (clock.elapsed() - startedAt) / 1000);
  const decide = ({ attributes, authorizer }: AuthorizationQuestion, { open }: RequestState) =>
    open === undefined ? authorizer.authorize(attributes) : authorizeWhileOpen(authorizer, attributes, open);
  const onFault = (error: unknown, startedAt: number): never => {
    measure("error", startedAt);
    throw error;
  };
  const onDecision = (
    { verdict, reason, auditAnnotations }: AuthorizationDecision,
    { attributes, refusedAttributes }: AuthorizationQuestion,
    { audit }: RequestState,
    startedAt: number,
  ): undefined => {
    measure(RESULTS[verdict], startedAt);
    audit.annotate(AUDIT_DECISION, verdict === "allow" ? "allow" : "forbid");
    audit.annotate(AUDIT_REASON, reason);
    if (auditAnnotations !== undefined)
      for (const [key, value] of Object.entries(auditAnnotations)) audit.annotate(key, value);
    if (verdict !== "allow") throw forbiddenErrorFor(refusedAttributes?.() ?? attributes, reason);
  };
  return {
    enter(call) {
      const question = ask(call);
      const startedAt = clock.elapsed();
      let decision: Awaitable<AuthorizationDecision>;
      try {
        decision =
          tracing === undefined ? decide(question, call) : tracedDecision(tracing, () => decide(question, call));
      } catch (error) {
        return onFault(error, startedAt);
      }
      if (!(decision instanceof Promise)) return onDecision(decision, question, call, startedAt);
      return decision.then(
        (found) => onDecision(found, question, call, startedAt),
        (error) => onFault(error, startedAt),
      );
    },
  };
}

/** The reason is not returned: it contains users and roles. */
const tracedDecision = (
  tracing: Tracing,
  decide: () => Awaitable<AuthorizationDecision>,
): Promise<AuthorizationDecision> =>
  inSpan(tracing, { name: "authorize", kind: "internal" }, async (span) => {
    const decision = await decide();
    span.set({ "k8s.authorization.decision": decision.verdict });
    return decision;
  });
