// The rules of one role, indexed by resource and path on first use, so that a decision does not look at every rule.

import { trimTrailing } from "@postern/apimachinery/text/trim-trailing";
import type { ResolvedRules } from "../authorizer.ts";
import type { PolicyRule } from "./policy-rule.ts";
import { combinedResource, type RuleAttributes } from "./rule-attributes.ts";

/** Rules about a resource with the same verbs and API groups, and the names that they open. */
type ResourceRules = {
  readonly verbs: ReadonlySet<string>;
  readonly apiGroups: ReadonlySet<string>;
  names: Set<string>;
  anyName: boolean;
};

type PathRules = { readonly verbs: ReadonlySet<string>; readonly paths: PathPatterns };

export type RulesByPlace = Pick<ResolvedRules, "resourceRules" | "nonResourceRules">;

/** The names of a resource that rules open. */
export type OpenNames = { readonly all: boolean; readonly some: ReadonlySet<string> };

const NO_RULES: readonly ResourceRules[] = [];

export class RuleIndex {
  readonly rules: readonly PolicyRule[];
  /** Counts the groups of rules that decisions looked at, for tests. */
  visited = 0;
  #byResource: ReadonlyMap<string, readonly ResourceRules[]> | undefined;
  #paths: readonly PathRules[] | undefined;
  #resolved: RulesByPlace | undefined;

  constructor(rules: readonly PolicyRule[]) {
    this.rules = rules;
  }

  /** Split into what they open inside and outside the resource tree, for showing them. */
  get resolved(): RulesByPlace {
    this.#resolved ??= resolveRules(this.rules);
    return this.#resolved;
  }

  /** Whether any of the rules allows the request. `combined` may be passed if many roles are checked for one request. */
  allows(request: RuleAttributes, combined: string = combinedResource(request)): boolean {
    if (!request.isResourceRequest) return this.#allowsPath(request.verb, request.path);
    for (const rules of this.#about(combined, request.subresource)) {
      for (const rule of rules) {
        this.visited++;
        if (opens(rule, request) && (rule.anyName || rule.names.has(request.name))) return true;
      }
    }
    return false;
  }

  /** The names for which the rules allow a request about a resource. */
  namesFor(request: RuleAttributes): OpenNames {
    const some = new Set<string>();
    for (const rules of this.#about(combinedResource(request), request.subresource)) {
      for (const rule of rules) {
        if (!opens(rule, request)) continue;
        if (rule.anyName) return { all: true, some: new Set() };
        for (const name of rule.names) some.add(name);
      }
    }
    return { all: false, some };
  }

  #about(combined: string, subresource: string): readonly (readonly ResourceRules[])[] {
    this.#byResource ??= indexByResource(this.rules);
    const byResource = this.#byResource;
    const ofAll = byResource.get("*") ?? NO_RULES;
    const ofOne = combined === "*" ? NO_RULES : (byResource.get(combined) ?? NO_RULES);
    const isOther = subresource !== "" && combined !== `*/${subresource}`;
    return [ofAll, ofOne, isOther ? (byResource.get(`*/${subresource}`) ?? NO_RULES) : NO_RULES];
  }

  #allowsPath(verb: string, path: string): boolean {
    this.#paths ??= indexByPath(this.rules);
    for (const { verbs, paths } of this.#paths) {
      this.visited++;
      if (hasOrAll(verbs, verb) && paths.match(path)) return true;
    }
    return false;
  }
}

const opens = ({ verbs, apiGroups }: ResourceRules, { verb, apiGroup }: RuleAttributes): boolean =>
  hasOrAll(verbs, verb) && hasOrAll(apiGroups, apiGroup);

const hasOrAll = (set: ReadonlySet<string>, value: string): boolean => set.has(value) || set.has("*");

/** Most rules name no objects, and an empty set takes more memory than their text. */
const NO_NAMES = new Set<string>();

const setOf = (names: readonly string[]): Set<string> => (names.length === 0 ? NO_NAMES : new Set(names));

function indexByResource(rules: readonly PolicyRule[]): ReadonlyMap<string, readonly ResourceRules[]> {
  const sets = new Interned();
  const byResource = new Map<string, Map<string, ResourceRules>>();
  for (const { verbs, apiGroups, resources, resourceNames } of rules) {
    const [ofVerbs, ofGroups] = [sets.of(verbs), sets.of(apiGroups)];
    const key = `${ofVerbs.id}/${ofGroups.id}`;
    // A list may name a resource twice, and long lists of both would multiply.
    const names = sets.of(resourceNames);
    for (const resource of new Set(resources)) {
      const known = byResource.get(resource) ?? new Map<string, ResourceRules>();
      byResource.set(resource, known);
      // Names are merged where a rule is about one resource; otherwise its own set is shared by all its resources.
      const isShared = resources.length > 1 && resourceNames.length > 0;
      const place = isShared ? `${key}/${names.id}` : key;
      const found = known.get(place);
      if (found === undefined) {
        known.set(place, {
          verbs: ofVerbs.set,
          apiGroups: ofGroups.set,
          names: isShared ? names.set : setOf(resourceNames),
          anyName: resourceNames.length === 0,
        });
      } else if (resourceNames.length === 0) found.anyName = true;
      else if (!isShared) {
        if (found.names === NO_NAMES) found.names = new Set();
        for (const name of resourceNames) found.names.add(name);
      }
    }
  }
  return new Map([...byResource].map(([resource, known]) => [resource, [...known.values()]]));
}

function indexByPath(rules: readonly PolicyRule[]): readonly PathRules[] {
  const sets = new Interned();
  const byVerbs = new Map<number, { readonly verbs: ReadonlySet<string>; readonly urls: string[] }>();
  for (const { verbs, nonResourceURLs } of rules) {
    if (nonResourceURLs.length === 0) continue;
    const { id, set } = sets.of(verbs);
    const known = byVerbs.get(id) ?? { verbs: set, urls: [] };
    byVerbs.set(id, known);
    for (const url of nonResourceURLs) known.urls.push(url);
  }
  return [...byVerbs.values()].map(({ verbs, urls }) => ({ verbs, paths: new PathPatterns(urls) }));
}

/** Policy rules split into what they open inside and outside the resource tree. */
export function resolveRules(rules: readonly PolicyRule[]): RulesByPlace {
  return {
    resourceRules: rules
      .filter(({ resources }) => resources.length > 0)
      .map(({ verbs, apiGroups, resources, resourceNames }) => ({
        verbs,
        apiGroups,
        resources,
        ...(resourceNames.length === 0 ? {} : { resourceNames }),
      })),
    nonResourceRules: rules
      .filter(({ nonResourceURLs }) => nonResourceURLs.length > 0)
      .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
  };
}

/** Lists with the same values share one set. */
class Interned {
  readonly #byText = new Map<string, { readonly id: number; readonly set: Set<string> }>();

  of(list: readonly string[]): { readonly id: number; readonly set: Set<string> } {
    const text = list.length === 1 ? (list[0] ?? "") : JSON.stringify(list);
    const known = this.#byText.get(text);
    if (known !== undefined) return known;
    const made = { id: this.#byText.size, set: new Set(list) };
    this.#byText.set(text, made);
    return made;
  }
}

/** Paths of rules: one look-up for each length of a prefix, however many there are. */
export class PathPatterns {
  readonly #exact: ReadonlySet<string>;
  readonly #prefixes: ReadonlySet<string>;
  readonly #lengths: readonly number[];

  constructor(urls: readonly string[]) {
    this.#exact = new Set(urls);
    this.#prefixes = new Set(urls.filter((url) => url.endsWith("*")).map((url) => trimTrailing(url, "*")));
    this.#lengths = [...new Set([...this.#prefixes].map(({ length }) => length))].sort((one, other) => one - other);
  }

  /** As `pathMatches` for any of the paths. */
  match(path: string): boolean {
    if (this.#exact.has(path)) return true;
    for (const length of this.#lengths) {
      if (length > path.length) return false;
      if (this.#prefixes.has(path.slice(0, length))) return true;
    }
    return false;
  }
}
