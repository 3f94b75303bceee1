// Pods that no kubelet ends. The expectations follow the source of kube-controller-manager 1.36.2.

import type { Controller } from "@postern/apiserver/controllers/controller-port";
import { type ManualTime, manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createTestCluster, type TestCluster } from "../../builtin/testing/test-cluster.ts";
import { nodes } from "../../builtin/workloads/nodes.ts";
import { pods } from "../../builtin/workloads/pods/pods.ts";
import { letTimePass } from "../testing/let-time-pass.ts";
import { createPodGarbageCollector, PERIOD_MS, QUARANTINE_MS } from "./pod-garbage-collector.ts";

let cluster: TestCluster;
let time: ManualTime;
let controller: Controller;
let runsWorkloads: boolean;

beforeEach(async () => {
  cluster = await createTestCluster([nodes, pods]);
  time = manualTime(Date.now());
  runsWorkloads = true;
  const { port, resource } = cluster;
  controller = createPodGarbageCollector(
    { ...port, runtime: { ...port.runtime, ...time } },
    { pods: resource("pods"), nodes: resource("nodes"), runsWorkloads: () => runsWorkloads, mostEnded: 2 },
  );
});

afterEach(async () => {
  expect(cluster.port.errors).toEqual([]);
  controller[Symbol.dispose]();
  expect(time.waiting).toBe(0);
  await cluster[Symbol.asyncDispose]();
});

const OUT_OF_SERVICE = { key: "node.kubernetes.io/out-of-service", effect: "NoExecute" };
const createNode = (name: string) => cluster.create("nodes", { metadata: { name } });
async function createPod(name: string, nodeName = "", metadata: object = {}): Promise<void> {
  const { kind } = pods;
  const spec = { containers: [{ name: "c", image: "i" }], nodeName };
  const object = { apiVersion: "v1", kind, metadata: { name, ...metadata }, spec };
  await cluster.create("pods", pods.setDefaults?.(object) ?? object);
  await cluster.update("pods", { name, subresource: "status" }, (pod) => ({ ...pod, status: { phase: "Running" } }));
}
const remove = (plural: string, name: string) => cluster.delete(plural, { name });
const pod = (name: string): any => cluster.get("pods", { name });

const pass = (milliseconds: number): Promise<void> => letTimePass([controller], time, milliseconds);

it("leaves a pod to the kubelet of its Node, however long it takes", async () => {
  await createNode("n");
  await createPod("a", "n");
  await remove("pods", "a");
  for (let minute = 0; minute < 10; minute++) await pass(60_000);
  expect(pod("a").status.phase).toBe("Running");
});

it("deletes the pods of a Node that has been gone for 40 seconds, as failed ones", async () => {
  await createNode("n");
  await createNode("other");
  await createPod("a", "n", { finalizers: ["example.com/held"] });
  await createPod("b", "n");
  await createPod("c", "other");
  await remove("nodes", "n");
  await pass(PERIOD_MS);
  await pass(QUARANTINE_MS - 1_000);
  expect(cluster.names("pods")).toEqual(["a", "b", "c"]);
  await pass(1_000);
  await pass(PERIOD_MS);
  expect(cluster.names("pods")).toEqual(["a", "c"]);
  const { metadata, status } = pod("a");
  expect(metadata.deletionGracePeriodSeconds).toBe(0);
  expect(status).toMatchObject({
    phase: "Failed",
    observedGeneration: 1,
    conditions: [
      {
        type: "DisruptionTarget",
        status: "True",
        reason: "DeletionByPodGC",
        message: "PodGC: node no longer exists",
        observedGeneration: 1,
      },
    ],
  });
});

it("lets pods be whose Node comes back in time", async () => {
  await createNode("n");
  await createPod("a", "n");
  await remove("nodes", "n");
  await pass(PERIOD_MS);
  await createNode("n");
  await pass(QUARANTINE_MS);
  await pass(QUARANTINE_MS);
  expect(pod("a").status.phase).toBe("Running");
});

it("ends what is being deleted on a Node that never was, also where pods are only stored", async () => {
  runsWorkloads = false;
  await createPod("stored", "none");
  await createPod("going", "none");
  await remove("pods", "going");
  await pass(PERIOD_MS);
  await pass(QUARANTINE_MS);
  await pass(PERIOD_MS);
  expect(cluster.names("pods")).toEqual(["stored"]);
});

it("deletes what is stored on a Node that never was once controllers of workloads run", async () => {
  runsWorkloads = false;
  await createPod("a", "none");
  await pass(PERIOD_MS);
  runsWorkloads = true;
  await pass(5 * 60_000);
  await pass(PERIOD_MS);
  expect(cluster.names("pods")).toEqual([]);
});

it("ends pods on a Node that is out of service and not ready, once they are being deleted", async () => {
  await createNode("n");
  await createPod("a", "n");
  await createPod("b", "n");
  await remove("pods", "a");
  await cluster.update("nodes", { name: "n" }, (node) => ({
    ...node,
    spec: { ...node.spec, taints: [OUT_OF_SERVICE] },
  }));
  await pass(PERIOD_MS);
  expect(cluster.names("pods")).toEqual(["b"]);
  await remove("pods", "b");
  await pass(PERIOD_MS);
  expect(cluster.names("pods")).toEqual([]);
});

it("says that a pod has failed that a finalizer holds without a Node", async () => {
  await createPod("a", undefined, { finalizers: ["example.com/held"] });
  await remove("pods", "a");
  await pass(PERIOD_MS);
  expect(pod("a").status.phase).toBe("Failed");
  await pass(PERIOD_MS);
  expect(time.waiting).toBe(0);
});

it("keeps so many ended pods, and deletes evicted ones and then the oldest", async () => {
  const finish = async (name: string, phase: string, reason?: string) => {
    await createPod(name);
    await cluster.update("pods", { name, subresource: "status" }, (current) => ({
      ...current,
      status: { phase, reason },
    }));
  };
  for (const name of ["b", "a", "c"]) await finish(name, "Succeeded");
  await createPod("runs");
  await finish("d", "Failed", "Evicted");
  await pass(PERIOD_MS);
  expect(cluster.names("pods")).toEqual(["b", "c", "runs"]);
  runsWorkloads = false;
  await finish("e", "Failed");
  await pass(PERIOD_MS);
  expect(cluster.names("pods")).toEqual(["b", "c", "e", "runs"]);
  runsWorkloads = true;
  await pass(5 * 60_000);
  await pass(PERIOD_MS);
  expect(cluster.names("pods")).toEqual(["c", "e", "runs"]);
  expect(time.waiting).toBe(0);
});
