// Returns the rules of a caller in a namespace, within the limits of its access key. Never more than decisions allow there.

import type { Credential } from "@postern/apiserver/authentication/authenticator";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { ResolvedRules, RuleResolver } from "@postern/apiserver/authorization/authorizer";
import { FULL_AUTHORITY, type PolicyRule, pathMatches } from "@postern/apiserver/authorization/rbac/policy-rule";
import { createRbacAuthorizer, joinRules, policyRulesOf } from "@postern/apiserver/authorization/rbac/rbac-authorizer";
import { resolveRules } from "@postern/apiserver/authorization/rbac/rule-index";
import { ownerRules } from "./owner-rules.ts";
import { type DecisionDeps, isServerItself, keyStanding, type Subject } from "./platform-authorizer.ts";
import type { ProxyRequest, RequestDestination } from "./platform-request.ts";
import { restrictionRules, restrictionRulesBehind } from "./restriction-rules.ts";

const NOTHING: ResolvedRules = { resourceRules: [], nonResourceRules: [], incomplete: false };

/** For SelfSubjectRulesReview and the escalation check. `incomplete` when a key narrows what its owner may. */
export function createEffectiveRules(deps: DecisionDeps): RuleResolver {
  const { rbac, keys } = deps;
  const roles = createRbacAuthorizer({ source: rbac });

  const rulesOfUser = (user: UserInfo, namespace: string, credential: Credential | undefined): ResolvedRules => {
    if (isServerItself({ user, credential })) return { ...NOTHING, ...resolveRules(FULL_AUTHORITY) };
    const byRole = roles.rulesFor(user, namespace);
    return { ...byRole, ...joinRules([byRole, resolveRules(ownerRules(user, namespace, deps))]) };
  };

  return {
    rulesFor(user, namespace, credential) {
      const standing = keyStanding({ user, credential }, keys);
      if (!standing.good) return NOTHING;
      const held = rulesOfUser(user, namespace, credential);
      const { key } = standing;
      if (key?.restrictions === undefined) return held;
      const context = { names: deps.names, user, owner: key.owner };
      const narrowed = intersectAll(policyRulesOf(held), restrictionRules(key.restrictions, namespace, context));
      return { ...held, ...resolveRules(narrowed), incomplete: true };
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
    return { ...resolved, ...resolveRules(intersectAll(policyRulesOf(resolved), lists)), incomplete: true };
  };
}

// What two sets of rules both open, as rules again.

/** Comparisons of values for one answer. It leaves out the rules beyond: a key may have as many rules as its owner. */
export const MAX_VALUE_COMPARISONS = 1_000_000;

/** What all lists open. */
function intersectAll(rules: readonly PolicyRule[], lists: readonly (readonly PolicyRule[])[]): readonly PolicyRule[] {
  const budget = { left: MAX_VALUE_COMPARISONS };
  return lists.reduce((all, list) => intersectRules(all, list, budget), rules);
}

export function intersectRules(
  left: readonly PolicyRule[],
  right: readonly PolicyRule[],
  budget: { left: number } = { left: MAX_VALUE_COMPARISONS },
): readonly PolicyRule[] {
  const both: PolicyRule[] = [];
  for (const one of left) {
    for (const other of right) {
      budget.left -= comparisonsOf(one, other);
      if (budget.left < 0) return both;
      both.push(...commonResources(one, other), ...commonPaths(one, other));
    }
  }
  return both;
}

const comparisonsOf = (left: PolicyRule, right: PolicyRule): number =>
  1 +
  left.verbs.length * right.verbs.length +
  left.apiGroups.length * right.apiGroups.length +
  left.resources.length * right.resources.length +
  left.resourceNames.length * right.resourceNames.length +
  left.nonResourceURLs.length * right.nonResourceURLs.length;

function commonResources(left: PolicyRule, right: PolicyRule): readonly PolicyRule[] {
  const verbs = common(left.verbs, right.verbs);
  const apiGroups = common(left.apiGroups, right.apiGroups);
  const resources = unique(
    left.resources.flatMap((one) => right.resources.flatMap((other) => commonResource(one, other))),
  );
  const names = commonNames(left.resourceNames, right.resourceNames);
  if (verbs.length === 0 || apiGroups.length === 0 || resources.length === 0 || names === undefined) return [];
  return [{ verbs, apiGroups, resources, resourceNames: names, nonResourceURLs: [] }];
}

function commonPaths(left: PolicyRule, right: PolicyRule): readonly PolicyRule[] {
  const verbs = common(left.verbs, right.verbs);
  const urls = unique(
    left.nonResourceURLs.flatMap((one) => right.nonResourceURLs.flatMap((other) => commonPath(one, other))),
  );
  if (verbs.length === 0 || urls.length === 0) return [];
  return [{ verbs, apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: urls }];
}

function common(left: readonly string[], right: readonly string[]): readonly string[] {
  if (left.includes("*")) return right;
  return right.includes("*") ? left : left.filter((value) => right.includes(value));
}

/** `*`, a resource, one with its subresource, or a star with a subresource. */
function commonResource(left: string, right: string): readonly string[] {
  if (left === "*" || left === right) return [right];
  if (right === "*") return [left];
  if (isSubresourceOf(left, right)) return [right];
  return isSubresourceOf(right, left) ? [left] : [];
}

/** Whether `pattern` is a star with the subresource that `resource` has. There is none of the name `undefined`. */
const isSubresourceOf = (pattern: string, resource: string): boolean => pattern === `*/${resource.split("/")[1]}`;

/** An empty list is every name; undefined when no name is in both. */
function commonNames(left: readonly string[], right: readonly string[]): readonly string[] | undefined {
  if (left.length === 0) return right;
  if (right.length === 0) return left;
  const both = left.filter((name) => right.includes(name));
  return both.length === 0 ? undefined : both;
}

function commonPath(left: string, right: string): readonly string[] {
  if (pathMatches(left, right)) return [right];
  return pathMatches(right, left) ? [left] : [];
}

const unique = (values: readonly string[]): readonly string[] => [...new Set(values)];
