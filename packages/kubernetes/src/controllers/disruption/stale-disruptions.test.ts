// Pods with the condition `DisruptionTarget` that nothing deletes. kube-controller-manager 1.36.2 met the same expectations.

import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { Controller } from "@postern/apiserver/controllers/controller-port";
import { type ManualTime, manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createTestCluster, type TestCluster } from "../../builtin/testing/test-cluster.ts";
import { pods } from "../../builtin/workloads/pods/pods.ts";
import { letTimePass, settled } from "../testing/let-time-pass.ts";
import { createStaleDisruptions, STALE_MS } from "./stale-disruptions.ts";

let cluster: TestCluster;
let time: ManualTime;
let controllers: Controller[];

beforeEach(async () => {
  cluster = await createTestCluster([pods]);
  time = manualTime(Date.now());
  controllers = [start()];
});

afterEach(async () => {
  expect(cluster.port.errors).toEqual([]);
  for (const controller of controllers) controller[Symbol.dispose]();
  expect(time.waiting).toBe(0);
  await cluster[Symbol.asyncDispose]();
});

const start = (): Controller =>
  createStaleDisruptions(
    { ...cluster.port, runtime: { ...cluster.port.runtime, ...time } },
    { pods: cluster.resource("pods") },
  );

const settle = (): Promise<void> => settled(controllers);
const pass = (milliseconds: number): Promise<void> => letTimePass(controllers, time, milliseconds);

const disrupted = (rest: object = {}) => ({
  type: "DisruptionTarget",
  status: "True",
  reason: "EvictionByEvictionAPI",
  message: "evicting",
  lastTransitionTime: formatTimestamp(time.clock.now()),
  ...rest,
});
const READY = { type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" };

async function create(name: string, status: object, metadata: object = {}): Promise<void> {
  const object = { apiVersion: "v1", kind: pods.kind, metadata: { name, ...metadata }, spec: SPEC };
  await cluster.create("pods", pods.setDefaults?.(object) ?? object);
  await cluster.update("pods", { name, subresource: "status" }, (pod) => ({ ...pod, status }));
}
const SPEC = { containers: [{ name: "c", image: "i" }], nodeName: "n" };

const pod = (name: string): any => cluster.get("pods", { name });
const statusOf = (name: string) =>
  pod(name).status.conditions.find(({ type }: any) => type === "DisruptionTarget").status;

it("takes the condition back two minutes after it became true", async () => {
  await create("a", { phase: "Running", conditions: [READY, disrupted()] });
  await pass(STALE_MS - 2_000);
  expect(statusOf("a")).toBe("True");
  await pass(2_000);
  expect(pod("a").status.conditions).toEqual([
    READY,
    {
      type: "DisruptionTarget",
      status: "False",
      lastProbeTime: null,
      observedGeneration: 1,
      lastTransitionTime: formatTimestamp(time.clock.now()),
    },
  ]);
});

it("takes those back that were true before it began, and that have no time", async () => {
  for (const controller of controllers.splice(0)) controller[Symbol.dispose]();
  await create("old", { conditions: [disrupted({ lastTransitionTime: "2026-01-01T00:00:00Z" })] });
  await create("timeless", { conditions: [disrupted({ lastTransitionTime: null })] });
  controllers.push(start());
  await settle();
  expect(["old", "timeless"].map(statusOf)).toEqual(["False", "False"]);
});

it("leaves pods that are being deleted, have ended, or are ended by their kubelet", async () => {
  await create("deleted", { conditions: [disrupted()] }, { finalizers: ["example.com/held"] });
  await cluster.delete("pods", { name: "deleted" });
  await create("failed", { phase: "Failed", conditions: [disrupted()] });
  await create("done", { phase: "Succeeded", conditions: [disrupted()] });
  await create("kubelet", { conditions: [disrupted({ reason: "TerminationByKubelet" })] });
  await create("false", { conditions: [disrupted({ status: "False", reason: "kept" })] });
  await pass(STALE_MS * 2);
  expect(["deleted", "failed", "done", "kubelet"].map(statusOf)).toEqual(["True", "True", "True", "True"]);
  expect(pod("false").status.conditions[0].reason).toBe("kept");
});

it("waits anew for a condition that became true again", async () => {
  await create("a", { conditions: [disrupted()] });
  await pass(STALE_MS - 5_000);
  await cluster.update("pods", { name: "a", subresource: "status" }, (pod) => ({
    ...pod,
    status: { conditions: [disrupted({ message: "again" })] },
  }));
  await pass(10_000);
  expect(statusOf("a")).toBe("True");
  await pass(STALE_MS);
  expect(statusOf("a")).toBe("False");
});
