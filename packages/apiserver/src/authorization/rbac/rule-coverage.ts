// Checks whether the rules of a user cover the rules to be granted.
// Source: k8s.io/component-helpers/auth/rbac/validation/policy_comparator.go, policy_compact.go

import { runSteps, type Steps } from "@postern/apimachinery/steps/steps";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import type { PolicyRule } from "./policy-rule.ts";
import { PathPatterns } from "./rule-index.ts";

/** The smallest pieces of `wanted` that no single rule of `held` covers; empty when all is covered. */
export const uncoveredRules = (held: readonly PolicyRule[], wanted: readonly PolicyRule[]): readonly PolicyRule[] =>
  runSteps(uncoveredRulesInSteps(held, wanted));

/** Tenants write both sides, so each rule is compared only with rules that name its rarest value. */
export function* uncoveredRulesInSteps(
  held: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
  holders: HeldRules = new HeldRules(),
  /** Counts the comparisons of this check alone, where other checks use the same holders. */
  count: ComparisonCount = holders,
): Steps<readonly PolicyRule[]> {
  for (const rule of held) {
    holders.add(rule);
    yield;
  }
  const open: PolicyRule[] = [];
  for (const rule of wanted) {
    if (!holders.cover(rule, count)) open.push(rule);
    yield;
  }
  // A rule of four lists splits into the product of their lengths. A rule that is not covered as a whole, and would split into too many pieces, is
  // refused as a whole.
  if (countPieces(open) > MAX_PIECES) return open;
  const uncovered: PolicyRule[] = [];
  for (const rule of open) {
    for (const piece of breakDown(rule)) {
      if (!holders.cover(piece, count)) uncovered.push(piece);
      yield;
    }
  }
  return uncovered;
}

/** Far more than any role in use has. */
export const MAX_PIECES = 10_000;

/** Number of rules that `breakDown` makes of these, without doing so. */
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

/** Most comparisons between rules in one check; further rules count as not covered. */
export const MAX_COMPARISONS = 500_000;

const NO_HOLDERS: readonly Holder[] = [];

export type ComparisonCount = { comparisons: number };

/** The rules of one user, indexed by each value that they name. */
export class HeldRules implements ComparisonCount {
  /** Comparisons of one rule with another so far. */
  comparisons = 0;
  readonly #verbs = new Map<string, Holder[]>();
  readonly #apiGroups = new Map<string, Holder[]>();
  readonly #resources = new Map<string, Holder[]>();
  readonly #names = new Map<string, Holder[]>();
  readonly #unnamed: Holder[] = [];
  readonly #all: Holder[] = [];

  add(rule: PolicyRule): void {
    const holder = new Holder(rule);
    this.#all.push(holder);
    note(this.#verbs, rule.verbs, holder);
    note(this.#apiGroups, rule.apiGroups, holder);
    note(this.#resources, rule.resources, holder);
    if (rule.resourceNames.length === 0) this.#unnamed.push(holder);
    note(this.#names, rule.resourceNames, holder);
  }

  /** Whether a single rule covers all of the wanted one. */
  cover(wanted: PolicyRule, count: ComparisonCount = this): boolean {
    for (const list of this.#candidates(wanted)) {
      for (const holder of list) {
        count.comparisons++;
        if (count.comparisons > MAX_COMPARISONS) return false;
        if (holder.covers(wanted)) return true;
      }
    }
    return false;
  }

  /** The shortest lists in which every rule is that could cover the wanted one. */
  #candidates({ verbs, apiGroups, resources, resourceNames }: PolicyRule): readonly (readonly Holder[])[] {
    let shortest: readonly (readonly Holder[])[] = [this.#all];
    let length = this.#all.length;
    const consider = (lists: readonly (readonly Holder[])[]): void => {
      const sum = lists.reduce((total, list) => total + list.length, 0);
      if (sum < length) [shortest, length] = [lists, sum];
    };
    const ofAll = (index: ReadonlyMap<string, Holder[]>) => index.get("*") ?? NO_HOLDERS;
    const of = (index: ReadonlyMap<string, Holder[]>, value: string) =>
      value === "*" ? NO_HOLDERS : (index.get(value) ?? NO_HOLDERS);
    for (const verb of verbs) consider([ofAll(this.#verbs), of(this.#verbs, verb)]);
    for (const group of apiGroups) consider([ofAll(this.#apiGroups), of(this.#apiGroups, group)]);
    for (const resource of resources) {
      const slash = resource.indexOf("/");
      const pattern = `*${resource.slice(slash)}`;
      const ofPattern = slash < 0 || pattern === resource ? NO_HOLDERS : of(this.#resources, pattern);
      consider([ofAll(this.#resources), of(this.#resources, resource), ofPattern]);
    }
    // A star is a name like any other.
    for (const name of resourceNames) consider([this.#unnamed, this.#names.get(name) ?? NO_HOLDERS]);
    return shortest;
  }
}

/** A list that repeats a value has the holder once. */
function note(index: Map<string, Holder[]>, values: readonly string[], holder: Holder): void {
  for (const value of values) {
    const known = index.get(value);
    if (known === undefined) index.set(value, [holder]);
    else if (known.at(-1) !== holder) known.push(holder);
  }
}

/** One rule. Only long lists become sets: thousands of rules of a few values each are compared with every role that is granted. */
class Holder {
  readonly #verbs: Values;
  readonly #apiGroups: Values;
  readonly #resources: Values;
  readonly #names: Values | undefined;
  readonly #paths: PathPatterns | undefined;

  constructor({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule) {
    this.#verbs = valuesOf(verbs);
    this.#apiGroups = valuesOf(apiGroups);
    this.#resources = valuesOf(resources);
    this.#names = resourceNames.length === 0 ? undefined : valuesOf(resourceNames);
    this.#paths = nonResourceURLs.length === 0 ? undefined : new PathPatterns(nonResourceURLs);
  }

  covers(wanted: PolicyRule): boolean {
    return (
      hasAllOrStar(this.#verbs, wanted.verbs) &&
      hasAllOrStar(this.#apiGroups, wanted.apiGroups) &&
      wanted.resources.every((resource) => this.#coversResource(resource)) &&
      (this.#names === undefined || (wanted.resourceNames.length > 0 && hasAll(this.#names, wanted.resourceNames))) &&
      wanted.nonResourceURLs.every((url) => this.#paths?.match(url) ?? false)
    );
  }

  #coversResource(resource: string): boolean {
    if (has(this.#resources, "*") || has(this.#resources, resource)) return true;
    const slash = resource.indexOf("/");
    return slash >= 0 && has(this.#resources, `*${resource.slice(slash)}`);
  }
}

type Values = readonly string[] | ReadonlySet<string>;

/** A walk over so few is as fast as a set, and takes no memory. */
const FEW_VALUES = 8;

const valuesOf = (list: readonly string[]): Values => (list.length <= FEW_VALUES ? list : new Set(list));

const has = (values: Values, value: string): boolean =>
  values instanceof Set ? values.has(value) : (values as readonly string[]).includes(value);

const hasAll = (values: Values, wanted: readonly string[]): boolean => wanted.every((value) => has(values, value));

const hasAllOrStar = (values: Values, wanted: readonly string[]): boolean => has(values, "*") || hasAll(values, wanted);

/** Rules about the same single resource (and name, if one) as one rule with all their verbs; the others as they are. */
export function compactRules(rules: readonly PolicyRule[]): readonly PolicyRule[] {
  const compacted: PolicyRule[] = [];
  const simple = new Map<string, { readonly rule: PolicyRule; readonly verbs: string[] }>();
  for (const rule of rules) {
    if (!isSimple(rule)) {
      compacted.push(rule);
      continue;
    }
    const key = JSON.stringify([rule.apiGroups, rule.resources, rule.resourceNames]);
    const known = simple.get(key);
    // Made anew for each verb, long lists would cost their square.
    if (known === undefined) simple.set(key, { rule, verbs: [...rule.verbs] });
    else for (const verb of rule.verbs) known.verbs.push(verb);
  }
  return [...compacted, ...[...simple.values()].map(({ rule, verbs }) => ({ ...rule, verbs }))];
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
