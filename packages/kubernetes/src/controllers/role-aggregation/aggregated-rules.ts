// The rules that aggregated ClusterRoles should have: those of the roles that they select, directly or by way of other aggregated roles.

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { type LabelSelector, selectorFromLabelSelector } from "@postern/apimachinery/selectors/label-selector";
import { runSteps, type Steps } from "@postern/apimachinery/steps/steps";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";

export type Labels = CachedObject["labels"];
/** A selector with its text, by which equal ones are gone through once. */
export type Matcher = Pick<ReturnType<typeof selectorFromLabelSelector>, "matches"> & { readonly text: string };
export type Rules = readonly JsonValue[];

/**
 * That of a request to etcd, which upstream's roles have to pass. Any number of roles may be selected, and the sum of their rules would be
 * more than a client may write.
 */
const MAX_TEXT = 1_572_864;

/** Most comparisons of labels, and most roles joined, for all aggregated roles of a cluster together. It bounds the memory as well. */
export const MAX_WORK = 1_000_000;

/** Roles in order of their names. */
export type RoleSource = {
  list(): readonly { readonly key: string; readonly labels: Labels }[];
  /** Undefined: the role has rules of its own. */
  selectorsOf(key: string): readonly Matcher[] | undefined;
  rulesOf(key: string): Rules;
};

/** Roles with rules of their own that can be reached from a vertex, in the order in which they are met; their rules when they are known. */
type Reached = { readonly roles: readonly string[]; rules: Rules | Error | undefined };

/** A role, or a selector: many roles may share one. */
type Vertex = {
  /** Undefined until the vertex is entered. A role leads to its selectors, a selector to the roles that it matches. */
  children: readonly Vertex[] | undefined;
  readonly expand: () => Steps<readonly Vertex[]>;
  /** A role with rules of its own. */
  readonly role: string | undefined;
  /** Numbers of Tarjan's algorithm: the order of entering, and the least of those that lead back. */
  index: number;
  low: number;
  /** Undefined until the circle of the vertex is complete. */
  reached: Reached | undefined;
};

/**
 * The rules of each aggregated role among `keys`, each rule once; an Error where they are too many. They come from roles with rules of their
 * own alone: the present rules of aggregated roles do not matter. So roles that select each other settle, where upstream's controller writes them
 * again and again.
 *
 * The roles of a circle have the same rules, which are put together once (Tarjan's strongly connected components): the work is that of the
 * selectors and of the roles that they match, whichever way the roles select each other.
 */
export function* aggregatedRules(keys: Iterable<string>, roles: RoleSource): Steps<Map<string, Rules | Error>> {
  const reach = createReach(roles);
  const found = new Map<string, Rules | Error>();
  for (const key of keys) {
    if (roles.selectorsOf(key) === undefined) continue;
    const reached = yield* reach(key);
    if (reached !== undefined) reached.rules ??= yield* joinedRules(key, reached.roles, roles);
    found.set(
      key,
      reached?.rules ?? new Error(`the roles that ${key} selects, and those that they select, are too many`),
    );
  }
  return found;
}

function createReach(roles: RoleSource): (key: string) => Steps<Reached | undefined> {
  const all = roles.list();
  const ofRoles = new Map<string, Vertex>();
  const ofSelectors = new Map<string, Vertex>();
  let entered = 0;
  let left = MAX_WORK;

  const vertex = (role: string | undefined, expand: Vertex["expand"]): Vertex => ({
    children: undefined,
    expand,
    role,
    index: -1,
    low: -1,
    reached: undefined,
  });
  function ofRole(key: string): Vertex {
    const known = ofRoles.get(key);
    if (known !== undefined) return known;
    const selectors = roles.selectorsOf(key);
    const role = vertex(selectors === undefined ? key : undefined, function* () {
      const own: Vertex[] = [];
      for (const selector of selectors ?? []) {
        yield;
        if (--left < 0) break;
        own.push(ofSelector(selector));
      }
      return own;
    });
    ofRoles.set(key, role);
    return role;
  }
  function ofSelector({ text, matches }: Matcher): Vertex {
    const known = ofSelectors.get(text);
    if (known !== undefined) return known;
    const selector = vertex(undefined, function* () {
      const matched: Vertex[] = [];
      for (const { key, labels } of all) {
        yield;
        if (--left < 0) break;
        if (matches(labels)) matched.push(ofRole(key));
      }
      return matched;
    });
    ofSelectors.set(text, selector);
    return selector;
  }

  /** Joins vertices that all lead to each other. */
  function* join(circle: readonly Vertex[]): Steps<Reached> {
    const parts = new Set<Reached>();
    const found = new Set<string>();
    for (const { role, children } of circle) {
      if (role !== undefined) found.add(role);
      for (const { reached } of children ?? []) {
        yield;
        left--;
        if (reached === undefined || parts.has(reached)) continue;
        parts.add(reached);
        for (const each of reached.roles) {
          yield;
          left--;
          found.add(each);
        }
      }
    }
    const [only] = parts;
    return only !== undefined && only.roles.length === found.size ? only : { roles: [...found], rules: undefined };
  }

  return function* (key) {
    const root = ofRole(key);
    /** From the root to the present vertex. Without recursion: chains may be long. */
    const path: { readonly vertex: Vertex; next: number }[] = [];
    /** Entered, in this order, and not in a complete circle yet. */
    const open: Vertex[] = [];
    function* enter(entering: Vertex): Steps<void> {
      entering.index = entering.low = entered++;
      entering.children = yield* entering.expand();
      path.push({ vertex: entering, next: 0 });
      open.push(entering);
    }
    if (root.reached === undefined && left >= 0) yield* enter(root);
    for (let at = path.at(-1); at !== undefined && left >= 0; at = path.at(-1)) {
      yield;
      left--;
      const child = at.vertex.children?.[at.next++];
      if (child === undefined) {
        path.pop();
        const parent = path.at(-1)?.vertex;
        if (parent !== undefined) parent.low = Math.min(parent.low, at.vertex.low);
        if (at.vertex.low < at.vertex.index) continue;
        const circle = open.splice(open.lastIndexOf(at.vertex));
        const reached = yield* join(circle);
        for (const each of circle) each.reached = reached;
      } else if (child.index < 0) yield* enter(child);
      else if (child.reached === undefined) at.vertex.low = Math.min(at.vertex.low, child.index);
    }
    return left < 0 ? undefined : root.reached;
  };
}

function* joinedRules(key: string, reached: readonly string[], roles: RoleSource): Steps<Rules | Error> {
  const rules = new Map<string, JsonValue>();
  let length = 0;
  for (const role of reached) {
    for (const rule of roles.rulesOf(role)) {
      yield;
      const text = textOf(rule);
      if (rules.has(text)) continue;
      length += text.length;
      if (length > MAX_TEXT) return new Error(`the roles that ${key} selects have more rules than fit into one role`);
      rules.set(text, rule);
    }
  }
  return [...rules.values()];
}

/** The same objects. Aggregated roles among them already have the rules of all that they select here, before a controller looks at them. */
export function withAggregatedRules(objects: readonly KubeObject[]): readonly KubeObject[] {
  const roles = objects
    .filter(({ kind }) => kind === "ClusterRole")
    .map((role) => ({ key: role.metadata.name ?? "", labels: role.metadata.labels ?? {}, role }))
    .toSorted((one, other) => (one.key < other.key ? -1 : 1));
  const byKey = new Map(roles.map(({ key, role }) => [key, role]));
  const rules = runSteps(
    aggregatedRules(byKey.keys(), {
      list: () => roles,
      selectorsOf: (key) => matchersOf(byKey.get(key) ?? {}),
      rulesOf: (key) => ownRules(byKey.get(key) ?? {}),
    }),
  );
  return objects.map((object) => {
    const aggregated = object.kind === "ClusterRole" ? rules.get(object.metadata.name ?? "") : undefined;
    if (aggregated instanceof Error) throw aggregated;
    return aggregated === undefined ? object : { ...object, rules: aggregated };
  });
}

/** Rules are flat; the order of their members does not matter. */
const textOf = (rule: JsonValue): string =>
  JSON.stringify(isJsonObject(rule) ? Object.entries(rule).toSorted(([one], [other]) => (one < other ? -1 : 1)) : rule);

export const ownRules = ({ rules }: JsonObject): Rules => (isJsonArray(rules) ? rules : []);

/** Undefined: the role is not an aggregated one. */
export const matchersOf = (role: JsonObject): readonly Matcher[] | undefined =>
  selectorsOf(role)?.map((selector) => {
    const { matches } = selectorFromLabelSelector(selector);
    return { matches, text: JSON.stringify(selector) };
  });

function selectorsOf({ aggregationRule }: JsonObject): readonly LabelSelector[] | undefined {
  if (!isJsonObject(aggregationRule)) return undefined;
  const selectors = aggregationRule["clusterRoleSelectors"];
  if (!isJsonArray(selectors)) return [];
  // The schema and the strategy of ClusterRoles have checked the shape.
  return selectors.filter(isJsonObject) as readonly LabelSelector[];
}
