// The controllers of workloads, by kubectl: a rollout, its return, and Jobs. The test writes the status of pods, as a kubelet would.

import { afterAll, beforeAll, expect, test } from "vitest";
import type { KubectlSession } from "./testing/kubectl-clients.ts";
import { startTenantClusters, type TenantClusters } from "./testing/tenant-clusters.ts";

let clusters: TenantClusters;
let kubectl: KubectlSession;
beforeAll(async () => {
  clusters = await startTenantClusters();
  ({ kubectl } = await clusters.create("controlled", { workloads: "controlled" }));
});
afterAll(() => clusters?.[Symbol.asyncDispose]());

/** Gives the pods of a selector a status until a command of kubectl, which waits for it, has ended. */
async function asKubelet(selector: string, status: object, command: string): Promise<string> {
  let isOver = false;
  const waiting = kubectl.run(command).finally(() => {
    isOver = true;
  });
  const patch = JSON.stringify({ status });
  while (!isOver) {
    const pods = (await kubectl.json(`get pods -l ${selector}`)).items as any[];
    for (const { metadata } of pods.filter((pod) => pod.status.phase === "Pending"))
      await kubectl(["patch", "pod", metadata.name, "--subresource=status", "-p", patch]);
  }
  return await waiting;
}
const ready = () => ({
  phase: "Running",
  conditions: [{ type: "Ready", status: "True", lastTransitionTime: new Date().toISOString() }],
});

test("a Deployment rolls out, is changed, and comes back", async () => {
  await kubectl.run("create deployment web --image=nginx:1 --replicas=3");
  const status = "rollout status deployment/web --timeout=120s";
  expect(await asKubelet("app=web", ready(), status)).toContain('deployment "web" successfully rolled out');
  expect(await kubectl.run("get deployment web")).toMatch(/\nweb +3\/3 +3 +3 +/);
  await kubectl.run("set image deployment/web nginx=nginx:2");
  expect(await asKubelet("app=web", ready(), status)).toContain("successfully rolled out");
  expect(await kubectl.run("rollout history deployment/web")).toMatch(/\n1 +<none>\n2 +<none>\n/);
  await kubectl.run("rollout undo deployment/web");
  await asKubelet("app=web", ready(), status);
  expect(await kubectl.run("get deployment web -o jsonpath={.spec.template.spec.containers[0].image}")).toBe("nginx:1");
  expect(await kubectl.run("describe deployment web")).toMatch(/Progressing +True +NewReplicaSetAvailable/);
  await kubectl.run("delete deployment web --cascade=foreground");
  expect(await kubectl.run("get all -l app=web -o name")).toBe("");
});

test("a StatefulSet rolls out one pod after the other", async () => {
  const labels = { app: "db" };
  const template = { metadata: { labels }, spec: { containers: [{ name: "a", image: "i" }] } };
  const spec = { replicas: 2, serviceName: "db", selector: { matchLabels: labels }, template };
  await kubectl.run(
    "create -f -",
    JSON.stringify({ apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name: "db" }, spec }),
  );
  await asKubelet("app=db", ready(), "rollout status statefulset/db --timeout=120s");
  expect(await kubectl.run("get pods -l app=db -o name")).toBe("pod/db-0\npod/db-1\n");
});

test("a Job of a CronJob completes when its pod has succeeded", async () => {
  await kubectl.run("create cronjob nightly --image=busybox --schedule=@yearly");
  await kubectl.run("create job now --from=cronjob/nightly");
  await asKubelet("job-name=now", { phase: "Succeeded" }, "wait job/now --for=condition=Complete --timeout=120s");
  expect(await kubectl.run("get job now")).toMatch(/\nnow +Complete +1\/1 +/);
});

test("pods stay when the setting is taken back, and no Job holds them then", async () => {
  await kubectl.run("create deployment kept --image=nginx --replicas=2");
  await kubectl.run("create job held --image=busybox");
  const count = async (selector: string) => (await kubectl.json(`get pods -l ${selector}`)).items.length;
  await expect.poll(async () => [await count("app=kept"), await count("job-name=held")]).toEqual([2, 1]);
  const patch = JSON.stringify({ spec: { template: { workloads: "stored" } } });
  await clusters.admin.run(`patch virtualclusterinstance controlled -n p-default --type=merge -p ${patch}`);
  // The controllers stop within a few seconds: until then they make pods anew.
  await expect
    .poll(async () => {
      await kubectl.run("delete pods -l app=kept");
      return await count("app=kept");
    })
    .toBe(0);
  expect(await count("job-name=held")).toBe(1);
  await kubectl.run("delete job held");
  await expect.poll(() => count("job-name=held")).toBe(0);
});
