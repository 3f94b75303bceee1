// Fills the rules of aggregated ClusterRoles with those of the ClusterRoles that they select.
// Source: k8s.io/kubernetes/pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { isJsonArray, isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { type LabelSelector, selectorFromLabelSelector } from "@postern/apimachinery/selectors/label-selector";
import { followView } from "../../cache/follow-view.ts";
import { updateControlled } from "../controlled-objects.ts";
import type { ControlledResource, Controller, ControllerPort } from "../controller-port.ts";
import { createQueueController } from "../queue-controller.ts";
import { WorkQueue } from "../work-queue.ts";

type Role = {
  readonly labels: Readonly<Record<string, string>>;
  /** Undefined: the role has rules of its own. */
  readonly selectors: readonly Matcher[] | undefined;
  readonly rules: readonly JsonValue[];
};
type Matcher = Pick<ReturnType<typeof selectorFromLabelSelector>, "matches">;

export function createRoleAggregationController(
  port: Omit<ControllerPort, "resources">,
  clusterRoles: ControlledResource,
): Controller {
  const { view, keys } = clusterRoles;
  const aggregated = new Map<string, readonly Matcher[]>();
  /** All roles at one revision, for as long as there is work. */
  let known: { readonly revision: unknown; readonly roles: ReadonlyMap<string, Role> } | undefined;
  const rolesNow = (): ReadonlyMap<string, Role> => {
    const { revision } = view;
    if (known?.revision !== revision) {
      const roles = new Map(view.list(keys.prefix).map((object) => [object.key, roleOf(object.decode())]));
      known = { revision, roles };
    }
    return known.roles;
  };

  const queue = new WorkQueue(port, {
    name: "ClusterRoleAggregator",
    async process(key, signal) {
      const rules = aggregatedRules(key, rolesNow());
      if (queue.length === 0) known = undefined;
      const role = view.get(key)?.decode();
      if (role === undefined || rules === undefined || equalJson(rules, role["rules"] ?? [])) return;
      const transform = (current: KubeObject): KubeObject => ({ ...current, rules });
      await updateControlled(port, clusterRoles, role, { transform }, signal);
    },
  });

  /** All that its rules may flow into: also by way of other aggregated roles, which are told when these are written. */
  const requeueFor = (role: KubeObject): void => {
    const labels = role.metadata.labels ?? {};
    for (const [key, selectors] of aggregated) if (selectors.some((each) => each.matches(labels))) queue.add(key);
  };
  const note = (key: string, role: KubeObject): void => {
    const selectors = matchersOf(role);
    if (selectors === undefined) aggregated.delete(key);
    else aggregated.set(key, selectors);
  };
  const following = followView({ view, prefix: keys.prefix }, port.runtime.scheduler, {
    replace(objects) {
      aggregated.clear();
      for (const object of objects) note(object.key, object.decode());
      for (const key of aggregated.keys()) queue.add(key);
    },
    put(object, previous) {
      const role = object.decode();
      note(object.key, role);
      if (aggregated.has(object.key)) queue.add(object.key);
      requeueFor(role);
      if (previous !== undefined) requeueFor(previous.decode());
    },
    delete(object) {
      aggregated.delete(object.key);
      requeueFor(object.decode());
    },
  });

  return createQueueController(queue, [following]);
}

/**
 * The rules that an aggregated role should have, each once; undefined when it is not one. They come from roles with rules of their own alone,
 * through any number of aggregated roles between: what these have at the moment does not matter. So roles that select each other come to rest,
 * where upstream's controller takes turns at writing them. `roles` are in order of their names.
 */
export function aggregatedRules(key: string, roles: ReadonlyMap<string, Role>): readonly JsonValue[] | undefined {
  const root = roles.get(key);
  if (root?.selectors === undefined) return undefined;
  const seen = new Set([root]);
  const rules = new Map<string, JsonValue>();
  // Depth first, without recursion: chains may be long.
  const open = [selectedBy(root.selectors, roles)];
  for (let inner = open.at(-1); inner !== undefined; inner = open.at(-1)) {
    const { value: role, done } = inner.next();
    if (done === true) open.pop();
    else if (!seen.has(role)) {
      seen.add(role);
      if (role.selectors !== undefined) open.push(selectedBy(role.selectors, roles));
      else for (const rule of role.rules) if (!rules.has(textOf(rule))) rules.set(textOf(rule), rule);
    }
  }
  return [...rules.values()];
}

function* selectedBy(selectors: readonly Matcher[], roles: ReadonlyMap<string, Role>): Generator<Role, undefined> {
  for (const selector of selectors) for (const role of roles.values()) if (selector.matches(role.labels)) yield role;
}

/** Rules are flat; the order of their members does not matter. */
const textOf = (rule: JsonValue): string =>
  JSON.stringify(isJsonObject(rule) ? Object.entries(rule).toSorted(([one], [other]) => (one < other ? -1 : 1)) : rule);

const roleOf = (role: KubeObject): Role => ({
  labels: role.metadata.labels ?? {},
  selectors: matchersOf(role),
  rules: isJsonArray(role["rules"]) ? role["rules"] : [],
});

const matchersOf = (role: KubeObject): readonly Matcher[] | undefined =>
  selectorsOf(role)?.map((selector) => selectorFromLabelSelector(selector));

function selectorsOf({ aggregationRule }: KubeObject): readonly LabelSelector[] | undefined {
  if (!isJsonObject(aggregationRule)) return undefined;
  const selectors = aggregationRule["clusterRoleSelectors"];
  if (!isJsonArray(selectors)) return [];
  // The schema and the strategy of ClusterRoles have checked the shape.
  return selectors.filter(isJsonObject) as readonly LabelSelector[];
}
