// Ends pods that no kubelet ends: those that are being deleted without a Node, on a Node that is gone, or on one that its administrator has declared
// out of service. In clusters whose controllers replace pods, those on Nodes that are gone are deleted, too, and the oldest of very many that have ended.
// Source: k8s.io/kubernetes/pkg/controller/podgc/gc_controller.go

import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import { followView } from "@postern/apiserver/cache/view-informer";
import {
  deleteControlled,
  ignoringConflicts,
  readControlled,
  updateControlled,
} from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource, Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import { createTurns } from "@postern/apiserver/runtime/in-slices";
import type { Node } from "../../builtin/workloads/nodes.ts";
import { withDisruption } from "../../builtin/workloads/pods/pod-conditions.ts";
import { hasEnded, type Pod } from "../../builtin/workloads/pods/pods.ts";
import { readyOf } from "./node-health.ts";

export type PodGarbageCollectorDeps = {
  readonly pods: ControlledResource;
  readonly nodes: ControlledResource;
  /** Whether controllers replace pods. Otherwise pods that are not being deleted stay as clients have stored them. */
  readonly runsWorkloads: () => boolean;
  /** So many ended pods are kept. Default: 12,500. */
  readonly mostEnded?: number;
};

/** All pods are looked at at most so often. */
export const PERIOD_MS = 20_000;
/** A Node has to be gone for so long. */
export const QUARANTINE_MS = 40_000;
/** Controllers of workloads may begin to run. */
const ORPHANS_LATER_MS = 5 * 60_000;
/** `--terminated-pod-gc-threshold`. */
const MOST_ENDED = 12_500;
/** The only key of the queue. */
const ALL = "pods";
const OUT_OF_SERVICE = "node.kubernetes.io/out-of-service";

const readPod = createMemberReader({
  metadata: {
    name: true,
    namespace: true,
    uid: true,
    creationTimestamp: true,
    deletionTimestamp: true,
    deletionGracePeriodSeconds: true,
  },
  spec: { nodeName: true },
  status: { phase: true, reason: true },
});

type Cause = "unscheduled" | "out of service" | "orphaned";

export function createPodGarbageCollector(
  port: ControllerPort,
  { pods, nodes, runsWorkloads, mostEnded = MOST_ENDED }: PodGarbageCollectorDeps,
): Controller {
  const { scheduler, clock } = port.runtime;
  const queue = new WorkQueue(port, { name: "pod_garbage_collector", process, concurrency: 1 });
  /** Since when pods are on a Node that is not there, by its name and the clock's `elapsed`. */
  let missing: ReadonlyMap<string, number> = new Map();
  /** Keys of pods that have ended. */
  const ended = new Set<string>();
  let lastLook = Number.NEGATIVE_INFINITY;
  let nextLook = Number.POSITIVE_INFINITY;

  function lookAfter(delayMs: number): void {
    const at = Math.max(clock.elapsed() + delayMs, lastLook + PERIOD_MS);
    if (at >= nextLook) return;
    nextLook = at;
    queue.addAfter(ALL, at - clock.elapsed());
  }

  async function process(_key: string, signal: AbortSignal): Promise<void> {
    const now = clock.elapsed();
    [lastLook, nextLook] = [now, Number.POSITIVE_INFINITY];
    const pause = createTurns(clock);
    const stillMissing = new Map<string, number>();
    const gone = new Map<string, boolean>();
    const finished: PodToEnd[] = [];
    for (const object of pods.view.list(pods.keys.prefix)) {
      await pause();
      if (signal.aborted) return;
      const pod = stateOf(object);
      if (pod.isFinished) {
        finished.push(pod);
        // Later changes have arrived as changes.
        if (pods.view.get(object.key) === object) ended.add(object.key);
      }
      const reason = reasonFor(pod);
      if (reason === undefined) continue;
      if (reason === "orphaned") {
        const { nodeName } = pod;
        const since = missing.get(nodeName) ?? stillMissing.get(nodeName) ?? now;
        stillMissing.set(nodeName, since);
        if (!pod.isDeleted && !runsWorkloads()) {
          lookAfter(ORPHANS_LATER_MS);
          continue;
        }
        if (now - since < QUARANTINE_MS) {
          lookAfter(since + QUARANTINE_MS - now);
          continue;
        }
        if (!gone.has(nodeName)) gone.set(nodeName, await isGone(nodeName, signal));
        if (gone.get(nodeName) !== true) continue;
      }
      await ignoringConflicts(() => end(pod, reason, signal));
    }
    missing = stillMissing;
    if (finished.length <= mostEnded) return;
    if (!runsWorkloads()) return lookAfter(ORPHANS_LATER_MS);
    for (const pod of finished.sort(byEvictionAndAge).slice(0, finished.length - mostEnded)) {
      if (signal.aborted) return;
      await ignoringConflicts(() => deleteControlled(port, pods, pod, signal, { gracePeriodSeconds: 0 }));
    }
  }

  /** Memory may be behind the store. */
  const isGone = async (name: string, signal: AbortSignal): Promise<boolean> =>
    (await readControlled(port, nodes, { metadata: { name } }, signal)) === undefined;

  async function end(pod: PodToEnd, reason: Cause, signal: AbortSignal): Promise<void> {
    if (!pod.isFinished) {
      const transform = (current: KubeObject): KubeObject =>
        failed(current as Pod, reason, formatTimestamp(clock.now())) as KubeObject;
      await updateControlled(port, pods, pod, { subresource: "status", transform }, signal);
    }
    await deleteControlled(port, pods, pod, signal, { gracePeriodSeconds: 0 });
  }

  function reasonFor({ nodeName, isDeleted, isFinished, hasGrace }: PodToEnd): Cause | undefined {
    // Finalizers alone hold it.
    if (isDeleted && isFinished && !hasGrace) return undefined;
    if (nodeName === "") return isDeleted ? "unscheduled" : undefined;
    // Stored objects have passed the schema of their kind.
    const node = nodes.view.get(nodes.keys.of("", nodeName))?.decode() as Node | undefined;
    if (node === undefined) return "orphaned";
    return isDeleted && isOutOfService(node) ? "out of service" : undefined;
  }

  const followPods = followView({ view: pods.view, prefix: pods.keys.prefix }, scheduler, {
    replace: (objects) => {
      ended.clear();
      if (objects.length > 0) lookAfter(0);
    },
    put(object) {
      const pod = stateOf(object);
      if (pod.isFinished) ended.add(object.key);
      else ended.delete(object.key);
      if (reasonFor(pod) !== undefined) lookAfter(0);
      else if (ended.size > mostEnded) lookAfter(runsWorkloads() ? 0 : ORPHANS_LATER_MS);
    },
    delete: ({ key }) => void ended.delete(key),
  });
  const followNodes = followView({ view: nodes.view, prefix: nodes.keys.prefix }, scheduler, {
    put(object) {
      if (isOutOfService(object.decode() as Node)) lookAfter(0);
    },
    delete: () => lookAfter(0),
  });
  return createQueueController(queue, [followPods, followNodes]);
}

type PodToEnd = Pick<KubeObject, "metadata"> & {
  readonly nodeName: string;
  readonly isDeleted: boolean;
  readonly isFinished: boolean;
  readonly hasGrace: boolean;
  readonly isEvicted: boolean;
};

function stateOf(object: CachedObject): PodToEnd {
  const { metadata, spec, status } = object.read(readPod) as Pick<Pod, "metadata" | "spec" | "status">;
  return {
    metadata,
    nodeName: spec?.nodeName ?? "",
    isDeleted: isBeingDeleted({ metadata }),
    isFinished: hasEnded({ status }),
    isEvicted: status?.phase === "Failed" && status.reason === "Evicted",
    hasGrace: (metadata.deletionGracePeriodSeconds ?? 0) > 0,
  };
}

/** Evicted ones come first, then the oldest. */
function byEvictionAndAge(a: PodToEnd, b: PodToEnd): number {
  if (a.isEvicted !== b.isEvicted) return a.isEvicted ? -1 : 1;
  const [first, second] = [a, b].map(({ metadata: { creationTimestamp = "", name = "" } }) =>
    [creationTimestamp, name].join(" "),
  );
  return (first ?? "") < (second ?? "") ? -1 : 1;
}

const isOutOfService = (node: Node): boolean =>
  readyOf(node)?.status !== "True" && (node.spec?.taints ?? []).some(({ key }) => key === OUT_OF_SERVICE);

const DELETED_NODE = { reason: "DeletionByPodGC", message: "PodGC: node no longer exists" };

function failed(pod: Pod, reason: Cause, now: string): Pod {
  const { status, metadata, ...rest } = reason === "orphaned" ? withDisruption(pod, DELETED_NODE, now) : pod;
  return { ...rest, metadata, status: { ...status, phase: "Failed", observedGeneration: metadata.generation ?? 0 } };
}
