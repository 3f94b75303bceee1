// ReplicaSets and ReplicationControllers: keep a number of equal pods.
// Source: k8s.io/kubernetes/pkg/controller/replicaset/{replica_set,replica_set_utils}.go

import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { LabelSelector } from "@postern/apimachinery/selectors/label-selector";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { Controller } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { PodTemplate } from "../../builtin/workloads/pod-fields.ts";
import { createClaims } from "./claims.ts";
import { type Condition, conditionOf, withCondition, withoutCondition } from "./conditions.ts";
import { createCreationBackoff } from "./creation-backoff.ts";
import { createPods, deletePods, podFromTemplate, withDerivedName } from "./pod-control.ts";
import { availableIn, byDeletion, type PodState, podStateOf } from "./pod-state.ts";
import { readStored } from "./read-stored.ts";
import { actingAs, again, eventsBy, type WorkloadPort } from "./workload-port.ts";
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

export function createReplicaSetController(
  base: WorkloadPort,
  { group, kind, name, selectorOf, countsTerminating }: ReplicaSetKind,
): Controller {
  const port = actingAs(base, `${name}-controller`);
  const { clock, scheduler } = port.runtime;
  const sets = port.resource(group, kind);
  const says = eventsBy(port.recorder(`${name}-controller`));
  const backoff = createCreationBackoff(clock);
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
    if (busy > 0) return again(queue, key, busy);
    const set = readStored<ReplicaSet>(port, sets, key);
    if (set === undefined) return;
    const claimed = (await claims.claim(set, signal)).map(podStateOf);
    const wanted = set.spec.replicas ?? 1;
    const active = claimed.filter(({ isActive }) => isActive);
    const failure = isBeingDeleted(set) ? undefined : await scale(key, set, active, wanted, signal);
    if (signal.aborted) return;
    // Memory has the pods that have just been written.
    const pods = [...port.pods.of(set.metadata.uid ?? "")].map(podStateOf);
    port.looks.spend(pods.length * Math.ceil(Object.keys(set.spec.template.metadata?.labels ?? {}).length / 10));
    const { status, recheckMs } = statusOf(set, pods, failure);
    await writeStatus(port, sets, set, status, signal);
    if (recheckMs !== undefined) again(queue, key, recheckMs);
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
      const surplus = active.toSorted(byDeletion).slice(0, -missing);
      const deleted = await deletePods(port, set, surplus, says, signal);
      if (deleted < -missing) again(queue, key, port.writes.delayMs());
      return undefined;
    }
    const delay = backoff.delayMs(uid, generation);
    if (delay > 0) {
      again(queue, key, delay);
      return { reason: "FailedCreate" };
    }
    const pod = podFromTemplate(set, set.spec.template);
    const made = await createPods(port, set, missing, (...at) => withDerivedName(set, pod, ...at), says, signal);
    if (made.error !== undefined) {
      backoff.failed(uid, generation);
      again(queue, key, backoff.delayMs(uid, generation));
      return { reason: "FailedCreate", message: made.error.message };
    }
    backoff.succeeded(uid);
    if (made.count < missing) again(queue, key, port.writes.delayMs());
    return undefined;
  }

  type Failure = { readonly reason: string /** Absent: that of before. */; readonly message?: string };

  function statusOf(
    { metadata, spec, status = {} }: ReplicaSet,
    pods: readonly PodState[],
    failure: Failure | undefined,
  ): { readonly status: JsonObject; readonly recheckMs: number | undefined } {
    const now = clock.now();
    const active = pods.filter(({ isActive }) => isActive);
    const labels = Object.entries(spec.template.metadata?.labels ?? {});
    const isLabelled = ({ object }: PodState) => labels.every(([label, value]) => object.labels[label] === value);
    const waits = active.map((pod) => availableIn(pod, spec.minReadySeconds ?? 0, now));
    const later = waits.filter((wait) => wait !== undefined && wait > 0) as readonly number[];
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
    return {
      status: statusMembers(
        {
          replicas: active.length,
          fullyLabeledReplicas: active.filter(isLabelled).length,
          readyReplicas: waits.filter((wait) => wait !== undefined).length,
          availableReplicas: waits.filter((wait) => wait === 0).length,
          ...(countsTerminating ? { terminatingReplicas: pods.filter(({ isDeleted }) => isDeleted).length } : {}),
          observedGeneration: metadata.generation ?? 0,
          conditions: conditions as JsonValue,
        },
        ["replicas", ...(countsTerminating ? ["terminatingReplicas"] : [])],
      ),
      recheckMs: later.length === 0 ? undefined : Math.min(...later),
    };
  }

  const observing = port.pods.observe({
    owned(namespace, owner) {
      if (owner.kind === kind) queue.add(sets.keys.of(namespace, owner.name));
    },
    orphan: () => undefined,
  });
  const following = followKeys(sets, scheduler, (key) => queue.add(key));
  const work = {
    async idle() {
      await claims.idle();
      await queue.idle();
    },
    [Symbol.dispose]: () => queue[Symbol.dispose](),
  };
  return createQueueController(work, [observing, following, claims]);
}
