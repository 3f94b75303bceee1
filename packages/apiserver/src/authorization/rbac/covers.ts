// Whether the rules somebody holds cover the rules that are to be granted.
// Source: k8s.io/component-helpers/auth/rbac/validation/policy_comparator.go, policy_compact.go

import { quoteGo } from "@postern/apimachinery/text/go-quote";
import type { PolicyRule } from "./policy-rule.ts";
import { pathMatches } from "./rule-allows.ts";

/** The smallest pieces of `wanted` that no single rule of `held` covers; empty when all is covered. */
export function uncoveredRules(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): readonly PolicyRule[] {
  return wanted.flatMap(breakDown).filter((piece) => !held.some((rule) => ruleCovers(rule, piece)));
}

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

function ruleCovers(held: PolicyRule, piece: PolicyRule): boolean {
  return (
    hasAll(held.verbs, piece.verbs) &&
    hasAll(held.apiGroups, piece.apiGroups) &&
    piece.resources.every((resource) => resourceCovers(held.resources, resource)) &&
    (held.resourceNames.length === 0 ||
      (piece.resourceNames.length > 0 && piece.resourceNames.every((name) => held.resourceNames.includes(name)))) &&
    piece.nonResourceURLs.every((url) => held.nonResourceURLs.some((heldUrl) => pathMatches(heldUrl, url)))
  );
}

const hasAll = (held: readonly string[], wanted: readonly string[]): boolean =>
  held.includes("*") || wanted.every((value) => held.includes(value));

function resourceCovers(held: readonly string[], resource: string): boolean {
  if (held.includes("*") || held.includes(resource)) return true;
  const slash = resource.indexOf("/");
  return slash >= 0 && held.includes(`*${resource.slice(slash)}`);
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
