// Updates `status` of PodDisruptionBudgets: how many of their pods are healthy, and how many may go.
// Source: k8s.io/kubernetes/pkg/controller/disruption/disruption.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { isBeingDeleted, type KubeObject, type OwnerReference } from "@postern/apimachinery/meta/object-meta";
import { type ParsedLabelSelector, selectorFromLabelSelector } from "@postern/apimachinery/selectors/label-selector";
import { formatTimestamp, parseTimestamp } from "@postern/apimachinery/time/timestamp";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import { followView } from "@postern/apiserver/cache/view-informer";
import { updateStatus } from "@postern/apiserver/controllers/controlled-objects";
import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import { createTurns } from "@postern/apiserver/runtime/in-slices";
import type { Budget } from "../../builtin/policy/pod-disruption-budgets.ts";
import { hasEnded, isPodReady, type Pod } from "../../builtin/workloads/pods/pods.ts";
import { createAllowance, LOOKS } from "../workloads/allowance.ts";
import { createSummaries, readStored } from "../workloads/read-stored.ts";
import { scaledValue } from "../workloads/scaled-value.ts";
import { retryLater } from "../workloads/workload-port.ts";

export type DisruptionDeps = {
  readonly budgets: InstalledResource;
  readonly pods: InstalledResource;
  /** Kinds that own pods, and have `spec.replicas`. */
  readonly owners: readonly InstalledResource[];
};

/** Pods that changed in a namespace, of which each may belong to any budget there; undefined: too many to look at each. */
type Changed = CachedObject[] | undefined;

/** More are not remembered: all budgets of the namespace count again. */
const MOST_CHANGED = 1_000;

export function createDisruptionController(
  port: ControllerPort,
  { budgets, pods, owners }: DisruptionDeps,
): Controller {
  const { scheduler, clock } = port.runtime;
  // Budgets times pods are very many.
  const looks = createAllowance(clock, LOOKS);
  const summaries = createSummaries<Pod, SelectedPod>({ looks, runtime: port.runtime }, summaryOf);
  const pause = createTurns(clock);
  const changed = new Map<string, Changed>();
  /** Keys are namespaces with changed pods, and keys of budgets. */
  const queue = new WorkQueue(port, { name: "disruption", process, concurrency: 1 });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    const busy = looks.delayMs();
    if (busy > 0) return retryLater(queue, key, busy);
    if (key.startsWith(budgets.keys.prefix)) await count(key, signal);
    else await findBudgets(key, signal);
  }

  async function findBudgets(namespace: string, signal: AbortSignal): Promise<void> {
    const states = changed.get(namespace);
    changed.delete(namespace);
    for (const budget of budgets.view.list(budgets.keys.inNamespace(namespace))) {
      await pause();
      if (signal.aborted) return;
      looks.spend(1 + (states?.length ?? 0));
      const selector = selectorOf(budget);
      if (states === undefined || states.some(({ labels }) => selector.matches(labels))) queue.add(budget.key);
    }
  }

  async function count(key: string, signal: AbortSignal): Promise<void> {
    const stored = budgets.view.get(key);
    const budget = readStored<Budget>({ looks }, budgets, key);
    if (stored === undefined || budget === undefined || isBeingDeleted(budget)) return;
    const found: CachedObject[] = [];
    const selector = selectorOf(stored);
    for (const pod of pods.view.list(pods.keys.inNamespace(budget.metadata.namespace ?? ""))) {
      await pause();
      if (signal.aborted) return;
      looks.spend(1);
      if (selector.matches(pod.labels)) found.push(pod);
    }
    const selected = (await summaries(found)).filter(({ hasEnded }) => !hasEnded);
    const disrupted = stillDisrupted(budget, selected);
    if (disrupted.again !== undefined) queue.addAfter(key, disrupted.again);
    const status = statusOf(budget, selected, disrupted.pods);
    if (equalJson(withoutTime(budget.status as JsonValue), withoutTime(status))) return;
    const transform = (current: KubeObject): KubeObject => ({ ...current, status });
    await updateStatus(port, budgets, budget, transform, signal);
  }

  const selectors = new WeakMap<CachedObject, ParsedLabelSelector>();
  function selectorOf(budget: CachedObject): ParsedLabelSelector {
    const known = selectors.get(budget);
    if (known !== undefined) return known;
    // Stored objects have passed the schema of their kind, which says more than its type.
    const { spec } = budget.read(readSelector) as { readonly spec?: { readonly selector?: never } };
    const selector = selectorFromLabelSelector(spec?.selector);
    selectors.set(budget, selector);
    return selector;
  }

  /** Evictions whose pods are still there: they count as gone until they are, or for two minutes. `again` in milliseconds. */
  function stillDisrupted({ status }: Budget, selected: readonly SelectedPod[]) {
    const pods: { [name: string]: string } = {};
    let again: number | undefined;
    // The schema holds timestamps in this member.
    const known = (status?.disruptedPods ?? {}) as { readonly [name: string]: string };
    for (const { name, isBeingRemoved } of selected) {
      const at = Object.hasOwn(known, name) ? known[name] : undefined;
      if (at === undefined || isBeingRemoved) continue;
      const left = (parseTimestamp(at) ?? 0) + EVICTION_MS - clock.now();
      if (left <= 0) continue;
      pods[name] = at;
      again = Math.min(again ?? left, left);
    }
    return { pods, again };
  }

  function statusOf(
    { metadata, spec = {}, status }: Budget,
    selected: readonly SelectedPod[],
    disruptedPods: { readonly [name: string]: string },
  ): JsonObject {
    const now = formatTimestamp(clock.now());
    const expectedPods =
      spec.maxUnavailable === undefined && !isShare(spec.minAvailable)
        ? selected.length
        : scaleOf(metadata.namespace, selected);
    const desiredHealthy =
      spec.maxUnavailable !== undefined
        ? Math.max(0, expectedPods - scaledValue(spec.maxUnavailable, expectedPods))
        : scaledValue(spec.minAvailable ?? 0, expectedPods);
    const currentHealthy = selected.filter(
      ({ name, isBeingRemoved, isReady }) => !isBeingRemoved && isReady && !Object.hasOwn(disruptedPods, name),
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
  function scaleOf(namespace: string | undefined, selected: readonly SelectedPod[]): number {
    const counted = new Map<string, number>();
    const seen = new Set<string>();
    for (const { owner } of selected) {
      if (owner === undefined || seen.has(owner.uid)) continue;
      seen.add(owner.uid);
      const found = ownerOf(namespace, owner);
      const above = found === undefined ? undefined : controllerOf(found.metadata);
      const scaled = (above === undefined ? undefined : ownerOf(namespace, above)) ?? found;
      const { replicas } = (scaled?.["spec"] ?? {}) as { readonly replicas?: number };
      if (scaled !== undefined) counted.set(scaled.metadata.uid ?? "", replicas ?? 1);
    }
    return [...counted.values()].reduce((sum, replicas) => sum + replicas, 0);
  }

  function ownerOf(namespace = "", { kind, name, uid }: OwnerReference): KubeObject | undefined {
    const resource = owners.find(({ definition }) => definition.kind === kind);
    const found = resource?.view.get(resource.keys.of(namespace, name))?.decode();
    return found?.metadata.uid === uid ? found : undefined;
  }

  const note = (pod: CachedObject, previous?: CachedObject): void => {
    const { namespace } = pods.keys.parse(pod.key);
    if (budgets.view.count(budgets.keys.inNamespace(namespace)) === 0) return;
    const known = changed.has(namespace) ? changed.get(namespace) : [];
    known?.push(pod, ...(previous === undefined ? [] : [previous]));
    changed.set(namespace, known !== undefined && known.length <= MOST_CHANGED ? known : undefined);
    queue.add(namespace);
  };
  const followBudgets = followKeys(budgets, scheduler, (key) => queue.add(key));
  const followPods = followView({ view: pods.view, prefix: pods.keys.prefix }, scheduler, {
    // Those that are there are counted with their budgets.
    put: note,
    delete: (pod) => note(pod),
  });
  return createQueueController(queue, [followBudgets, followPods]);
}

const readSelector = createMemberReader({ spec: { selector: true } });

/** Parts of a pod that budgets count. */
type SelectedPod = {
  readonly name: string;
  readonly hasEnded: boolean;
  readonly isBeingRemoved: boolean;
  readonly isReady: boolean;
  readonly owner: OwnerReference | undefined;
};

const summaryOf = (pod: Pod): SelectedPod => ({
  name: pod.metadata.name ?? "",
  hasEnded: hasEnded(pod),
  isBeingRemoved: isBeingDeleted(pod),
  isReady: isPodReady(pod),
  owner: controllerOf(pod.metadata),
});

function controllerOf({ ownerReferences }: KubeObject["metadata"]): OwnerReference | undefined {
  return ownerReferences?.find(({ controller }) => controller === true);
}

/** As upstream: an eviction whose pod is there for longer has failed. */
const EVICTION_MS = 2 * 60_000;

const isShare = (value: number | string | undefined): boolean => typeof value === "string";

function withoutTime(status: JsonValue | undefined): JsonValue {
  const { conditions, ...rest } = (status ?? {}) as JsonObject;
  const timeless = ((conditions ?? []) as readonly JsonObject[]).map(({ lastTransitionTime: _, ...each }) => each);
  return { ...rest, conditions: timeless };
}
