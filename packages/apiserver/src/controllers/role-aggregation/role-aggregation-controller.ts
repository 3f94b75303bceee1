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

export function createRoleAggregationController(
  port: Omit<ControllerPort, "resources">,
  clusterRoles: ControlledResource,
): Controller {
  const { view, keys } = clusterRoles;
  const aggregated = new Set<string>();
  const queue = new WorkQueue(port, {
    name: "ClusterRoleAggregator",
    async process(key, signal) {
      const role = view.get(key)?.decode();
      if (role === undefined) return;
      const others = view.list(keys.prefix).filter((object) => object.key !== key);
      const rules = aggregateRules(
        role,
        others.map((object) => object.decode()),
      );
      if (rules === undefined || equalJson(rules, role["rules"] ?? [])) return;
      const transform = (current: KubeObject): KubeObject => ({ ...current, rules });
      await updateControlled(port, clusterRoles, role, { transform }, signal);
    },
  });

  const requeueAll = (): void => {
    for (const key of aggregated) queue.add(key);
  };
  const note = (key: string, role: KubeObject): void => {
    if (selectorsOf(role) === undefined) aggregated.delete(key);
    else aggregated.add(key);
  };
  const following = followView({ view, prefix: keys.prefix }, port.runtime.scheduler, {
    replace(objects) {
      aggregated.clear();
      for (const object of objects) note(object.key, object.decode());
      requeueAll();
    },
    put(object) {
      note(object.key, object.decode());
      requeueAll();
    },
    delete({ key }) {
      aggregated.delete(key);
      requeueAll();
    },
  });

  return createQueueController(queue, [following]);
}

/** The rules that an aggregated role should have, each once; undefined when it is not one. `others` are in order of their names. */
export function aggregateRules(role: KubeObject, others: readonly KubeObject[]): readonly JsonValue[] | undefined {
  const selectors = selectorsOf(role);
  if (selectors === undefined) return undefined;
  const rules: JsonValue[] = [];
  for (const selector of selectors) {
    const matches = selectorFromLabelSelector(selector);
    for (const other of others) {
      if (!matches.matches(other.metadata.labels ?? {})) continue;
      for (const rule of isJsonArray(other["rules"]) ? other["rules"] : []) {
        if (!rules.some((known) => equalJson(known, rule))) rules.push(rule);
      }
    }
  }
  return rules;
}

function selectorsOf({ aggregationRule }: KubeObject): readonly LabelSelector[] | undefined {
  if (!isJsonObject(aggregationRule)) return undefined;
  const selectors = aggregationRule["clusterRoleSelectors"];
  if (!isJsonArray(selectors)) return [];
  // The schema and the strategy of ClusterRoles have checked the shape.
  return selectors.filter(isJsonObject) as readonly LabelSelector[];
}
