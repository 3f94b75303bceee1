// Returns the rules of a caller in a namespace, within the limits of its access key. Never more than decisions allow there.

import { runSteps } from "@postern/apimachinery/steps/steps";
import type { Credential } from "@postern/apiserver/authentication/authenticator";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type {
  LongRequest,
  OuterAuthorizer,
  ResolvedRules,
  RuleResolver,
} from "@postern/apiserver/authorization/authorizer";
import { FULL_AUTHORITY, type PolicyRule } from "@postern/apiserver/authorization/rbac/policy-rule";
import { createRbacAuthorizer, joinRules, policyRulesOf } from "@postern/apiserver/authorization/rbac/rbac-authorizer";
import { resolveRules } from "@postern/apiserver/authorization/rbac/rule-index";
import { type Awaitable, whenDone } from "@postern/apiserver/runtime/awaitable";
import { isServerItself, keyStanding } from "../key-standing.ts";
import type { DecisionDeps, Subject } from "../platform-decision.ts";
import type { ProxyRequest, RequestDestination } from "../request/platform-request.ts";
import { RestrictionIndex } from "../restrictions/restriction-index.ts";
import { createInstanceRules } from "./instance-rules.ts";
import { intersectAll } from "./intersect-rules.ts";
import { ownerRules } from "./owner-rules.ts";
import { restrictionRules, restrictionRulesBehind } from "./restriction-rules.ts";

const NOTHING: ResolvedRules = { resourceRules: [], nonResourceRules: [], incomplete: false };

/** For SelfSubjectRulesReview and the escalation check. `incomplete` when a key narrows what its owner may. */
export function createEffectiveRules(deps: DecisionDeps): RuleResolver {
  const { rbac, keys } = deps;
  const roles = createRbacAuthorizer({ source: rbac });
  const rulesOnInstances = createInstanceRules(deps);
  const index = new RestrictionIndex();

  const rulesOfUser = (user: UserInfo, namespace: string, credential: Credential | undefined): ResolvedRules => {
    if (isServerItself({ user, credential })) return { ...NOTHING, ...resolveRules(FULL_AUTHORITY) };
    const byRole = roles.rulesFor(user, namespace);
    const owned = resolveRules(ownerRules(user, namespace, deps));
    return { ...byRole, ...joinRules([byRole, owned, rulesOnInstances(user, namespace)]) };
  };

  return {
    rulesFor(user, namespace, credential, work) {
      const standing = keyStanding({ user, credential }, keys);
      if (!standing.good) return NOTHING;
      const held = rulesOfUser(user, namespace, credential);
      const { key } = standing;
      if (key?.restrictions === undefined) return held;
      const context = { names: deps.names, instances: deps.instances, index };
      return narrow(held, restrictionRules(key.restrictions, namespace, context), work);
    },
  };
}

/** The rules of a cluster behind the proxy that the caller's key allows, for display. */
export function narrowRulesBehind(
  { keys, names }: Pick<DecisionDeps, "keys" | "names">,
  subject: Subject,
  target: RequestDestination<ProxyRequest>,
): OuterAuthorizer["narrowRules"] {
  return (resolved, namespace, work) => {
    const standing = keyStanding(subject, keys);
    if (!standing.good) return NOTHING;
    const restrictions = standing.key?.restrictions;
    if (restrictions === undefined || restrictions.ruleSets.length === 0) return resolved;
    const lists = restrictionRulesBehind(restrictions, target, namespace, names);
    return narrow(resolved, lists, work);
  };
}

/** The rules that all lists open, too. Without a request they are found at once. */
function narrow(
  held: ResolvedRules,
  lists: readonly (readonly PolicyRule[])[],
  work: LongRequest | undefined,
): Awaitable<ResolvedRules> {
  const rules = policyRulesOf(held);
  work?.weigh((rules.length + lists.reduce((sum, list) => sum + list.length, 0)) * RULE_BYTES);
  const steps = intersectAll(rules, lists);
  const narrowed = work === undefined ? runSteps(steps) : work.inParts(steps);
  return whenDone(narrowed, (common) => ({ ...held, ...resolveRules(common), incomplete: true }));
}

/** The least size of a rule as text. */
const RULE_BYTES = 64;
