// Pods of Nodes that are lost. kube-controller-manager 1.36.2 met the same expectations.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { Controller } from "@postern/apiserver/controllers/controller-port";
import { createEventRecorder } from "@postern/apiserver/controllers/event-recorder";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import { type ManualTime, manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createTestCluster, type TestCluster } from "../../../builtin/testing/test-cluster.ts";
import { nodes } from "../../../builtin/workloads/nodes.ts";
import { pods } from "../../../builtin/workloads/pods/pods.ts";
import { createNodeController } from "../../nodes/node-controller.ts";
import { MONITOR_GRACE_MS } from "../../nodes/node-health.ts";
import { letTimePass, settled } from "../../testing/let-time-pass.ts";
import { createAllowance, LOOKS } from "../allowance.ts";
import type { WorkloadPort } from "../workload-port.ts";
import { createLostNodePods } from "./lost-node-pods.ts";

let cluster: TestCluster;
let time: ManualTime;
let controllers: Controller[];
let lifetime: AbortController;

beforeEach(async () => {
  cluster = await createTestCluster([nodes, pods]);
  await cluster.create("namespaces", { metadata: { name: "kube-node-lease" } });
  time = manualTime(Date.now());
  lifetime = new AbortController();
  controllers = start();
});

afterEach(async () => {
  await settle();
  expect(cluster.port.errors).toEqual([]);
  lifetime.abort();
  for (const controller of controllers) controller[Symbol.dispose]();
  expect(time.waiting).toBe(0);
  await cluster[Symbol.asyncDispose]();
});

/** Marks Nodes as lost, and their pods. */
function start(): Controller[] {
  const runtime = { ...cluster.port.runtime, ...time };
  const resource = (_group: string, kind: string) =>
    cluster.resource(`${kind.toLowerCase()}s`) as unknown as InstalledResource;
  const events = () => resource("", "Event");
  const port: Omit<WorkloadPort, "pods"> = {
    ...cluster.port,
    runtime,
    resource,
    writes: createAllowance(time.clock, { perSecond: 50, burst: 500 }),
    looks: createAllowance(time.clock, LOOKS),
    recorder: (component) =>
      createEventRecorder({ ...cluster.port, runtime, events, component, signal: lifetime.signal }),
  };
  const deps = { nodes: resource("", "Node"), leases: resource("", "Lease"), events: events() };
  return [createNodeController(port, deps), createLostNodePods(port as WorkloadPort)];
}

const settle = (): Promise<void> => settled(controllers);
const pass = (milliseconds: number): Promise<void> => letTimePass(controllers, time, milliseconds);

const now = (): string => formatTimestamp(time.clock.now());
const setReady = (name: string, condition: object) =>
  cluster.update("nodes", { name, subresource: "status" }, (node) => ({
    ...node,
    status: { conditions: [{ type: "Ready", lastHeartbeatTime: now(), lastTransitionTime: now(), ...condition }] },
  }));
async function createNode(name: string): Promise<void> {
  await cluster.create("nodes", { metadata: { name } });
  await setReady(name, { status: "True" });
}

const READY = {
  type: "Ready",
  status: "True",
  reason: "Started",
  message: "m",
  observedGeneration: 7,
  lastTransitionTime: "2026-01-01T00:00:00Z",
};
const OTHER = { type: "ContainersReady", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" };

async function createPod(name: string, nodeName: string, conditions: readonly object[] = [OTHER, READY]) {
  const spec = { containers: [{ name: "c", image: "i" }], nodeName };
  const object = { apiVersion: "v1", kind: pods.kind, metadata: { name }, spec };
  await cluster.create("pods", pods.setDefaults?.(object) ?? object);
  const status = { phase: "Running", conditions };
  await cluster.update("pods", { name, subresource: "status" }, (pod) => ({ ...pod, status }));
}
const pod = (name: string): any => cluster.get("pods", { name });
const readyOf = (name: string) => pod(name).status.conditions.find(({ type }: any) => type === "Ready")?.status;
const podEvents = () => {
  const { view, keys } = cluster.resource("events");
  return view
    .list(keys.prefix)
    .map((event) => event.decode() as any)
    .filter(({ involvedObject }) => involvedObject.kind === "Pod")
    .map(({ type, reason, message, involvedObject: { name } }) => [name, type, reason, message])
    .sort();
};

it("makes the pods of a lost Node not ready, and leaves the rest of their conditions", async () => {
  await createNode("a");
  await createNode("b");
  await createPod("on-a", "a");
  await createPod("too", "a");
  await createPod("unready", "a", [{ ...READY, status: "False" }]);
  await createPod("bare", "a", []);
  await createPod("on-b", "b");
  await pass(MONITOR_GRACE_MS - 10_000);
  await setReady("b", { status: "True", reason: "beats" });
  await pass(10_000);
  expect(pod("on-a").status.conditions).toEqual([OTHER, { ...READY, status: "False", lastTransitionTime: now() }]);
  expect(pod("on-a").status.phase).toBe("Running");
  expect(["too", "unready", "bare", "on-b"].map(readyOf)).toEqual(["False", "False", undefined, "True"]);
  expect(pod("unready").status.conditions[0].lastTransitionTime).toBe(READY.lastTransitionTime);
  const said = ["Warning", "NodeNotReady", "Node is not ready"];
  expect(podEvents()).toEqual([
    ["on-a", ...said],
    ["too", ...said],
  ]);
});

it("leaves pods as their kubelet says while it is there, and once it is back", async () => {
  await createNode("a");
  await createPod("p", "a");
  await setReady("a", { status: "False", reason: "KubeletNotReady" });
  await pass(0);
  expect(readyOf("p")).toBe("True");
  await setReady("a", { status: "True" });
  await pass(MONITOR_GRACE_MS);
  expect(readyOf("p")).toBe("False");
  await cluster.update("pods", { name: "p", subresource: "status" }, (pod: KubeObject) => ({
    ...pod,
    status: { conditions: [READY] },
  }));
  await pass(MONITOR_GRACE_MS);
  expect(readyOf("p")).toBe("True");
  await setReady("a", { status: "True" });
  await pass(MONITOR_GRACE_MS);
  expect(readyOf("p")).toBe("False");
});
