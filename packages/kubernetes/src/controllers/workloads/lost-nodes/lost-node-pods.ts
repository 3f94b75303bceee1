// Pods of a Node that was ready, and is not heard of any more, are not ready either: Endpoints leave them out, and Deployments count them as unavailable.
// Source: k8s.io/kubernetes/pkg/controller/util/node/controller_utils.go (MarkPodsNotReady)

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import { followView } from "@postern/apiserver/cache/view-informer";
import { updateStatus } from "@postern/apiserver/controllers/controlled-objects";
import type { Controller } from "@postern/apiserver/controllers/controller-port";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import { createTurns } from "@postern/apiserver/runtime/in-slices";
import type { Node } from "../../../builtin/workloads/nodes.ts";
import { withCondition } from "../../../builtin/workloads/pods/pod-conditions.ts";
import { isPodReady, type Pod } from "../../../builtin/workloads/pods/pods.ts";
import { LOST, readyOf } from "../../nodes/node-health.ts";
import { actingAs, retryLater, type WorkloadPort } from "../workload-port.ts";

/** The key of the queue that means the pods of all Nodes that were lost meanwhile. */
const LOST_NODES = "nodes";

const readNode = createMemberReader({ status: { conditions: true } });
const readPod = createMemberReader({
  metadata: { name: true, namespace: true, uid: true },
  spec: { nodeName: true },
  status: { conditions: true },
});

export function createLostNodePods(base: WorkloadPort): Controller {
  const port = actingAs(base, "node-controller");
  const { clock, scheduler } = port.runtime;
  const [pods, nodes] = [port.resource("", "Pod"), port.resource("", "Node")];
  const record = port.recorder("node-controller");
  const queue = new WorkQueue(port, { name: "lost_node_pods", process });
  let lost = new Set<string>();

  async function process(key: string, signal: AbortSignal): Promise<void> {
    const busy = port.looks.delayMs();
    if (busy > 0) return retryLater(queue, key, busy);
    if (key === LOST_NODES) await findPods(signal);
    else await processPod(key, signal);
  }

  async function findPods(signal: AbortSignal): Promise<void> {
    const names = lost;
    lost = new Set();
    const pause = createTurns(clock);
    for (const object of pods.view.list(pods.keys.prefix)) {
      await pause();
      if (signal.aborted) return;
      port.looks.spend(1);
      const pod = podOf(object);
      if (names.has(pod.spec?.nodeName ?? "") && isPodReady(pod)) queue.add(object.key);
    }
  }

  async function processPod(key: string, signal: AbortSignal): Promise<void> {
    port.looks.spend(1);
    const object = pods.view.get(key);
    const pod = object && podOf(object);
    if (pod === undefined || !isPodReady(pod) || !isLost(nodes.view.get(nodeKey(pod)))) return;
    if (port.writes.take(1) === 0) return retryLater(queue, key, port.writes.turnMs());
    let wasReady = false;
    const transform = (current: KubeObject): KubeObject => {
      // Stored objects have passed the schema of their kind. Its kubelet or another server was faster otherwise.
      wasReady = isPodReady(current as Pod);
      return wasReady ? (withoutReady(current as Pod, formatTimestamp(clock.now())) as KubeObject) : current;
    };
    await updateStatus(port, pods, pod, transform, signal);
    if (wasReady) say(pod);
  }

  const nodeKey = ({ spec }: Pick<Pod, "spec">): string => nodes.keys.of("", spec?.nodeName ?? "");

  function say({ metadata: { namespace = "", name = "", uid = "" } }: Pick<Pod, "metadata">): void {
    const involvedObject = { apiVersion: "v1", kind: "Pod", namespace, name, uid };
    record({ involvedObject, type: "Warning", reason: "NodeNotReady", message: "Node is not ready" });
  }

  const following = followView({ view: nodes.view, prefix: nodes.keys.prefix }, scheduler, {
    put(object, previous) {
      if (!isLost(object) || previous === undefined || readyIn(previous)?.status !== "True") return;
      lost.add(nodes.keys.parse(object.key).name);
      queue.add(LOST_NODES);
    },
  });
  return createQueueController(queue, [following]);
}

const readyIn = (node: CachedObject) => readyOf(node.read(readNode) as Node);

/** A kubelet that says itself that its Node is not ready says so of its pods, too. */
function isLost(node: CachedObject | undefined): boolean {
  const condition = node && readyIn(node);
  return condition?.status === "Unknown" && condition.reason === LOST.reason;
}

const podOf = (object: CachedObject) => object.read(readPod) as Pick<Pod, "metadata" | "spec" | "status">;

function withoutReady(pod: Pod, now: string): Pod {
  const { conditions = [], ...status } = pod.status ?? {};
  const ready = conditions.find(({ type }) => type === "Ready");
  return {
    ...pod,
    status: { ...status, conditions: withCondition(conditions, { ...ready, type: "Ready", status: "False" }, now) },
  };
}
