// Checks whether the rules of a user cover the rules to be granted.
// Source: k8s.io/component-helpers/auth/rbac/validation/policy_comparator.go, policy_compact.go

import { runSteps, type Steps } from "@postern/apimachinery/steps/steps";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { type PolicyRule, pathMatches } from "./policy-rule.ts";

/** The smallest pieces of `wanted` that no single rule of `held` covers; empty when all is covered. */
export const uncoveredRules = (held: readonly PolicyRule[], wanted: readonly PolicyRule[]): readonly PolicyRule[] =>
  runSteps(uncoveredRulesInSteps(held, wanted));

/** Each rule may be compared with every other, and tenants write both. */
export function* uncoveredRulesInSteps(
  held: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
): Steps<readonly PolicyRule[]> {
  const holders: ReturnType<typeof createHolder>[] = [];
  for (const rule of held) {
    holders.push(createHolder(rule));
    yield;
  }
  const open: PolicyRule[] = [];
  for (const rule of wanted) {
    if (!holders.some((covers) => covers(rule))) open.push(rule);
    yield;
  }
  // A rule of four lists is as many pieces as their lengths give multiplied: what is not covered as a whole and has too many of them is
  // refused as a whole.
  if (countPieces(open) > MAX_PIECES) return open;
  const uncovered: PolicyRule[] = [];
  for (const rule of open) {
    for (const piece of breakDown(rule)) {
      if (!holders.some((covers) => covers(piece))) uncovered.push(piece);
      yield;
    }
  }
  return uncovered;
}

/** Far more than any role in use has. */
export const MAX_PIECES = 10_000;

/** What `breakDown` makes of the rules, without doing so. */
export const countPieces = (rules: readonly PolicyRule[]): number =>
  rules.reduce((sum, { verbs, apiGroups, resources, resourceNames, nonResourceURLs }) => {
    const ofResources = apiGroups.length * resources.length * Math.max(1, resourceNames.length);
    return sum + verbs.length * (ofResources + nonResourceURLs.length);
  }, 0);

const NOTHING: PolicyRule = { verbs: [], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [] };

/** One rule per verb, group, resource and name, and one per verb and path. */
export function breakDown(rule: PolicyRule): readonly PolicyRule[] {
  const names: readonly (readonly string[])[] =
    rule.resourceNames.length === 0 ? [[]] : rule.resourceNames.map((name) => [name]);
  const ofResources = rule.apiGroups.flatMap((group) =>
    rule.resources.flatMap((resource) =>
      rule.verbs.flatMap((verb) =>
        names.map((resourceNames) => ({
          ...NOTHING,
          verbs: [verb],
          apiGroups: [group],
          resources: [resource],
          resourceNames,
        })),
      ),
    ),
  );
  const ofPaths = rule.nonResourceURLs.flatMap((url) =>
    rule.verbs.map((verb) => ({ ...NOTHING, verbs: [verb], nonResourceURLs: [url] })),
  );
  return [...ofResources, ...ofPaths];
}

/** Index to decide whether a rule is covered; created once, since lists may be long. */
function createHolder(held: PolicyRule): (rule: PolicyRule) => boolean {
  const [verbs, groups, resources, names] = [held.verbs, held.apiGroups, held.resources, held.resourceNames].map(
    (list) => new Set(list),
  );
  const hasAll = (set: ReadonlySet<string> | undefined, wanted: readonly string[]): boolean =>
    set?.has("*") === true || wanted.every((value) => set?.has(value) === true);
  const coversResource = (resource: string): boolean => {
    if (resources?.has("*") === true || resources?.has(resource) === true) return true;
    const slash = resource.indexOf("/");
    return slash >= 0 && resources?.has(`*${resource.slice(slash)}`) === true;
  };
  return (rule) =>
    hasAll(verbs, rule.verbs) &&
    hasAll(groups, rule.apiGroups) &&
    rule.resources.every(coversResource) &&
    (held.resourceNames.length === 0 ||
      (rule.resourceNames.length > 0 && rule.resourceNames.every((name) => names?.has(name) === true))) &&
    rule.nonResourceURLs.every((url) => held.nonResourceURLs.some((heldUrl) => pathMatches(heldUrl, url)));
}

/** Rules about the same single resource (and name, if one) as one rule with all their verbs; the others as they are. */
export function compactRules(rules: readonly PolicyRule[]): readonly PolicyRule[] {
  const compacted: PolicyRule[] = [];
  const simple = new Map<string, PolicyRule>();
  for (const rule of rules) {
    if (!isSimple(rule)) {
      compacted.push(rule);
      continue;
    }
    const key = JSON.stringify([rule.apiGroups, rule.resources, rule.resourceNames]);
    const known = simple.get(key);
    simple.set(key, known === undefined ? rule : { ...known, verbs: [...known.verbs, ...rule.verbs] });
  }
  return [...compacted, ...simple.values()];
}

const isSimple = (rule: PolicyRule): boolean =>
  rule.apiGroups.length === 1 &&
  rule.resources.length === 1 &&
  rule.resourceNames.length <= 1 &&
  rule.nonResourceURLs.length === 0;

/** A rule on one line, as refusals print it: `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`. */
export function describeRule(rule: PolicyRule): string {
  const parts = (
    [
      ["APIGroups", rule.apiGroups],
      ["Resources", rule.resources],
      ["NonResourceURLs", rule.nonResourceURLs],
      ["ResourceNames", rule.resourceNames],
      ["Verbs", rule.verbs],
    ] as const
  )
    .filter(([, values]) => values.length > 0)
    .map(([name, values]) => `${name}:${quoteGoList(values)}`);
  return `{${parts.join(", ")}}`;
}

/** A list of texts as Go's %q prints it: `["a" "b"]`. */
export const quoteGoList = (values: readonly string[]): string => `[${values.map(quoteGo).join(" ")}]`;
