// The status of PodDisruptionBudgets.

import { expect, test } from "vitest";
import { useClusterSurface } from "../../testing/use-cluster-surface.ts";

const cluster = useClusterSurface();

const BASE = "/api/v1/namespaces/default";
const APPS = "/apis/apps/v1/namespaces/default/replicasets";
const BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

async function send(method: string, path: string, json?: object) {
  const answer = await cluster.send({ method, path, ...(json === undefined ? {} : { json }) });
  await cluster.settled();
  return answer.json;
}

const pod = async (name: string, app: string, isReady: boolean, owner?: object) => {
  const metadata = { name, labels: { app }, ...(owner === undefined ? {} : { ownerReferences: [owner] }) };
  const spec = { containers: [{ name: "a", image: "i" }] };
  const made = await send("POST", `${BASE}/pods`, { apiVersion: "v1", kind: "Pod", metadata, spec });
  const conditions = [{ type: "Ready", status: isReady ? "True" : "False" }];
  await send("PUT", `${BASE}/pods/${name}/status`, { ...made, status: { ...made.status, conditions } });
};

const budget = (app: string, spec: object) =>
  send("POST", BUDGETS, {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: app },
    spec: { selector: { matchLabels: { app } }, ...spec },
  });
const statusOf = async (app: string) => (await send("GET", `${BUDGETS}/${app}`)).status;

test("without pods nothing may go, and the budget has been observed", async () => {
  await budget("none", { minAvailable: 1 });
  expect(await statusOf("none")).toMatchObject({
    observedGeneration: 1,
    expectedPods: 0,
    currentHealthy: 0,
    desiredHealthy: 1,
    disruptionsAllowed: 0,
    conditions: [{ type: "DisruptionAllowed", status: "False", reason: "InsufficientPods", observedGeneration: 1 }],
  });
});

test("healthy pods beyond those that have to stay may go", async () => {
  await budget("web", { minAvailable: 1 });
  await pod("web-1", "web", true);
  await pod("web-2", "web", true);
  await pod("web-3", "web", false);
  expect(await statusOf("web")).toMatchObject({
    expectedPods: 3,
    currentHealthy: 2,
    desiredHealthy: 1,
    disruptionsAllowed: 1,
    conditions: [{ status: "True", reason: "SufficientPods" }],
  });
  await send("DELETE", `${BASE}/pods/web-1`);
  expect(await statusOf("web")).toMatchObject({ expectedPods: 2, currentHealthy: 1, disruptionsAllowed: 0 });
});

test("shares are of the replicas that the owners of the pods want", async () => {
  const { metadata } = await send("POST", APPS, {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { name: "db" },
    spec: {
      replicas: 10,
      selector: { matchLabels: { app: "db" } },
      template: { metadata: { labels: { app: "db" } }, spec: { containers: [{ name: "a", image: "i" }] } },
    },
  });
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "db", uid: metadata.uid, controller: true };
  await budget("db", { maxUnavailable: "25%" });
  for (let at = 0; at < 8; at++) await pod(`db-${at}`, "db", true, owner);
  expect(await statusOf("db")).toMatchObject({
    expectedPods: 10,
    currentHealthy: 8,
    desiredHealthy: 7,
    disruptionsAllowed: 1,
  });
});

test("a Deployment counts once, however many ReplicaSets its pods are of", async () => {
  const template = { metadata: { labels: { app: "two" } }, spec: { containers: [{ name: "a", image: "i" }] } };
  const spec = { replicas: 4, selector: { matchLabels: { app: "two" } }, template };
  const apps = "/apis/apps/v1/namespaces/default";
  const made = await send("POST", `${apps}/deployments`, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "two" },
    spec,
  });
  const above = { apiVersion: "apps/v1", kind: "Deployment", name: "two", uid: made.metadata.uid, controller: true };
  await budget("two", { maxUnavailable: 1 });
  for (const name of ["two-a", "two-b"]) {
    const { metadata } = await send("POST", APPS, {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: { name, ownerReferences: [above] },
      spec: { ...spec, replicas: 3 },
    });
    const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name, uid: metadata.uid, controller: true };
    await pod(`${name}-0`, "two", true, owner);
  }
  expect(await statusOf("two")).toMatchObject({ expectedPods: 4, desiredHealthy: 3, currentHealthy: 2 });
});
