// ReplicaSets and ReplicationControllers: keep a number of equal pods.
// Source: k8s.io/kubernetes/pkg/controller/replicaset/{replica_set,replica_set_utils}.go

import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { LabelSelector } from "@postern/apimachinery/selectors/label-selector";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { Controller } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController, filledQueue } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import { createTurns } from "@postern/apiserver/runtime/in-slices";
import type { PodTemplate } from "../../builtin/workloads/pods/pod-fields.ts";
import { createClaims } from "./claims.ts";
import { type Condition, conditionOf, withCondition, withoutCondition } from "./conditions.ts";
import { createCreationBackoff } from "./creation-backoff.ts";
import { followOwners } from "./owned-objects.ts";
import { createPods, deletePods, MOST_AT_ONCE, podFromTemplate, withDerivedName } from "./pod-control.ts";
import { availableIn, byDeletion, firstOf, type PodState, podStateOf, podStatesOf } from "./pod-state.ts";
import { readStored } from "./read-stored.ts";
import { actingAs, eventsBy, retryLater, type WorkloadPort } from "./workload-port.ts";
import { statusMembers, writeStatus } from "./write-status.ts";

export type ReplicaSet = KubeObject & {
  readonly spec: {
    readonly replicas?: number;
    readonly minReadySeconds?: number;
    readonly selector?: JsonObject;
    readonly template: PodTemplate;
  };
  readonly status?: {
    readonly replicas?: number;
    readonly readyReplicas?: number;
    readonly availableReplicas?: number;
    readonly terminatingReplicas?: number;
    readonly observedGeneration?: number;
    readonly conditions?: readonly Condition[];
  };
};

export type ReplicaSetKind = {
  readonly group: string;
  readonly kind: string;
  /** The name of its queue; its Events are from the same with a hyphen. */
  readonly name: string;
  readonly selectorOf?: (selector: JsonObject) => LabelSelector;
  /** Whether its status counts pods that are being deleted. */
  readonly countsTerminating: boolean;
};

export const REPLICA_SETS: ReplicaSetKind = {
  group: "apps",
  kind: "ReplicaSet",
  name: "replicaset",
  countsTerminating: true,
};
export const REPLICATION_CONTROLLERS: ReplicaSetKind = {
  group: "",
  kind: "ReplicationController",
  name: "replication",
  selectorOf: (matchLabels) => ({ matchLabels: matchLabels as { readonly [name: string]: string } }),
  countsTerminating: false,
};

const FAILURE = "ReplicaFailure";
/** Comparing this many labels of a template takes as long as a look at one object. */
const LABELS_OF_LOOK = 10;

export function createReplicaSetController(
  base: WorkloadPort,
  { group, kind, name, selectorOf, countsTerminating }: ReplicaSetKind,
): Controller {
  const port = actingAs(base, `${name}-controller`);
  const { clock, scheduler } = port.runtime;
  const sets = port.resource(group, kind);
  const says = eventsBy(port.recorder(`${name}-controller`));
  const backoff = createCreationBackoff(clock);
  const pause = createTurns(clock);
  const queue = new WorkQueue(port, { name, process });
  const claims = createClaims(port, {
    name: `${name}_claims`,
    owners: sets,
    dependents: port.pods,
    onClaimed: podStateOf,
    ...(selectorOf === undefined ? {} : { selectorOf }),
    skips: (object) => !podStateOf(object).isActive,
    onOwner: (key) => queue.add(key),
  });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    await port.pods.scanned();
    const busy = port.looks.delayMs();
    if (busy > 0) return retryLater(queue, key, busy);
    const set = readStored<ReplicaSet>(port, sets, key);
    if (set === undefined) return;
    const claimed = await podStatesOf(await claims.claim(set, signal), pause);
    const wanted = set.spec.replicas ?? 1;
    const active = claimed.filter(({ isActive }) => isActive);
    const failure = isBeingDeleted(set) ? undefined : await scale(key, set, active, wanted, signal);
    if (signal.aborted) return;
    const { status, recheckMs } = await statusOf(set, failure);
    await writeStatus(port, sets, set, status, signal);
    if (recheckMs !== undefined) retryLater(queue, key, recheckMs);
  }

  /** Creates what is missing and deletes what is too many. Returns why that failed. */
  async function scale(
    key: string,
    set: ReplicaSet,
    active: readonly PodState[],
    wanted: number,
    signal: AbortSignal,
  ): Promise<Failure | undefined> {
    const { uid = "", generation = 0 } = set.metadata;
    const missing = wanted - active.length;
    if (missing === 0) return undefined;
    if (missing < 0) {
      const surplus = await firstOf(active, byDeletion, Math.min(-missing, MOST_AT_ONCE), pause);
      const deleted = await deletePods(port, set, surplus, says, signal);
      if (deleted < -missing) retryLater(queue, key, port.writes.turnMs());
      return undefined;
    }
    const delay = backoff.delayMs(uid, generation);
    if (delay > 0) {
      retryLater(queue, key, delay);
      return { reason: "FailedCreate" };
    }
    const pod = podFromTemplate(set, set.spec.template);
    const made = await createPods(port, set, missing, (...at) => withDerivedName(set, pod, ...at), says, signal);
    if (made.error !== undefined) {
      backoff.failed(uid, generation);
      retryLater(queue, key, backoff.delayMs(uid, generation));
      return { reason: "FailedCreate", message: made.error.message };
    }
    backoff.succeeded(uid);
    if (made.count < missing) retryLater(queue, key, port.writes.turnMs());
    return undefined;
  }

  type Failure = { readonly reason: string /** Absent: that of before. */; readonly message?: string };

  /** Memory has the pods that have just been written. */
  async function statusOf(
    { metadata, spec, status = {} }: ReplicaSet,
    failure: Failure | undefined,
  ): Promise<{ readonly status: JsonObject; readonly recheckMs: number | undefined }> {
    const now = clock.now();
    const labels = Object.entries(spec.template.metadata?.labels ?? {});
    const count = { all: 0, active: 0, labelled: 0, ready: 0, available: 0, terminating: 0 };
    let recheckMs: number | undefined;
    for (const object of port.pods.of(metadata.uid ?? "")) {
      const pod = podStateOf(object);
      await pause();
      count.all++;
      if (pod.isDeleted) count.terminating++;
      if (!pod.isActive) continue;
      count.active++;
      if (labels.every(([label, value]) => object.labels[label] === value)) count.labelled++;
      const wait = availableIn(pod, spec.minReadySeconds ?? 0, now);
      if (wait !== undefined) count.ready++;
      if (wait === 0) count.available++;
      else if (wait !== undefined) recheckMs = Math.min(wait, recheckMs ?? wait);
    }
    port.looks.spend(count.all * Math.ceil(labels.length / LABELS_OF_LOOK));
    const known = status.conditions ?? [];
    const before = conditionOf(known, FAILURE);
    const conditions =
      failure === undefined
        ? withoutCondition(known, FAILURE)
        : withCondition(known, {
            type: FAILURE,
            status: "True",
            lastTransitionTime: formatTimestamp(now),
            reason: failure.reason,
            message: failure.message ?? before?.message ?? "",
          });
    const members = {
      replicas: count.active,
      fullyLabeledReplicas: count.labelled,
      readyReplicas: count.ready,
      availableReplicas: count.available,
      ...(countsTerminating ? { terminatingReplicas: count.terminating } : {}),
      observedGeneration: metadata.generation ?? 0,
      conditions: conditions as JsonValue,
    };
    return {
      status: statusMembers(members, ["replicas", ...(countsTerminating ? ["terminatingReplicas"] : [])]),
      recheckMs,
    };
  }

  const observing = followOwners(port.pods, kind, sets, (key) => queue.add(key));
  const following = followKeys(sets, scheduler, (key) => queue.add(key));
  return createQueueController(filledQueue(claims, queue), [observing, following]);
}
