// The intersection of two sets of rules, as rules again.

import type { Steps } from "@postern/apimachinery/steps/steps";
import type { PolicyRule } from "@postern/apiserver/authorization/rbac/policy-rule";
import { pathMatches } from "@postern/apiserver/authorization/rbac/rule-attributes";

/** Comparisons of values for one answer. It leaves out the rules beyond: a key may have as many rules as its owner. */
export const MAX_VALUE_COMPARISONS = 250_000;
/** Comparisons in one step. */
const STEP = 2_000;

/** Intersection of all lists. */
export function* intersectAll(
  rules: readonly PolicyRule[],
  lists: readonly (readonly PolicyRule[])[],
): Steps<readonly PolicyRule[]> {
  const budget = { left: MAX_VALUE_COMPARISONS };
  let all = rules;
  for (const list of lists) all = yield* intersectRules(all, list, budget);
  return all;
}

export function* intersectRules(
  left: readonly PolicyRule[],
  right: readonly PolicyRule[],
  budget: { left: number } = { left: MAX_VALUE_COMPARISONS },
): Steps<readonly PolicyRule[]> {
  const both: PolicyRule[] = [];
  const values = new ValueSets();
  const filed = new FiledRules(right);
  yield;
  let pauseAt = budget.left - STEP;
  for (const one of left) {
    budget.left--;
    for (const other of filed.candidates(one)) {
      budget.left -= comparisonsOf(one, other);
      if (budget.left < 0) return both;
      both.push(...commonResources(one, other, values), ...commonPaths(one, other, values));
      if (budget.left > pauseAt) continue;
      yield;
      pauseAt = budget.left - STEP;
    }
    if (budget.left < 0) return both;
  }
  return both;
}

/** Rules by what they name, so that others are compared only with those that name the same. Each of several equal rules counts once. */
class FiledRules {
  readonly #rules: readonly PolicyRule[];
  /** By name, of those that open single names; the others have none. */
  readonly #byName = new Map<string, number[]>();
  readonly #withAnyName = new RulesByResource();
  readonly #byResource = new RulesByResource();
  readonly #byPath = new Map<string, number[]>();
  readonly #withPaths: number[] = [];

  constructor(rules: readonly PolicyRule[]) {
    this.#rules = [...new Map(rules.map((rule) => [JSON.stringify(rule), rule])).values()];
    for (const [place, { resources, resourceNames, nonResourceURLs }] of this.#rules.entries()) {
      for (const name of resourceNames) file(this.#byName, name, place);
      for (const resource of resources) {
        this.#byResource.add(resource, place);
        if (resourceNames.length === 0) this.#withAnyName.add(resource, place);
      }
      for (const url of nonResourceURLs) file(this.#byPath, url.endsWith("*") ? "*" : url, place);
      if (nonResourceURLs.length > 0) this.#withPaths.push(place);
    }
  }

  /** Those that may have something in common with a rule, in their order. */
  candidates(rule: PolicyRule): readonly PolicyRule[] {
    const places = new Set<number>();
    const take = (found: readonly number[] = []): void => {
      for (const place of found) places.add(place);
    };
    const { resources, resourceNames, nonResourceURLs } = rule;
    for (const name of resourceNames) take(this.#byName.get(name));
    const byResource = resourceNames.length === 0 ? this.#byResource : this.#withAnyName;
    for (const resource of resources) for (const found of byResource.find(resource)) take(found);
    if (nonResourceURLs.some((url) => url.endsWith("*"))) take(this.#withPaths);
    else if (nonResourceURLs.length > 0) for (const url of ["*", ...nonResourceURLs]) take(this.#byPath.get(url));
    return [...places].sort((one, other) => one - other).flatMap((place) => this.#rules[place] ?? []);
  }
}

class RulesByResource {
  readonly #all: number[] = [];
  readonly #byPattern = new Map<string, number[]>();
  readonly #bySubresource = new Map<string, number[]>();

  add(pattern: string, place: number): void {
    this.#all.push(place);
    file(this.#byPattern, pattern, place);
    const subresource = pattern.split("/")[1];
    if (subresource !== undefined) file(this.#bySubresource, subresource, place);
  }

  find(pattern: string): readonly (readonly number[] | undefined)[] {
    if (pattern === "*") return [this.#all];
    const [resource, subresource] = pattern.split("/");
    const ofAny = ["*", pattern, ...(subresource === undefined ? [] : [`*/${subresource}`])].map((each) =>
      this.#byPattern.get(each),
    );
    return resource === "*" && subresource !== undefined ? [...ofAny, this.#bySubresource.get(subresource)] : ofAny;
  }
}

function file(index: Map<string, number[]>, value: string, place: number): void {
  const places = index.get(value);
  if (places === undefined) index.set(value, [place]);
  else places.push(place);
}

/** The shorter of two lists is searched; only resources and paths contain patterns. */
const comparisonsOf = (left: PolicyRule, right: PolicyRule): number =>
  1 +
  Math.min(left.verbs.length, right.verbs.length) +
  Math.min(left.apiGroups.length, right.apiGroups.length) +
  left.resources.length * right.resources.length +
  Math.min(left.resourceNames.length, right.resourceNames.length) +
  left.nonResourceURLs.length * right.nonResourceURLs.length;

/** Long lists as sets, each made once. */
class ValueSets {
  readonly #sets = new Map<readonly string[], ReadonlySet<string>>();

  /** The values that are in both lists. */
  common(one: readonly string[], other: readonly string[]): readonly string[] {
    const [shorter, longer] = one.length <= other.length ? [one, other] : [other, one];
    return shorter.filter((value) => this.has(longer, value));
  }

  has(list: readonly string[], value: string): boolean {
    if (list.length <= FEW) return list.includes(value);
    const known = this.#sets.get(list) ?? new Set(list);
    this.#sets.set(list, known);
    return known.has(value);
  }

  /** The same for lists in which a star is every value. */
  commonOrAll(one: readonly string[], other: readonly string[]): readonly string[] {
    if (this.has(one, "*")) return other;
    return this.has(other, "*") ? one : this.common(one, other);
  }
}

const FEW = 16;

function commonResources(left: PolicyRule, right: PolicyRule, values: ValueSets): readonly PolicyRule[] {
  const verbs = values.commonOrAll(left.verbs, right.verbs);
  const apiGroups = values.commonOrAll(left.apiGroups, right.apiGroups);
  const names = commonNames(left.resourceNames, right.resourceNames, values);
  if (verbs.length === 0 || apiGroups.length === 0 || names === undefined) return [];
  const resources = unique(
    left.resources.flatMap((one) => right.resources.flatMap((other) => commonResource(one, other))),
  );
  if (resources.length === 0) return [];
  return [{ verbs, apiGroups, resources, resourceNames: names, nonResourceURLs: [] }];
}

function commonPaths(left: PolicyRule, right: PolicyRule, values: ValueSets): readonly PolicyRule[] {
  const verbs = values.commonOrAll(left.verbs, right.verbs);
  const urls = unique(
    left.nonResourceURLs.flatMap((one) => right.nonResourceURLs.flatMap((other) => commonPath(one, other))),
  );
  if (verbs.length === 0 || urls.length === 0) return [];
  return [{ verbs, apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: urls }];
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
function commonNames(
  left: readonly string[],
  right: readonly string[],
  values: ValueSets,
): readonly string[] | undefined {
  if (left.length === 0) return right;
  if (right.length === 0) return left;
  const both = values.common(left, right);
  return both.length === 0 ? undefined : both;
}

function commonPath(left: string, right: string): readonly string[] {
  if (pathMatches(left, right)) return [right];
  return pathMatches(right, left) ? [left] : [];
}

const unique = (values: readonly string[]): readonly string[] => [...new Set(values)];
