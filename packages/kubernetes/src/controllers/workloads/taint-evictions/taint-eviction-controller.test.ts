// Pods on Nodes with taints `NoExecute`. kube-controller-manager 1.36.2 met the same expectations.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Controller } from "@postern/apiserver/controllers/controller-port";
import { createEventRecorder } from "@postern/apiserver/controllers/event-recorder";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import { type ManualTime, manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createTestCluster, type TestCluster } from "../../../builtin/testing/test-cluster.ts";
import { nodes } from "../../../builtin/workloads/nodes.ts";
import { pods } from "../../../builtin/workloads/pods/pods.ts";
import { letTimePass, settled } from "../../testing/let-time-pass.ts";
import { createAllowance, LOOKS } from "../allowance.ts";
import type { WorkloadPort } from "../workload-port.ts";
import { createTaintEvictionController } from "./taint-eviction-controller.ts";

let cluster: TestCluster;
let time: ManualTime;
let controllers: Controller[];
let lifetime: AbortController;

beforeEach(async () => {
  cluster = await createTestCluster([nodes, pods]);
  time = manualTime(Date.now());
  lifetime = new AbortController();
  controllers = [start()];
});

afterEach(async () => {
  await settle();
  expect(cluster.port.errors).toEqual([]);
  lifetime.abort();
  for (const controller of controllers) controller[Symbol.dispose]();
  expect(time.waiting).toBe(0);
  await cluster[Symbol.asyncDispose]();
});

function start(): Controller {
  const runtime = { ...cluster.port.runtime, ...time };
  const resource = (_group: string, kind: string) =>
    cluster.resource(`${kind.toLowerCase()}s`) as unknown as InstalledResource;
  const port: Omit<WorkloadPort, "pods"> = {
    ...cluster.port,
    runtime,
    resource,
    writes: createAllowance(time.clock, { perSecond: 50, burst: 500 }),
    looks: createAllowance(time.clock, LOOKS),
    recorder: (component) =>
      createEventRecorder({
        ...cluster.port,
        runtime,
        events: () => resource("", "Event"),
        component,
        signal: lifetime.signal,
      }),
  };
  return createTaintEvictionController(port as WorkloadPort);
}

const A = { key: "a", value: "1", effect: "NoExecute" };
const B = { key: "b", effect: "NoExecute" };
const tolerating = (key: string, tolerationSeconds?: number) => ({
  key,
  operator: "Exists",
  effect: "NoExecute",
  ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }),
});

const createNode = (taints: readonly JsonObject[] = [], name = "n") =>
  cluster.create("nodes", { metadata: { name }, spec: { taints } });
const taint = (...taints: readonly JsonObject[]) =>
  cluster.update("nodes", { name: "n" }, (node) => ({ ...node, spec: { ...node.spec, taints } }));
async function createPod(name: string, tolerations: readonly JsonObject[] = [], nodeName = "n"): Promise<void> {
  const { kind } = pods;
  const spec = { containers: [{ name: "c", image: "i" }], nodeName, tolerations };
  const object = { apiVersion: "v1", kind, metadata: { name }, spec };
  await cluster.create("pods", pods.setDefaults?.(object) ?? object);
  await settle();
}
const pod = (name: string): any => cluster.get("pods", { name });
const isEvicted = (name: string): boolean => pod(name).metadata.deletionTimestamp !== undefined;
const events = (): readonly string[] => {
  const { view, keys } = cluster.resource("events");
  return view.list(keys.prefix).map((event) => (event.decode() as KubeObject)["message"] as string);
};

const settle = (): Promise<void> => settled(controllers);
const pass = (milliseconds: number): Promise<void> => letTimePass(controllers, time, milliseconds);

it("evicts at once what does not tolerate a new taint, and says so", async () => {
  await createNode();
  await createNode([], "other");
  await createPod("a");
  await createPod("tolerant", [tolerating("a")]);
  await createPod("elsewhere", [], "other");
  await taint(A, { ...B, effect: "NoSchedule" });
  await pass(0);
  expect(["a", "tolerant", "elsewhere"].map(isEvicted)).toEqual([true, false, false]);
  expect(pod("a").metadata.deletionGracePeriodSeconds).toBe(30);
  expect(pod("a").status.conditions).toMatchObject([
    {
      type: "DisruptionTarget",
      status: "True",
      reason: "DeletionByTaintManager",
      message: "Taint manager: deleting due to NoExecute taint",
      observedGeneration: 1,
    },
  ]);
  expect(events()).toEqual(["Marking for deletion Pod default/a"]);
});

it("evicts what comes to a tainted Node", async () => {
  await createNode([A]);
  await createPod("a");
  await createPod("valued", [{ key: "a", operator: "Equal", value: "1" }]);
  await createPod("other", [{ key: "a", value: "2" }]);
  await createPod("all", [{ operator: "Exists" }]);
  expect(["a", "valued", "other", "all"].map(isEvicted)).toEqual([true, false, true, false]);
});

it("evicts after the seconds that all taints are tolerated", async () => {
  await createNode();
  await createPod("a", [tolerating("a", 10), tolerating("b", 20)]);
  await createPod("never", [tolerating("a"), tolerating("b")]);
  await createPod("now", [tolerating("a", 0), tolerating("b")]);
  await taint(A, B);
  await pass(9_999);
  expect(["a", "never", "now"].map(isEvicted)).toEqual([false, false, true]);
  await pass(1);
  expect(["a", "never"].map(isEvicted)).toEqual([true, false]);
});

it("cancels it when the taint goes, and when the pod goes", async () => {
  await createNode();
  await createPod("a", [tolerating("a", 10)]);
  await taint(A);
  await pass(5_000);
  await taint();
  await pass(60_000);
  expect(isEvicted("a")).toBe(false);
  expect(events()).toEqual(["Cancelling deletion of Pod default/a"]);
  await taint(A);
  await pass(9_000);
  await cluster.delete("pods", { name: "a" }, { gracePeriodSeconds: 0 });
  await createPod("a", [tolerating("a", 10)]);
  await pass(9_000);
  expect(isEvicted("a")).toBe(false);
  await pass(1_000);
  expect(isEvicted("a")).toBe(true);
});

it("cancels nothing when a pod ends that it has evicted", async () => {
  await createNode([A]);
  await createPod("a", [tolerating("a", 10)]);
  await pass(10_000);
  expect(isEvicted("a")).toBe(true);
  await pass(5_000);
  await cluster.delete("pods", { name: "a" }, { gracePeriodSeconds: 0 });
  await pass(60_000);
  expect(events()).toEqual(["Marking for deletion Pod default/a"]);
});

it("keeps the time of the first taint when another one follows", async () => {
  await createNode();
  await createPod("a", [tolerating("a", 10), tolerating("b", 1)]);
  await taint(A);
  await pass(5_000);
  await taint(A, B);
  await pass(4_999);
  expect(isEvicted("a")).toBe(false);
  await pass(1);
  expect(isEvicted("a")).toBe(true);
});

it("cancels it when the pod tolerates the taint for ever, and does not wait when it tolerates one no more", async () => {
  await createNode();
  await createPod("a", [tolerating("a", 10)]);
  await createPod("b", [tolerating("a", 10)]);
  await taint(A);
  await pass(5_000);
  await cluster.update("pods", { name: "a" }, (current) => ({
    ...current,
    spec: { ...current.spec, tolerations: [tolerating("a"), tolerating("b"), ...current.spec.tolerations] },
  }));
  await taint(A, B);
  await pass(0);
  expect(["a", "b"].map(isEvicted)).toEqual([false, true]);
  await pass(60_000);
  expect(isEvicted("a")).toBe(false);
});

it("leaves alone what is being deleted", async () => {
  await createNode();
  await createPod("a");
  await cluster.delete("pods", { name: "a" });
  const { resourceVersion } = pod("a").metadata;
  await taint(A);
  await pass(60_000);
  expect(pod("a").metadata.resourceVersion).toBe(resourceVersion);
});

it("evicts after a start what was on a tainted Node before", async () => {
  for (const controller of controllers) controller[Symbol.dispose]();
  await createNode([A]);
  await createPod("a");
  controllers = [start()];
  await pass(0);
  expect(isEvicted("a")).toBe(true);
});

it("does it once where several servers follow the pods", async () => {
  controllers.push(start());
  await createNode();
  await createPod("a", [tolerating("a", 10)]);
  await taint(A);
  await pass(1_000);
  await taint();
  await pass(1_000);
  await taint(B);
  await pass(0);
  expect(pod("a").status.conditions).toMatchObject([{ observedGeneration: 1 }]);
  expect([...events()].sort()).toEqual(["Cancelling deletion of Pod default/a", "Marking for deletion Pod default/a"]);
});
