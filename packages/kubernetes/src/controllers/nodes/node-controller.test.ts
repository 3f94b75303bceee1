// Nodes without a kubelet, and with a client that plays it. kube-controller-manager 1.36.2 met the same expectations.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { formatMicroTime, formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { Controller } from "@postern/apiserver/controllers/controller-port";
import { type ManualTime, manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createTestCluster, type TestCluster } from "../../builtin/testing/test-cluster.ts";
import { nodes } from "../../builtin/workloads/nodes.ts";
import { settled } from "../testing/let-time-pass.ts";
import { createNodeController } from "./node-controller.ts";
import { MONITOR_GRACE_MS, STARTUP_GRACE_MS } from "./node-health.ts";
import { TAINT_EVERY_MS } from "./node-zones.ts";

let cluster: TestCluster;
let time: ManualTime;
let controllers: Controller[];

beforeEach(async () => {
  cluster = await createTestCluster([nodes]);
  await cluster.create("namespaces", { metadata: { name: LEASES } });
  time = manualTime(Date.now());
  controllers = [start()];
});

afterEach(async () => {
  expect(cluster.port.errors).toEqual([]);
  for (const controller of controllers) controller[Symbol.dispose]();
  expect(time.waiting).toBe(0);
  await cluster[Symbol.asyncDispose]();
});

const LEASES = "kube-node-lease";
const UNREACHABLE = "node.kubernetes.io/unreachable";

function start(nodes = cluster.resource("nodes")): Controller {
  const { port, resource } = cluster;
  const deps = { nodes, leases: resource("leases"), events: resource("events") };
  return createNodeController({ ...port, runtime: { ...port.runtime, ...time } }, deps);
}

const node = (name = "n"): any => cluster.get("nodes", { name });
const taints = (): readonly string[] => (node()?.spec.taints ?? []).map(({ key }: any) => key);
const conditions = () => node()?.status.conditions?.map(({ type, status, reason }: any) => [type, status, reason]);
const events = () => {
  const { view, keys } = cluster.resource("events");
  return view.list(keys.prefix).map((event) => (event.decode() as KubeObject)["reason"]);
};

/** Until the controller has marked it: what follows is a change of its own. */
async function create(object: object = {}): Promise<void> {
  await cluster.create("nodes", { metadata: { name: "n" }, ...object });
  await expect.poll(() => node()?.metadata.annotations?.["node.alpha.kubernetes.io/ttl"]).toBe("0");
}

const change = (edit: (current: any) => object, subresource = "") =>
  cluster.update("nodes", { name: "n", subresource }, edit);

/** The status as a kubelet writes it. */
const beat = (status = "True") => {
  const now = formatTimestamp(time.clock.now());
  const ready = { type: "Ready", status, reason: "Kubelet", lastHeartbeatTime: now, lastTransitionTime: now };
  return change((current) => ({ ...current, status: { ...current.status, conditions: [ready] } }), "status");
};

/** Waits until nothing more is written, and says whether something was. */
async function isWritten(): Promise<boolean> {
  const before = node()?.metadata.resourceVersion;
  await settled(controllers);
  return node()?.metadata.resourceVersion !== before;
}

it("takes a new Node from its taint, annotates it and says so", async () => {
  await create();
  await expect.poll(taints).toEqual([]);
  await expect.poll(events).toEqual(["RegisteredNode"]);
});

it("leaves a Node alone that nothing has to be changed of", async () => {
  await create();
  await isWritten();
  time.advance(STARTUP_GRACE_MS - 2_000);
  expect(await isWritten()).toBe(false);
});

it("taints a cordoned Node, and keeps the taints of clients", async () => {
  await create({ spec: { taints: [{ key: "a", effect: "NoExecute" }] } });
  await change((current) => ({ ...current, spec: { ...current.spec, unschedulable: true } }));
  await expect.poll(taints).toEqual(["a", "node.kubernetes.io/unschedulable"]);
  await change(({ spec: { unschedulable: _, ...spec }, ...rest }) => ({ ...rest, spec }));
  await expect.poll(taints).toEqual(["a"]);
});

it("gives labels their old names", async () => {
  await create({ metadata: { name: "n", labels: { "kubernetes.io/os": "linux", "beta.kubernetes.io/os": "other" } } });
  await expect
    .poll(() => node().metadata.labels)
    .toEqual({ "kubernetes.io/os": "linux", "beta.kubernetes.io/os": "linux" });
});

it("finds a Node lost whose kubelet never wrote, once", async () => {
  await create();
  await isWritten();
  time.advance(STARTUP_GRACE_MS);
  await expect.poll(taints).toEqual([UNREACHABLE]);
  const unknown = (type: string) => [type, "Unknown", "NodeStatusNeverUpdated"];
  expect(conditions()).toEqual(["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"].map(unknown));
  expect(node().status.conditions[0].lastHeartbeatTime).toBe(node().metadata.creationTimestamp);
  await isWritten();
  expect(time.waiting).toBe(0);
});

it("finds a Node lost whose kubelet stopped, and ready again when it writes", async () => {
  await create();
  await beat();
  await isWritten();
  time.advance(MONITOR_GRACE_MS - 1);
  expect(await isWritten()).toBe(false);
  time.advance(1);
  await expect.poll(taints).toEqual([UNREACHABLE]);
  expect(conditions()[0]).toEqual(["Ready", "Unknown", "NodeStatusUnknown"]);
  await expect.poll(events).toContain("NodeNotReady");
  await beat();
  await expect.poll(taints).toEqual([]);
});

it("takes a written status for a heartbeat", async () => {
  await create();
  for (let at = 0; at < 5; at++) {
    await beat();
    await isWritten();
    time.advance(MONITOR_GRACE_MS - 1_000);
    expect(await isWritten()).toBe(false);
  }
});

it("takes a renewed Lease for a heartbeat, and no other write of it", async () => {
  await create();
  await beat();
  const renewTime = () => formatMicroTime(time.clock.now());
  await cluster.create("leases", { metadata: { name: "n", namespace: LEASES }, spec: { renewTime: renewTime() } });
  const lease = { name: "n", namespace: LEASES };
  for (let at = 0; at < 3; at++) {
    await isWritten();
    time.advance(MONITOR_GRACE_MS - 1_000);
    expect(await isWritten()).toBe(false);
    await cluster.update("leases", lease, (current) => ({ ...current, spec: { renewTime: renewTime() } }));
  }
  await isWritten();
  time.advance(MONITOR_GRACE_MS - 1_000);
  await cluster.update("leases", lease, (current) => ({ ...current, spec: { ...current.spec, holderIdentity: "h" } }));
  await isWritten();
  time.advance(1_000);
  await expect.poll(taints).toEqual([UNREACHABLE]);
});

it("taints a Node by the conditions that its kubelet writes", async () => {
  await create();
  await change((current) => {
    const pressure = { type: "DiskPressure", status: "True" };
    const ready = { type: "Ready", status: "False" };
    return { ...current, status: { ...current.status, conditions: [ready, pressure] } };
  }, "status");
  await expect.poll(taints).toEqual(["node.kubernetes.io/not-ready", "node.kubernetes.io/disk-pressure"]);
});

it("begins the grace period of a ready Node anew after a start", async () => {
  await create();
  await beat();
  await isWritten();
  for (const controller of controllers) controller[Symbol.dispose]();
  time.advance(2 * MONITOR_GRACE_MS);
  controllers = [start()];
  expect(await isWritten()).toBe(false);
  time.advance(MONITOR_GRACE_MS);
  await expect.poll(taints).toEqual([UNREACHABLE]);
});

it("finds a Node lost a minute after it was created, with a start between", async () => {
  for (const controller of controllers) controller[Symbol.dispose]();
  await cluster.create("nodes", { metadata: { name: "n" } });
  time.advance(STARTUP_GRACE_MS - 10_000);
  controllers = [start()];
  await isWritten();
  // Times of creation are whole seconds.
  time.advance(11_000);
  await expect.poll(taints).toEqual([UNREACHABLE]);
});

it("gives a Node whose kubelet only renewed its Lease a whole minute after a start", async () => {
  for (const controller of controllers) controller[Symbol.dispose]();
  await cluster.create("nodes", { metadata: { name: "n" } });
  await cluster.create("leases", { metadata: { name: "n", namespace: LEASES } });
  time.advance(STARTUP_GRACE_MS);
  controllers = [start()];
  await isWritten();
  time.advance(STARTUP_GRACE_MS - 1);
  expect(await isWritten()).toBe(false);
  expect(conditions()).toBe(undefined);
});

it("does it once where several servers follow the Nodes", async () => {
  controllers.push(start());
  await create();
  await beat();
  await isWritten();
  time.advance(MONITOR_GRACE_MS);
  await expect.poll(taints).toEqual([UNREACHABLE]);
  await cluster.delete("nodes", { name: "n" });
  await expect.poll(() => [...events()].sort()).toEqual(["NodeNotReady", "RegisteredNode", "RemovingNode"]);
});

/** A Node whose kubelet says so. */
async function createBeating(
  name: string,
  status: string,
  labels: { readonly [key: string]: string } = {},
): Promise<void> {
  await cluster.create("nodes", { metadata: { name, labels } });
  await setReady(name, status);
}
async function setReady(name: string, status: string): Promise<void> {
  const now = formatTimestamp(time.clock.now());
  const conditions = [{ type: "Ready", status, lastHeartbeatTime: now, lastTransitionTime: now }];
  await cluster.update("nodes", { name, subresource: "status" }, (current) => ({
    ...current,
    status: { ...current.status, conditions },
  }));
  await isWritten();
}
const evicting = (...names: string[]) =>
  names.map((name) =>
    (node(name).spec.taints ?? []).flatMap(({ key, effect }: any) => (effect === "NoExecute" ? [key] : [])),
  );
const NOT_READY = "node.kubernetes.io/not-ready";
const ZONE = "topology.kubernetes.io/zone";

it("evicts from a Node that is not ready while another one is, and no more when it is ready", async () => {
  await createBeating("other", "True");
  await createBeating("n", "False");
  // The first Node that is ready gives the others time.
  expect(evicting("n")).toEqual([[]]);
  time.advance(TAINT_EVERY_MS);
  await isWritten();
  expect(evicting("other", "n")).toEqual([[], [NOT_READY]]);
  await setReady("n", "Unknown");
  expect(evicting("n")).toEqual([[UNREACHABLE]]);
  await setReady("n", "True");
  expect(evicting("n")).toEqual([[]]);
});

it("evicts from one Node of each zone in ten seconds", async () => {
  await createBeating("other", "True");
  for (const name of ["a", "b", "c"]) await createBeating(name, "True", { [ZONE]: "1" });
  await createBeating("x", "True", { [ZONE]: "2" });
  for (const name of ["a", "b", "x"]) await setReady(name, "False");
  expect(evicting("a", "b", "x")).toEqual([[NOT_READY], [], [NOT_READY]]);
  time.advance(TAINT_EVERY_MS - 1);
  await isWritten();
  expect(evicting("b")).toEqual([[]]);
  time.advance(1);
  await isWritten();
  expect(evicting("b")).toEqual([[NOT_READY]]);
});

it("evicts no more when no Node is ready, and again when one is", async () => {
  await createBeating("a", "True");
  await createBeating("n", "False");
  time.advance(TAINT_EVERY_MS);
  await isWritten();
  expect(evicting("n")).toEqual([[NOT_READY]]);
  await setReady("a", "False");
  expect(evicting("a", "n")).toEqual([[], []]);
  time.advance(TAINT_EVERY_MS);
  await setReady("a", "True");
  time.advance(TAINT_EVERY_MS - 1);
  await isWritten();
  expect(evicting("n")).toEqual([[]]);
  time.advance(1);
  await isWritten();
  expect(evicting("a", "n")).toEqual([[], [NOT_READY]]);
});

it("takes the taints away also where the first write failed", async () => {
  for (const controller of controllers) controller[Symbol.dispose]();
  const nodes = cluster.resource("nodes");
  let failures = 0;
  const update: typeof nodes.genericStore.update = (...args) =>
    failures-- > 0 ? Promise.reject(new Error("no store")) : nodes.genericStore.update(...args);
  controllers = [start({ ...nodes, genericStore: { ...nodes.genericStore, update } })];
  await createBeating("a", "True");
  await createBeating("n", "False");
  time.advance(TAINT_EVERY_MS);
  await isWritten();
  expect(evicting("n")).toEqual([[NOT_READY]]);
  // That of each of the two.
  failures = 2;
  await setReady("a", "False");
  expect([failures, evicting("n")]).toEqual([0, [[NOT_READY]]]);
  expect((cluster.port.errors as unknown[]).splice(0)).toHaveLength(2);
  time.advance(1_000);
  await isWritten();
  expect(evicting("a", "n")).toEqual([[], []]);
});

it("evicts from no Node of a small zone of which more than half are not ready", async () => {
  await createBeating("other", "True");
  for (const name of ["a", "b", "c", "d"]) await createBeating(name, "True", { [ZONE]: "1" });
  for (const name of ["a", "b", "c"]) await setReady(name, "False");
  time.advance(TAINT_EVERY_MS);
  await isWritten();
  time.advance(TAINT_EVERY_MS);
  await isWritten();
  // The first two were not more than half of them.
  expect(evicting("a", "b", "c")).toEqual([[NOT_READY], [], []]);
  await setReady("c", "True");
  expect(evicting("b", "c")).toEqual([[], []]);
  time.advance(TAINT_EVERY_MS);
  await isWritten();
  expect(evicting("b", "c")).toEqual([[NOT_READY], []]);
});

it("leaves such a taint to clients where nothing is known of the Node, and takes it from a new one", async () => {
  await createBeating("other", "True");
  await create({ spec: { taints: [{ key: UNREACHABLE, effect: "NoExecute" }] } });
  await isWritten();
  expect(evicting("n")).toEqual([[]]);
  await change((current) => ({ ...current, spec: { taints: [{ key: UNREACHABLE, effect: "NoExecute" }] } }));
  await isWritten();
  expect(evicting("n")).toEqual([[UNREACHABLE]]);
});
