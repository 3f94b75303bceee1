// Returns the rules of a caller in a namespace, within the limits of its access key. Never more than decisions allow there.

import type { Credential } from "@postern/apiserver/authentication/authenticator";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { ResolvedRules, RuleResolver } from "@postern/apiserver/authorization/authorizer";
import { FULL_AUTHORITY } from "@postern/apiserver/authorization/rbac/policy-rule";
import {
  createRbacAuthorizer,
  policyRulesOf,
  resolveRules,
} from "@postern/apiserver/authorization/rbac/rbac-authorizer";
import { type DecisionDeps, isServerItself, keyStanding, type Subject } from "./decision.ts";
import { intersectRules } from "./intersect-rules.ts";
import { ownerRules } from "./owner-rules.ts";
import type { ProxyRequest, RequestDestination } from "./platform-request.ts";
import { restrictionRules, restrictionRulesBehind } from "./restriction-rules.ts";

const NOTHING: ResolvedRules = { resourceRules: [], nonResourceRules: [], incomplete: false };

/** For SelfSubjectRulesReview and the escalation check. `incomplete` when a key narrows what its owner may. */
export function createEffectiveRules(deps: DecisionDeps): RuleResolver {
  const { rbac, keys } = deps;
  const roles = createRbacAuthorizer({ source: rbac });

  const rulesOfUser = (user: UserInfo, namespace: string, credential: Credential | undefined) => {
    if (isServerItself({ user, credential })) return { rules: FULL_AUTHORITY, rest: NOTHING };
    const byRole = roles.rulesFor(user, namespace);
    return { rules: [...policyRulesOf(byRole), ...ownerRules(user, namespace, deps)], rest: byRole };
  };

  return {
    rulesFor(user, namespace, credential) {
      const standing = keyStanding({ user, credential }, keys);
      if (!standing.good) return NOTHING;
      const { rules, rest } = rulesOfUser(user, namespace, credential);
      const { key } = standing;
      const { evaluationError } = rest;
      const error = evaluationError === undefined ? {} : { evaluationError };
      if (key?.restrictions === undefined) return { ...resolveRules(rules), incomplete: rest.incomplete, ...error };
      const facts = { names: deps.names, user, owner: key.owner };
      const narrowed = restrictionRules(key.restrictions, namespace, facts).reduce(intersectRules, rules);
      return { ...resolveRules(narrowed), incomplete: true, ...error };
    },
  };
}

/** The rules of a cluster behind the proxy that the caller's key allows, for display. */
export function narrowRulesBehind(
  { keys, names }: Pick<DecisionDeps, "keys" | "names">,
  subject: Subject,
  target: RequestDestination<ProxyRequest>,
): (rules: ResolvedRules, namespace: string) => ResolvedRules {
  return (resolved, namespace) => {
    const standing = keyStanding(subject, keys);
    if (!standing.good) return NOTHING;
    const restrictions = standing.key?.restrictions;
    if (restrictions === undefined || restrictions.ruleSets.length === 0) return resolved;
    const lists = restrictionRulesBehind(restrictions, target, namespace, names);
    return { ...resolved, ...resolveRules(lists.reduce(intersectRules, policyRulesOf(resolved))), incomplete: true };
  };
}
