// Marks Nodes as kube-controller-manager does where no kubelet runs: taints, labels and an annotation, and conditions that are unknown once the
// client that plays the kubelet is not heard of any more (ADR 318).
// Source: k8s.io/kubernetes/pkg/controller/nodelifecycle/node_lifecycle_controller.go, pkg/controller/ttl/ttl_controller.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import { followView } from "@postern/apiserver/cache/view-informer";
import { ignoringConflicts, updateControlled, updateStatus } from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource, Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createEventRecorder } from "@postern/apiserver/controllers/event-recorder";
import { createQueueController, filledQueue } from "@postern/apiserver/controllers/queue-controller";
import { createScans } from "@postern/apiserver/controllers/scans";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import { inSlices } from "@postern/apiserver/runtime/in-slices";
import type { Node } from "../../builtin/workloads/nodes.ts";
import { retryLater } from "../workloads/workload-port.ts";
import { asLost, isHeardAlike, NodeHealth, readyOf } from "./node-health.ts";
import { createNodeTtl, evictingTaintOf, hasEvictingTaint, withMarks } from "./node-marks.ts";
import { NodeZones } from "./node-zones.ts";

export type NodeControllerDeps = {
  readonly nodes: ControlledResource;
  readonly leases: ControlledResource;
  readonly events: ControlledResource;
};

/** Kubelets renew a Lease here that has the name of their Node. */
const LEASE_NAMESPACE = "kube-node-lease";

const readMeta = createMemberReader({ metadata: { name: true, uid: true } });
const readNode = createMemberReader({ spec: { taints: true }, status: { conditions: true } });
const readLease = createMemberReader({ spec: { renewTime: true } });

export function createNodeController(port: ControllerPort, { nodes, leases, events }: NodeControllerDeps): Controller {
  const { scheduler, clock } = port.runtime;
  const lifetime = new AbortController();
  const record = createEventRecorder({
    ...port,
    events: () => events,
    component: "node-controller",
    signal: lifetime.signal,
  });
  const health = new NodeHealth(clock);
  const ttlOf = createNodeTtl();
  const scans = createScans();
  const queue = new WorkQueue(port, { name: "node_lifecycle", process, concurrency: 1 });
  const zones = new NodeZones(clock, (key) => queue.add(key));

  async function process(key: string, signal: AbortSignal): Promise<void> {
    await scans.idle();
    // Stored objects have passed the schema of their kind, here and below.
    const node = nodes.view.get(key)?.decode() as Node | undefined;
    if (node === undefined) return;
    const isClearing = zones.isClearing(key);
    const { evicting, delayMs } = isClearing ? { evicting: null } : evictionOf(key, node);
    const ready = readyOf(node)?.status;
    const mark = (current: KubeObject): KubeObject => {
      // It is ready again meanwhile, or has been lost: the change is on the way here.
      const wanted = isClearing || readyOf(current as Node)?.status === ready ? evicting : undefined;
      const ttl = ttlOf(nodes.view.count(nodes.keys.prefix));
      return withMarks(current as Node, ttl, formatTimestamp(clock.now()), wanted);
    };
    if (mark(node) !== node)
      await ignoringConflicts(() => updateControlled(port, nodes, node, { transform: mark }, signal));
    if (isClearing) zones.endClearing(key);
    const left = health.left(key, node, leases.view.get(leaseOf(node)) !== undefined);
    // Leases are renewed without a look at the Node, so that the time may have moved by then.
    if (left !== undefined && left <= 0) return await markLost(node, signal);
    const next = Math.min(left ?? Number.POSITIVE_INFINITY, delayMs ?? Number.POSITIVE_INFINITY);
    if (next !== Number.POSITIVE_INFINITY) retryLater(queue, key, next);
  }

  /** The taint `NoExecute` that the Node gets or keeps, as `withMarks` takes it, and when to look again. */
  function evictionOf(
    key: string,
    node: Node,
  ): { readonly evicting: string | null | undefined; readonly delayMs?: number } {
    const wanted = evictingTaintOf(readyOf(node)?.status);
    if (typeof wanted !== "string" || hasEvictingTaint(node)) {
      zones.stopWaiting(key);
      return { evicting: wanted };
    }
    const delayMs = zones.delayMs(key);
    if (delayMs !== 0) return { evicting: undefined, ...(delayMs === undefined ? {} : { delayMs }) };
    zones.take(key);
    return { evicting: wanted };
  }

  async function markLost(node: Node, signal: AbortSignal): Promise<void> {
    let wasReady = false;
    const transform = (current: KubeObject): KubeObject => {
      // A heartbeat came meanwhile, or another server was faster.
      const isLost = isHeardAlike(current as Node, node);
      wasReady = isLost && readyOf(node)?.status === "True";
      return isLost ? (asLost(current as Node, clock.now()) as KubeObject) : current;
    };
    await updateStatus(port, nodes, node, transform, signal);
    const { name = "", uid = "" } = node.metadata;
    if (wasReady) say(name, uid, "NodeNotReady", `Node ${name} status is now: NodeNotReady`);
  }

  const leaseOf = ({ metadata }: Node): string => leases.keys.of(LEASE_NAMESPACE, metadata.name ?? "");

  function say(name: string, uid: string, reason: string, message: string, once?: string): void {
    const involvedObject = { apiVersion: "v1", kind: "Node", name, uid };
    record({ involvedObject, type: "Normal", reason, message, ...(once === undefined ? {} : { once }) });
  }

  /** Each server follows Nodes: one of them writes the Event. */
  function sayOnce(object: CachedObject, reason: string, what: (name: string) => string): void {
    const { metadata } = object.read(readMeta) as KubeObject;
    const { name = "", uid = "" } = metadata;
    say(name, uid, reason, `Node ${name} event: ${what(name)}`, `${uid.replaceAll("-", "")}${reason.toLowerCase()}`);
  }

  function seeZone(object: CachedObject): boolean {
    const node = object.read(readNode) as Node;
    const isTainted = hasEvictingTaint(node);
    zones.set(object.key, { labels: object.labels, isReady: readyOf(node)?.status === "True", isTainted });
    return isTainted;
  }

  const followNodes = followView({ view: nodes.view, prefix: nodes.keys.prefix }, scheduler, {
    replace(objects) {
      const keys = new Set(objects.map(({ key }) => key));
      health.keep(keys);
      zones.keep(keys);
      const look = (object: CachedObject): void => {
        // Later changes have arrived as changes.
        if (nodes.view.get(object.key) === object) seeZone(object);
        queue.add(object.key);
      };
      scans.add(inSlices(objects, look, scans.signal).then(() => zones.start()));
    },
    put(object, previous) {
      const isTainted = seeZone(object);
      if (previous === undefined) {
        sayOnce(object, "RegisteredNode", (name) => `Registered Node ${name} in Controller`);
        if (isTainted) zones.clear(object.key);
      }
      queue.add(object.key);
    },
    delete(object) {
      health.forget(object.key);
      zones.forget(object.key);
      sayOnce(object, "RemovingNode", (name) => `Removing Node ${name} from Controller`);
    },
  });
  const followLeases = followView({ view: leases.view, prefix: leases.keys.inNamespace(LEASE_NAMESPACE) }, scheduler, {
    put(lease, previous) {
      if (previous === undefined || renewedAt(lease) !== renewedAt(previous))
        health.renew(nodes.keys.of("", leases.keys.parse(lease.key).name));
    },
  });
  return createQueueController(filledQueue(scans, queue), [
    followNodes,
    followLeases,
    { [Symbol.dispose]: () => lifetime.abort() },
  ]);
}

function renewedAt(lease: CachedObject): unknown {
  const { spec } = lease.read(readLease) as { readonly spec?: { readonly renewTime?: string } };
  return spec?.renewTime;
}
