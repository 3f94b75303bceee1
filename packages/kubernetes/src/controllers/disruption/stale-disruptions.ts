// Takes the condition `DisruptionTarget` back from pods whose deletion has not followed: Jobs and budgets would count them as disrupted for ever.
// Source: k8s.io/kubernetes/pkg/controller/disruption/disruption.go (syncStalePodDisruption)

import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp, parseTimestamp } from "@postern/apimachinery/time/timestamp";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import { followView } from "@postern/apiserver/cache/view-informer";
import { updateStatus } from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource, Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createQueueController, filledQueue } from "@postern/apiserver/controllers/queue-controller";
import { createScans } from "@postern/apiserver/controllers/scans";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import { inSlices } from "@postern/apiserver/runtime/in-slices";
import { DISRUPTION, withCondition } from "../../builtin/workloads/pods/pod-conditions.ts";
import { hasEnded, type Pod } from "../../builtin/workloads/pods/pods.ts";
import { retryLater } from "../workloads/workload-port.ts";

/** So long after the condition became true, its cause has failed. */
export const STALE_MS = 2 * 60_000;

const readPod = createMemberReader({
  metadata: { name: true, namespace: true, uid: true, deletionTimestamp: true },
  status: { phase: true, conditions: true },
});

export function createStaleDisruptions(
  port: ControllerPort,
  { pods }: { readonly pods: ControlledResource },
): Controller {
  const { scheduler, clock } = port.runtime;
  const scans = createScans();
  const queue = new WorkQueue(port, { name: "stale_pod_disruption", process, concurrency: 1 });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    const object = pods.view.get(key);
    const pod = object && podOf(object);
    const left = pod && leftMs(pod);
    if (pod === undefined || left === undefined) return;
    if (left > 0) return retryLater(queue, key, left);
    const transform = (current: KubeObject): KubeObject => {
      // Stored objects have passed the schema of their kind. It may be evicted again meanwhile.
      const isStale = (leftMs(current as Pod) ?? 1) <= 0;
      return isStale ? (withoutDisruption(current as Pod, formatTimestamp(clock.now())) as KubeObject) : current;
    };
    await updateStatus(port, pods, pod, transform, signal);
  }

  /** Milliseconds until the condition is stale; undefined where it does not become so. */
  function leftMs({ metadata, status }: Pick<Pod, "metadata" | "status">): number | undefined {
    const condition = status?.conditions?.find(({ type }) => type === DISRUPTION);
    if (condition?.status !== "True" || condition.reason === ENDED_BY_KUBELET) return undefined;
    if (isBeingDeleted({ metadata }) || hasEnded({ status })) return undefined;
    return (parseTimestamp(condition.lastTransitionTime ?? "") ?? 0) + STALE_MS - clock.now();
  }

  const look = (object: CachedObject): void => {
    if (leftMs(podOf(object)) !== undefined) queue.add(object.key);
  };
  const followPods = followView({ view: pods.view, prefix: pods.keys.prefix }, scheduler, {
    replace: (objects) => scans.add(inSlices(objects, look, scans.signal)),
    put: look,
  });
  return createQueueController(filledQueue(scans, queue), [followPods]);
}

/** A kubelet may take its time to end a pod. */
const ENDED_BY_KUBELET = "TerminationByKubelet";

const podOf = (object: CachedObject) => object.read(readPod) as Pick<Pod, "metadata" | "status">;

function withoutDisruption({ status = {}, ...pod }: Pod, now: string): Pod {
  const { generation: observedGeneration = 0 } = pod.metadata;
  const condition = { type: DISRUPTION, status: "False", lastProbeTime: null, observedGeneration };
  return { ...pod, status: { ...status, conditions: withCondition(status.conditions ?? [], condition, now) } };
}
