// Updates the rules of aggregated ClusterRoles from the ClusterRoles that they select.
// Source: k8s.io/kubernetes/pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { type LabelSelector, selectorFromLabelSelector } from "@postern/apimachinery/selectors/label-selector";
import { runSteps, type Steps } from "@postern/apimachinery/steps/steps";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { followInParts } from "@postern/apiserver/cache/follow-in-parts";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import { updateControlled } from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource, Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import { inTurns } from "@postern/apiserver/runtime/in-slices";

type Labels = CachedObject["labels"];
/** A selector with its text, by which equal ones are gone through once. */
type Matcher = Pick<ReturnType<typeof selectorFromLabelSelector>, "matches"> & { readonly text: string };

/**
 * That of a request to etcd, which upstream's roles have to pass. Any number of roles may be selected, and the sum of their rules would be
 * more than a client may write.
 */
const MAX_TEXT = 1_572_864;

/** Most label comparisons for one aggregated role: thousands of roles that select each other would take very long. */
export const MAX_COMPARED = 500_000;

/** With at most this many aggregated roles, a change is matched against them at once. */
const FEW = 16;

const isSelected = (selectors: readonly Matcher[], labels: Labels): boolean =>
  selectors.some((each) => each.matches(labels));

const readAggregation = createMemberReader({ aggregationRule: true });

/** A tenant may have very many roles: they are visited in parts, and parsed when their rules are needed. */
export function createRoleAggregationController(
  port: Omit<ControllerPort, "resources">,
  clusterRoles: ControlledResource,
): Controller {
  const { view, keys } = clusterRoles;
  const { clock } = port.runtime;
  const aggregated = new Map<string, readonly Matcher[]>();
  /** Labels of roles that were created, changed or deleted, before and after: the roles that select them are looked up. */
  const changed = new Map<string, Labels[]>();

  const queue = new WorkQueue(port, {
    name: "ClusterRoleAggregator",
    async process(key, signal) {
      const labels = changed.get(key) ?? [];
      changed.delete(key);
      if (labels.length > 0) await inTurns(requeueFor(labels), clock);
      const selectors = aggregated.get(key);
      if (selectors === undefined || signal.aborted) return;
      const rules = await inTurns(aggregatedRules(key, roles), clock);
      const role = view.get(key);
      if (role === undefined || rules === undefined) return;
      const current = role.decode();
      if (equalJson(rules, current["rules"] ?? [])) return;
      const transform = (before: KubeObject): KubeObject => ({ ...before, rules });
      await updateControlled(port, clusterRoles, current, { transform }, signal);
    },
  });

  const roles: RoleSource = {
    list: () => view.list(keys.prefix),
    selectorsOf: (key) => aggregated.get(key),
    rulesOf(key) {
      const rules = view.get(key)?.decode()["rules"];
      return isJsonArray(rules) ? rules : [];
    },
  };

  /** Has all looked at that the rules of roles with these labels flow into, also by way of other aggregated roles. */
  function* requeueFor(all: readonly Labels[]): Steps<void> {
    const found = new Set<string>();
    const open = [...all];
    for (const labels of open) {
      for (const [key, selectors] of aggregated) {
        yield;
        if (found.has(key) || !isSelected(selectors, labels)) continue;
        found.add(key);
        queue.add(key);
        const role = view.get(key);
        if (role !== undefined) open.push(role.labels);
      }
    }
  }

  function note(object: CachedObject, previous: CachedObject | undefined): void {
    const both = (previous === undefined ? [object] : [object, previous]).map(({ labels }) => labels);
    if (aggregated.has(object.key)) queue.add(object.key);
    if (aggregated.size <= FEW) {
      runSteps(requeueFor(both));
      return;
    }
    const known = changed.get(object.key) ?? [];
    known.push(...both.filter((labels) => !known.some((each) => equalJson(each, labels))));
    changed.set(object.key, known);
    queue.add(object.key);
  }

  const following = followInParts({ view, prefix: keys.prefix }, port.runtime, {
    clear() {
      aggregated.clear();
      changed.clear();
    },
    put(object, previous) {
      const selectors = matchersOf(object.read(readAggregation));
      const before = aggregated.get(object.key);
      if (selectors === undefined) aggregated.delete(object.key);
      else aggregated.set(object.key, selectors);
      // The rules of an aggregated role are put together from those of others, and flow nowhere.
      const isSame = previous !== undefined && before !== undefined && areEqual(selectors, before);
      if (isSame && equalJson(object.labels ?? {}, previous.labels ?? {})) queue.add(object.key);
      else note(object, previous);
    },
    delete(object) {
      aggregated.delete(object.key);
      note(object, undefined);
    },
  });

  const controller = createQueueController(queue, [following]);
  return {
    ...controller,
    async idle() {
      while (following.ready !== undefined) await following.ready;
      await controller.idle();
    },
  };
}

/** Roles in order of their names. */
export type RoleSource = {
  list(): readonly { readonly key: string; readonly labels: Labels }[];
  /** Undefined: the role has rules of its own. */
  selectorsOf(key: string): readonly Matcher[] | undefined;
  rulesOf(key: string): readonly JsonValue[];
};

/**
 * The rules that an aggregated role should have, each once; undefined when it is not one. They come from roles with rules of their own alone,
 * through any number of aggregated roles between: what these have at the moment does not matter. So roles that select each other come to rest,
 * where upstream's controller takes turns at writing them.
 * @throws Error where they are more than fit into a role
 */
export function* aggregatedRules(key: string, roles: RoleSource): Steps<readonly JsonValue[] | undefined> {
  const root = roles.selectorsOf(key);
  if (root === undefined) return undefined;
  const all = roles.list();
  const seen = new Set([key]);
  const gone = new Set<string>();
  const rules = new Map<string, JsonValue>();
  let length = 0;
  let compared = 0;
  // Depth first, without recursion: chains may be long.
  const open = [selectedBy(root, all, gone)];
  for (let inner = open.at(-1); inner !== undefined; inner = open.at(-1)) {
    yield;
    if (++compared > MAX_COMPARED)
      throw new Error(`the roles that ${key} selects, and those that they select, are too many`);
    const { value: role, done } = inner.next();
    if (done === true) open.pop();
    else if (role !== undefined && !seen.has(role)) {
      seen.add(role);
      const selectors = roles.selectorsOf(role);
      if (selectors !== undefined) open.push(selectedBy(selectors, all, gone));
      for (const rule of selectors === undefined ? roles.rulesOf(role) : []) {
        const text = textOf(rule);
        if (rules.has(text)) continue;
        length += text.length;
        if (length > MAX_TEXT) throw new Error(`the roles that ${key} selects have more rules than fit into one role`);
        rules.set(text, rule);
      }
    }
  }
  return [...rules.values()];
}

/** Undefined for each role that is not selected, so that others get their turn. Without selectors that are `gone` through already. */
function* selectedBy(
  selectors: readonly Matcher[],
  all: ReturnType<RoleSource["list"]>,
  gone: Set<string>,
): Generator<string | undefined, undefined> {
  for (const selector of selectors) {
    if (gone.has(selector.text)) continue;
    gone.add(selector.text);
    for (const { key, labels } of all) yield selector.matches(labels) ? key : undefined;
  }
}

/** The same objects. Aggregated roles among them already have the rules of all that they select here, before a controller looks at them. */
export function withAggregatedRules(objects: readonly KubeObject[]): readonly KubeObject[] {
  const roles = objects
    .filter(({ kind }) => kind === "ClusterRole")
    .map((role) => ({ key: role.metadata.name ?? "", labels: role.metadata.labels ?? {}, role }))
    .toSorted((one, other) => (one.key < other.key ? -1 : 1));
  const byKey = new Map(roles.map(({ key, role }) => [key, role]));
  const source: RoleSource = {
    list: () => roles,
    selectorsOf: (key) => matchersOf(byKey.get(key) ?? {}),
    rulesOf(key) {
      const rules = byKey.get(key)?.["rules"];
      return isJsonArray(rules) ? rules : [];
    },
  };
  return objects.map((object) => {
    const rules =
      object.kind === "ClusterRole" ? runSteps(aggregatedRules(object.metadata.name ?? "", source)) : undefined;
    return rules === undefined ? object : { ...object, rules };
  });
}

/** Rules are flat; the order of their members does not matter. */
const textOf = (rule: JsonValue): string =>
  JSON.stringify(isJsonObject(rule) ? Object.entries(rule).toSorted(([one], [other]) => (one < other ? -1 : 1)) : rule);

const matchersOf = (role: JsonObject): readonly Matcher[] | undefined =>
  selectorsOf(role)?.map((selector) => {
    const { matches } = selectorFromLabelSelector(selector);
    return { matches, text: JSON.stringify(selector) };
  });

const areEqual = (one: readonly Matcher[] | undefined, other: readonly Matcher[]): boolean =>
  one?.length === other.length && other.every(({ text }, at) => text === one[at]?.text);

function selectorsOf({ aggregationRule }: JsonObject): readonly LabelSelector[] | undefined {
  if (!isJsonObject(aggregationRule)) return undefined;
  const selectors = aggregationRule["clusterRoleSelectors"];
  if (!isJsonArray(selectors)) return [];
  // The schema and the strategy of ClusterRoles have checked the shape.
  return selectors.filter(isJsonObject) as readonly LabelSelector[];
}
