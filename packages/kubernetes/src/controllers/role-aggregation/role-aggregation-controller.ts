// Updates the rules of aggregated ClusterRoles from the ClusterRoles that they select.
// Source: k8s.io/kubernetes/pkg/controller/clusterroleaggregation/clusterroleaggregation_controller.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Steps } from "@postern/apimachinery/steps/steps";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { followInParts } from "@postern/apiserver/cache/follow-in-parts";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import { updateControlled } from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource, Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import { inTurns } from "@postern/apiserver/runtime/in-slices";
import { aggregatedRules, type Labels, type Matcher, matchersOf, ownRules, type Rules } from "./aggregated-rules.ts";

/** In the queue, beside the keys of roles whose rules are to be written: all aggregated roles are compared. */
const ALL = "";

/** Labels of so many changes are not kept one by one. */
const MANY = 1_000;

const readAggregation = createMemberReader({ aggregationRule: true });
const readRules = createMemberReader({ rules: true });

/** A tenant may have very many roles: they are visited in parts, and parsed when their rules are needed. */
export function createRoleAggregationController(
  port: Omit<ControllerPort, "resources">,
  clusterRoles: ControlledResource,
): Controller {
  const { view, keys } = clusterRoles;
  const { clock } = port.runtime;
  const aggregated = new Map<string, readonly Matcher[]>();
  /** Labels of roles that were created, changed or deleted, before and after, since all were compared. */
  let changed: Labels[] = [];
  /** Something has changed besides. */
  let isStale = false;
  /** The roles that have other rules than they should. */
  const wanted = new Map<string, Rules | Error>();

  const queue = new WorkQueue(port, {
    name: "ClusterRoleAggregator",
    async process(key, signal) {
      if (key === ALL) return compareAll(signal);
      const rules = wanted.get(key);
      if (rules instanceof Error) throw rules;
      const current = view.get(key)?.decode();
      if (rules === undefined || current === undefined || equalJson(rules, ownRules(current))) return;
      const transform = (before: KubeObject): KubeObject => ({ ...before, rules });
      await updateControlled(port, clusterRoles, current, { transform }, signal);
    },
  });

  /** Once for all changes since the last time. */
  async function compareAll(signal: AbortSignal): Promise<void> {
    const labels = changed;
    const isNeeded = isStale;
    changed = [];
    isStale = false;
    try {
      if (!isNeeded && !(await inTurns(areSelected(labels), clock))) return;
      const rules = await inTurns(aggregatedRules([...aggregated.keys()].toSorted(), roles), clock);
      if (!signal.aborted) await inTurns(compare(rules), clock);
    } catch (error) {
      isStale = true;
      throw error;
    }
  }

  const roles = {
    list: () => view.list(keys.prefix),
    selectorsOf: (key: string) => aggregated.get(key),
    rulesOf: (key: string) => ownRules(view.get(key)?.decode() ?? {}),
  };

  function* areSelected(all: readonly Labels[]): Steps<boolean> {
    for (const selectors of aggregated.values()) {
      for (const { matches } of selectors) {
        yield;
        if (all.some((labels) => matches(labels))) return true;
      }
    }
    return false;
  }

  function* compare(all: ReadonlyMap<string, Rules | Error>): Steps<void> {
    wanted.clear();
    for (const [key, rules] of all) {
      yield;
      const role = view.get(key);
      if (role === undefined || !aggregated.has(key)) continue;
      if (!(rules instanceof Error) && equalJson(rules, ownRules(role.read(readRules)))) continue;
      wanted.set(key, rules);
      queue.add(key);
    }
  }

  function note(labels: readonly Labels[], isOfAll: boolean): void {
    if (aggregated.size === 0 && !isOfAll) return;
    changed.push(...labels);
    isStale ||= isOfAll || changed.length > MANY;
    if (isStale) changed = [];
    queue.add(ALL);
  }

  /** Whether a change of nothing but the rules of an aggregated role needs no comparison: they flow nowhere. */
  function isAsWanted(object: CachedObject, previous: CachedObject): boolean {
    const rules = ownRules(object.read(readRules));
    const expected = wanted.get(object.key);
    const isWritten = expected !== undefined && !(expected instanceof Error) && equalJson(rules, expected);
    if (isWritten) wanted.delete(object.key);
    return isWritten || equalJson(rules, ownRules(previous.read(readRules)));
  }

  const following = followInParts({ view, prefix: keys.prefix }, port.runtime, {
    clear() {
      aggregated.clear();
      wanted.clear();
      changed = [];
      isStale = true;
    },
    put(object, previous) {
      const selectors = matchersOf(object.read(readAggregation));
      const before = aggregated.get(object.key);
      if (selectors === undefined) aggregated.delete(object.key);
      else aggregated.set(object.key, selectors);
      if (previous !== undefined && selectors !== undefined && before !== undefined) {
        const isSame = areEqual(selectors, before) && equalJson(object.labels ?? {}, previous.labels ?? {});
        if (isSame && isAsWanted(object, previous)) return;
      }
      const labels = previous === undefined ? [object.labels] : [object.labels, previous.labels];
      note(labels, selectors !== undefined || before !== undefined);
    },
    delete(object) {
      note([object.labels], aggregated.delete(object.key));
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

const areEqual = (one: readonly Matcher[], other: readonly Matcher[]): boolean =>
  one.length === other.length && other.every(({ text }, at) => text === one[at]?.text);
