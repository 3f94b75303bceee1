// Evicts pods from Nodes whose taints `NoExecute` they do not tolerate, or only for a time.
// Source: k8s.io/kubernetes/pkg/controller/tainteviction/taint_eviction.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { isBeingDeleted, type KubeObject } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import { followView } from "@postern/apiserver/cache/view-informer";
import { deleteControlled, ignoringConflicts, updateStatus } from "@postern/apiserver/controllers/controlled-objects";
import type { Controller } from "@postern/apiserver/controllers/controller-port";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import { createTurns } from "@postern/apiserver/runtime/in-slices";
import type { Taint } from "../../../builtin/workloads/nodes.ts";
import { withDisruption } from "../../../builtin/workloads/pods/pod-conditions.ts";
import type { Pod } from "../../../builtin/workloads/pods/pods.ts";
import { followNodes, type NodeState } from "../daemon-sets/followed-nodes.ts";
import { toleratedSeconds } from "../matching-tolerations.ts";
import { actingAs, retryLater, type WorkloadPort } from "../workload-port.ts";

/** The key of the queue that means the pods of all Nodes whose taints have changed. */
const CHANGED_NODES = "nodes";
/** Taints and tolerations that cost as much as a look at one object. */
const TAINTS_OF_LOOK = 10;

const readPod = createMemberReader({
  metadata: { name: true, namespace: true, uid: true, deletionTimestamp: true },
  spec: { nodeName: true, tolerations: true },
});

/** `dueAt` is a time of the clock's `elapsed`; `once` the end of the name of the Event that says that it was cancelled. */
type Eviction = { readonly uid: string; readonly dueAt: number; readonly once: string };

const EVICTED = {
  reason: "DeletionByTaintManager",
  message: "Taint manager: deleting due to NoExecute taint",
};

export function createTaintEvictionController(base: WorkloadPort): Controller {
  const port = actingAs(base, "node-controller");
  const { clock, scheduler } = port.runtime;
  const pods = port.resource("", "Pod");
  const record = port.recorder("taint-eviction-controller");
  const queue = new WorkQueue(port, { name: "noexec_taint", process });
  /** By key of the pod. A planned eviction keeps its time until it is cancelled. */
  const planned = new Map<string, Eviction>();
  /** Names of Nodes with taints `NoExecute`. */
  const tainted = new Set<string>();
  let changed = new Set<string>();

  function seeNode(name: string): void {
    if (evictingTaints(nodes.get(name)).length > 0) tainted.add(name);
    else tainted.delete(name);
    changed.add(name);
    queue.add(CHANGED_NODES);
  }
  function seeAll(): void {
    for (const { name, taints } of nodes.all()) if (taints.length > 0) seeNode(name);
    for (const name of tainted) seeNode(name);
    for (const key of planned.keys()) queue.add(key);
  }
  const nodes = followNodes(port.resource("", "Node"), scheduler, {
    changed(name) {
      const before = nodes.takeChange(name)?.before;
      const [old, taints] = [before, nodes.get(name)].map(evictingTaints) as JsonValue[];
      if (!equalJson(old, taints)) seeNode(name);
    },
    replaced: seeAll,
  });
  const following = followView({ view: pods.view, prefix: pods.keys.prefix }, scheduler, {
    replace: seeAll,
    put(object) {
      if (tainted.size === 0 && planned.size === 0) return;
      if (planned.has(object.key) || tainted.has(stateOf(object).nodeName)) queue.add(object.key);
    },
    delete({ key }) {
      if (planned.has(key)) queue.add(key);
    },
  });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    await nodes.scanned();
    const busy = port.looks.delayMs();
    if (busy > 0) return retryLater(queue, key, busy);
    if (key === CHANGED_NODES) await findPods(signal);
    else await processPod(key, signal);
  }

  async function findPods(signal: AbortSignal): Promise<void> {
    const names = changed;
    changed = new Set();
    const pause = createTurns(clock);
    for (const object of pods.view.list(pods.keys.prefix)) {
      await pause();
      if (signal.aborted) return;
      port.looks.spend(1);
      if (names.has(stateOf(object).nodeName)) queue.add(object.key);
    }
  }

  async function processPod(key: string, signal: AbortSignal): Promise<void> {
    const object = pods.view.get(key);
    const pod = object && stateOf(object);
    if (pod === undefined || planned.get(key)?.uid !== pod.uid) cancel(key);
    const node = pod && nodes.get(pod.nodeName);
    const taints = evictingTaints(node);
    if (pod === undefined || taints.length === 0) return cancel(key);
    port.looks.spend(1 + Math.floor((taints.length + pod.tolerations.length) / TAINTS_OF_LOOK));
    const seconds = toleratedSeconds(taints, pod.tolerations);
    if (seconds < 0 || seconds === Number.POSITIVE_INFINITY) cancel(key);
    if (seconds === Number.POSITIVE_INFINITY) return;
    // It may be one that this controller has evicted: its end cancels nothing.
    if (pod.isDeleted && !planned.has(key)) return;
    const now = clock.elapsed();
    const eviction = planned.get(key) ?? planOf(pod, now + Math.max(0, seconds) * 1_000);
    planned.set(key, eviction);
    if (eviction.dueAt > now) return retryLater(queue, key, eviction.dueAt - now);
    if (!pod.isDeleted) {
      if (port.writes.take(1) === 0) return retryLater(queue, key, port.writes.turnMs());
      await evict(pod, signal);
    }
    planned.delete(key);
  }

  /** Each server plans it. Times differ between them, the number of the pod's version does not. */
  const planOf = ({ uid, version }: PodState, dueAt: number): Eviction => ({
    uid,
    dueAt,
    once: `${uid.replaceAll("-", "")}${version}`,
  });

  function cancel(key: string): void {
    const eviction = planned.get(key);
    if (eviction === undefined) return;
    planned.delete(key);
    const { namespace, name } = pods.keys.parse(key);
    say({ namespace, name, uid: eviction.uid }, "Cancelling deletion of Pod", `${eviction.once}cancelled`);
  }

  async function evict(pod: PodState, signal: AbortSignal): Promise<void> {
    say(pod, "Marking for deletion Pod", `${pod.uid.replaceAll("-", "")}marked`);
    const reference = { metadata: pod };
    // Another server was faster, or memory has not seen yet that this one has evicted it.
    const transform = (current: KubeObject): KubeObject =>
      isBeingDeleted(current)
        ? current
        : (withDisruption(current as Pod, EVICTED, formatTimestamp(clock.now())) as KubeObject);
    await updateStatus(port, pods, reference, transform, signal);
    await ignoringConflicts(() => deleteControlled(port, pods, reference, signal));
  }

  function say({ namespace, name, uid }: PodName, what: string, once: string): void {
    const involvedObject = { apiVersion: "v1", kind: "Pod", namespace, name, uid };
    const message = `${what} ${namespace}/${name}`;
    record({ involvedObject, type: "Normal", reason: "TaintManagerEviction", message, once });
  }

  return createQueueController(queue, [following, nodes]);
}

const evictingTaints = (node: NodeState | undefined): readonly Taint[] =>
  (node?.taints ?? []).filter(({ effect }) => effect === "NoExecute");

type PodName = { readonly namespace: string; readonly name: string; readonly uid: string };
type PodState = ReturnType<typeof stateOf>;

function stateOf(object: CachedObject) {
  // Stored objects have passed the schema of their kind.
  const { metadata, spec = {} } = object.read(readPod) as Pick<Pod, "metadata"> & {
    readonly spec?: Partial<Pod["spec"]>;
  };
  const { namespace = "", name = "", uid = "" } = metadata;
  const { nodeName = "", tolerations = [] } = spec;
  return {
    namespace,
    name,
    uid,
    version: object.revision,
    nodeName,
    tolerations,
    isDeleted: isBeingDeleted({ metadata }),
  };
}
