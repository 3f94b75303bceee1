// The port that decides whether a request may proceed.
// Source: k8s.io/apiserver/pkg/authorization/authorizer/interfaces.go

import type { Steps } from "@postern/apimachinery/steps/steps";
import type { Credential } from "../authentication/authenticator.ts";
import type { UserInfo } from "../authentication/user-info.ts";
import type { Awaitable } from "../runtime/awaitable.ts";
import { combinedPolicyVersion, type PolicyVersion } from "./policy-version.ts";

/** A question to an authorizer, in terms that do not depend on how it arrived. */
export type AuthorizationAttributes = {
  readonly user: UserInfo;
  /** Absent for reviews of another user (SubjectAccessReview). */
  readonly credential?: Credential | undefined;
  readonly verb: string;
  readonly isResourceRequest: boolean;
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** Only for requests outside the resource tree. */
  readonly path: string;
};

/** `no-opinion` leaves the decision to the next authorizer; if none has an opinion, the request is refused. */
export type AuthorizationDecision = {
  readonly verdict: "allow" | "deny" | "no-opinion";
  /** For the audit log; shown to the caller only where upstream does. */
  readonly reason: string;
  /** Further facts for the audit event of the request. */
  readonly auditAnnotations?: { readonly [key: string]: string };
};

export const NO_OPINION: AuthorizationDecision = { verdict: "no-opinion", reason: "" };

/** Decides whether a request may proceed. Called for every request, often, so decide from memory. */
export type Authorizer = {
  authorize(attributes: AuthorizationAttributes): AuthorizationDecision | Promise<AuthorizationDecision>;
  /** Version of the policy behind the decisions, so that decisions about what lasts can be made again. Absent: each is for good. */
  readonly policyVersion?: PolicyVersion;
};

export type ResourceRule = {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
};
export type NonResourceRule = { readonly verbs: readonly string[]; readonly nonResourceURLs: readonly string[] };
export type ResolvedRules = {
  readonly resourceRules: readonly ResourceRule[];
  readonly nonResourceRules: readonly NonResourceRule[];
  /** True when some permissions cannot be expressed as rules. */
  readonly incomplete: boolean;
  /** Errors while the rules were put together, for people. */
  readonly evaluationError?: string;
};

/**
 * Resolves all rules of a user in a namespace, for SelfSubjectRulesReview and the escalation check. A credential that opens
 * less than its owner may do narrows the answer.
 */
export type RuleResolver = {
  /** With `work`, rules that take long to collect are collected in parts. */
  rulesFor(user: UserInfo, namespace: string, credential?: Credential, work?: LongRequest): Awaitable<ResolvedRules>;
};

/** A request whose work continues in parts if it turns out to be large. */
export type LongRequest = {
  /** Reports the size of the object that is being processed, in bytes. */
  weigh(bytes: number): void;
  inParts<T>(steps: Steps<T>): Awaitable<T>;
};

/** The authorizer of an outer surface that has already allowed the request, if it limits what is allowed here. */
export type OuterAuthorizer = Authorizer & {
  /** The part of the rules that is open as well on the way in. Never more than requests would find open. */
  narrowRules(rules: ResolvedRules, namespace: string, work: LongRequest): Awaitable<ResolvedRules>;
};

/** A list of authorizers is an authorizer: the first with an opinion decides. */
export function unionAuthorizer(authorizers: readonly Authorizer[]): Authorizer {
  const policyVersion = authorizers.flatMap((authorizer) =>
    authorizer.policyVersion === undefined ? [] : [authorizer.policyVersion],
  );
  return {
    ...(policyVersion.length === 0 ? {} : { policyVersion: combinedPolicyVersion(policyVersion) }),
    authorize: (attributes) => firstOpinion(authorizers, attributes, []),
  };
}

/** Synchronous if every authorizer that is asked is. */
function firstOpinion(
  [authorizer, ...others]: readonly Authorizer[],
  attributes: AuthorizationAttributes,
  reasons: readonly string[],
): AuthorizationDecision | Promise<AuthorizationDecision> {
  if (authorizer === undefined) return { verdict: "no-opinion", reason: reasons.join("\n") };
  const orOthers = (decision: AuthorizationDecision) => {
    if (decision.verdict !== "no-opinion") return decision;
    return firstOpinion(others, attributes, decision.reason === "" ? reasons : [...reasons, decision.reason]);
  };
  const decision = authorizer.authorize(attributes);
  return decision instanceof Promise ? decision.then(orOthers) : orOthers(decision);
}

/** A list of resolvers is a resolver: the results are combined. */
export function unionRuleResolver(resolvers: readonly RuleResolver[]): RuleResolver {
  return {
    async rulesFor(...asked) {
      const parts = await Promise.all(resolvers.map((resolver) => resolver.rulesFor(...asked)));
      const errors = parts.flatMap(({ evaluationError }) => (evaluationError === undefined ? [] : [evaluationError]));
      return {
        resourceRules: parts.flatMap(({ resourceRules }) => resourceRules),
        nonResourceRules: parts.flatMap(({ nonResourceRules }) => nonResourceRules),
        incomplete: parts.some(({ incomplete }) => incomplete),
        ...(errors.length === 0 ? {} : { evaluationError: errors.join(", ") }),
      };
    },
  };
}

/** Whether the verb asks about acting as another user: `impersonate`, and the constrained ones (KEP-5284). */
export const isImpersonationVerb = (verb: string): boolean => verb.startsWith("impersonate");
