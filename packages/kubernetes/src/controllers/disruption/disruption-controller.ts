// Updates `status` of PodDisruptionBudgets: how many of their pods are healthy, and how many may go.
// Source: k8s.io/kubernetes/pkg/controller/disruption/disruption.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { isBeingDeleted, type KubeObject, type OwnerReference } from "@postern/apimachinery/meta/object-meta";
import { selectorFromLabelSelector } from "@postern/apimachinery/selectors/label-selector";
import { formatTimestamp, parseTimestamp } from "@postern/apimachinery/time/timestamp";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { followView } from "@postern/apiserver/cache/view-informer";
import { ignoringConflicts, updateControlled } from "@postern/apiserver/controllers/controlled-objects";
import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import { createTurns } from "@postern/apiserver/runtime/in-slices";
import type { Budget } from "../../builtin/policy/pod-disruption-budgets.ts";
import { isPodReady, type Pod } from "../../builtin/workloads/pods.ts";

export type DisruptionDeps = {
  readonly budgets: InstalledResource;
  readonly pods: InstalledResource;
  /** Kinds that own pods, and have `spec.replicas`. */
  readonly owners: readonly InstalledResource[];
};

export function createDisruptionController(
  port: ControllerPort,
  { budgets, pods, owners }: DisruptionDeps,
): Controller {
  const { scheduler, clock } = port.runtime;
  /** Keys are namespaces: a pod may belong to any budget of its own. */
  const queue = new WorkQueue(port, { name: "disruption", process, concurrency: 1 });

  async function process(namespace: string, signal: AbortSignal): Promise<void> {
    const pause = createTurns(clock);
    for (const { key } of budgets.view.list(budgets.keys.inNamespace(namespace))) {
      await pause();
      if (signal.aborted) return;
      // Stored objects have passed the schema of their kind, here and below.
      const budget = budgets.view.get(key)?.decode() as Budget | undefined;
      if (budget === undefined || isBeingDeleted(budget)) continue;
      const selected: Pod[] = [];
      for (const cached of selectedPods(budget, namespace)) {
        await pause();
        const pod = cached.decode() as Pod;
        const { phase } = pod.status ?? {};
        if (phase !== "Succeeded" && phase !== "Failed") selected.push(pod);
      }
      const disrupted = stillDisrupted(budget, selected);
      if (disrupted.again !== undefined) queue.addAfter(namespace, disrupted.again);
      const status = statusOf(budget, selected, disrupted.pods);
      if (equalJson(withoutTime(budget.status as JsonValue), withoutTime(status))) continue;
      const transform = (current: KubeObject): KubeObject => ({ ...current, status });
      await ignoringConflicts(() =>
        updateControlled(port, budgets, budget, { subresource: "status", transform }, signal),
      );
    }
  }

  function selectedPods({ spec }: Budget, namespace: string): readonly CachedObject[] {
    if (spec?.selector === undefined) return [];
    // Its type says less than the schema that it has passed.
    const selector = selectorFromLabelSelector(spec.selector as never);
    return pods.view.list(pods.keys.inNamespace(namespace)).filter(({ labels }) => selector.matches(labels));
  }

  /** Evictions whose pods are still there: they count as gone until they are, or for two minutes. `again` in milliseconds. */
  function stillDisrupted({ status }: Budget, selected: readonly Pod[]) {
    const pods: { [name: string]: string } = {};
    let again: number | undefined;
    // The schema holds timestamps in this member.
    const known = (status?.disruptedPods ?? {}) as { readonly [name: string]: string };
    for (const { metadata } of selected) {
      const { name = "" } = metadata;
      const at = Object.hasOwn(known, name) ? known[name] : undefined;
      if (at === undefined || metadata.deletionTimestamp !== undefined) continue;
      const left = (parseTimestamp(at) ?? 0) + EVICTION_MS - clock.now();
      if (left <= 0) continue;
      pods[name] = at;
      again = Math.min(again ?? left, left);
    }
    return { pods, again };
  }

  function statusOf(
    { metadata, spec = {}, status }: Budget,
    selected: readonly Pod[],
    disruptedPods: { readonly [name: string]: string },
  ): JsonObject {
    const now = formatTimestamp(clock.now());
    const expectedPods =
      spec.maxUnavailable === undefined && !isShare(spec.minAvailable) ? selected.length : scaleOf(selected);
    const desiredHealthy =
      spec.maxUnavailable !== undefined
        ? Math.max(0, expectedPods - amountOf(spec.maxUnavailable, expectedPods))
        : amountOf(spec.minAvailable ?? 0, expectedPods);
    const currentHealthy = selected.filter(
      (pod) => !isBeingDeleted(pod) && isPodReady(pod) && !Object.hasOwn(disruptedPods, pod.metadata.name ?? ""),
    ).length;
    const disruptionsAllowed = expectedPods <= 0 ? 0 : Math.max(0, currentHealthy - desiredHealthy);
    const observedGeneration = metadata.generation ?? 0;
    const known = status?.conditions ?? [];
    const isAllowed = disruptionsAllowed > 0;
    const before = known.find(({ type }) => type === "DisruptionAllowed");
    const holds = isAllowed ? "True" : "False";
    const condition = {
      type: "DisruptionAllowed",
      status: holds,
      reason: isAllowed ? "SufficientPods" : "InsufficientPods",
      message: "",
      observedGeneration,
      lastTransitionTime: before?.status === holds ? (before.lastTransitionTime ?? now) : now,
    };
    return {
      ...(Object.keys(disruptedPods).length === 0 ? {} : { disruptedPods }),
      conditions: [...known.filter(({ type }) => type !== "DisruptionAllowed"), condition] as JsonValue,
      currentHealthy,
      desiredHealthy,
      disruptionsAllowed,
      expectedPods,
      observedGeneration,
    };
  }

  /** The pods that the owners of these pods want; a pod without one is not counted. A Deployment counts once for all of its ReplicaSets. */
  function scaleOf(selected: readonly Pod[]): number {
    const counted = new Map<string, number>();
    const seen = new Set<string>();
    for (const { metadata } of selected) {
      const owner = controllerOf(metadata);
      if (owner === undefined || seen.has(owner.uid)) continue;
      seen.add(owner.uid);
      const found = ownerOf(metadata.namespace, owner);
      const above = found === undefined ? undefined : controllerOf(found.metadata);
      const scaled = (above === undefined ? undefined : ownerOf(metadata.namespace, above)) ?? found;
      const { replicas } = (scaled?.["spec"] ?? {}) as { readonly replicas?: number };
      if (scaled !== undefined) counted.set(scaled.metadata.uid ?? "", replicas ?? 1);
    }
    return [...counted.values()].reduce((sum, replicas) => sum + replicas, 0);
  }

  const controllerOf = ({ ownerReferences }: KubeObject["metadata"]): OwnerReference | undefined =>
    ownerReferences?.find(({ controller }) => controller === true);

  function ownerOf(namespace = "", { kind, name, uid }: OwnerReference): KubeObject | undefined {
    const resource = owners.find(({ definition }) => definition.kind === kind);
    const found = resource?.view.get(resource.keys.of(namespace, name))?.decode();
    return found?.metadata.uid === uid ? found : undefined;
  }

  const recount = ({ key }: CachedObject): void => {
    const { namespace } = pods.keys.parse(key);
    if (budgets.view.count(budgets.keys.inNamespace(namespace)) > 0) queue.add(namespace);
  };
  const followBudgets = followKeys(budgets, scheduler, (key) => queue.add(budgets.keys.parse(key).namespace));
  const followPods = followView({ view: pods.view, prefix: pods.keys.prefix }, scheduler, {
    // Those that are there are counted with their budgets.
    replace() {},
    put: recount,
    delete: recount,
  });
  return createQueueController(queue, [followBudgets, followPods]);
}

/** As upstream: an eviction whose pod is there for longer has failed. */
const EVICTION_MS = 2 * 60_000;

const isShare = (value: number | string | undefined): boolean => typeof value === "string";

/** A share is rounded up. */
const amountOf = (value: number | string, of: number): number =>
  typeof value === "number" ? value : Math.ceil((Number.parseInt(value, 10) * of) / 100);

function withoutTime(status: JsonValue | undefined): JsonValue {
  const { conditions, ...rest } = (status ?? {}) as JsonObject;
  const timeless = ((conditions ?? []) as readonly JsonObject[]).map(({ lastTransitionTime: _, ...each }) => each);
  return { ...rest, conditions: timeless };
}
