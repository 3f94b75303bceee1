// Deployments, ReplicaSets and ReplicationControllers of a cluster whose workloads are controlled, over its API.

import { describe, expect, test } from "vitest";
import { openClusterSurface } from "../../../testing/cluster-surface.ts";
import { controlledClient } from "../../../testing/controlled-client.ts";
import { useClusterSurface } from "../../../testing/use-cluster-surface.ts";

const cluster = useClusterSurface(undefined, { runsWorkloads: () => true });

const CORE = "/api/v1/namespaces/default";
const APPS = "/apis/apps/v1/namespaces/default";

const { send } = controlledClient(cluster);

const listed = async (path: string, app: string) =>
  (await send("GET", `${path}?labelSelector=app%3D${app}`)).items as any[];
const podsOf = (app: string) => listed(`${CORE}/pods`, app);
const setsOf = (app: string) => listed(`${APPS}/replicasets`, app);
const template = (app: string, image = "i:1") => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: "a", image }] },
});
const deploy = (app: string, spec: object) =>
  send("POST", `${APPS}/deployments`, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: app, labels: { app } },
    spec: { selector: { matchLabels: { app } }, template: template(app), ...spec },
  });
const change = (app: string, spec: object) => send("PATCH", `${APPS}/deployments/${app}`, { spec });
const deployment = (app: string) => send("GET", `${APPS}/deployments/${app}`);
const conditionOf = ({ status }: any, type: string) => status.conditions?.find((each: any) => each.type === type);

async function makeReady(app: string): Promise<number> {
  const waiting = (await podsOf(app)).filter((pod) => conditionOf(pod, "Ready")?.status !== "True");
  for (const { metadata } of waiting) {
    const conditions = [{ type: "Ready", status: "True", lastTransitionTime: new Date().toISOString() }];
    const pod = await cluster.send({ method: "GET", path: `${CORE}/pods/${metadata.name}` });
    if (pod.status !== 200) continue;
    const json = { ...pod.json, status: { ...pod.json.status, phase: "Running", conditions } };
    await cluster.send({ method: "PUT", path: `${CORE}/pods/${metadata.name}/status`, json });
  }
  for (let round = 0; round < 4; round++) await cluster.settled();
  return waiting.length;
}

async function finishRollout(app: string): Promise<void> {
  for (let round = 0; round < 20; round++) if ((await makeReady(app)) === 0) return;
  throw new Error("pods are replaced without an end");
}

describe("a Deployment", () => {
  test("makes a ReplicaSet, and that makes pods", async () => {
    await deploy("made", { replicas: 3 });
    const [set, ...others] = await setsOf("made");
    expect(others).toEqual([]);
    const hash = set.metadata.labels["pod-template-hash"];
    expect(set).toMatchObject({
      metadata: {
        name: `made-${hash}`,
        annotations: {
          "deployment.kubernetes.io/revision": "1",
          "deployment.kubernetes.io/desired-replicas": "3",
          "deployment.kubernetes.io/max-replicas": "4",
        },
        ownerReferences: [{ kind: "Deployment", name: "made", controller: true, blockOwnerDeletion: true }],
      },
      spec: { replicas: 3, selector: { matchLabels: { app: "made", "pod-template-hash": hash } } },
      status: { replicas: 3, fullyLabeledReplicas: 3, observedGeneration: 1 },
    });
    const pods = await podsOf("made");
    expect(pods).toHaveLength(3);
    for (const { metadata, status } of pods) {
      expect(metadata.name).toMatch(new RegExp(`^made-${hash}-[a-z0-9]{5}$`));
      expect(metadata.ownerReferences[0]).toMatchObject({ kind: "ReplicaSet", name: set.metadata.name });
      expect(status.phase).toBe("Pending");
    }
    const made = await deployment("made");
    expect(made.metadata.annotations).toMatchObject({ "deployment.kubernetes.io/revision": "1" });
    expect(made.status).toMatchObject({
      observedGeneration: 1,
      replicas: 3,
      updatedReplicas: 3,
      unavailableReplicas: 3,
    });
    expect(conditionOf(made, "Available")).toMatchObject({ status: "False", reason: "MinimumReplicasUnavailable" });
    expect(conditionOf(made, "Progressing")).toMatchObject({ status: "True", reason: "ReplicaSetUpdated" });
  });

  test("is complete when its pods are ready", async () => {
    await deploy("complete", { replicas: 2 });
    await finishRollout("complete");
    const { status } = await deployment("complete");
    expect(status).toMatchObject({ replicas: 2, readyReplicas: 2, availableReplicas: 2, updatedReplicas: 2 });
    expect(status.unavailableReplicas).toBeUndefined();
    expect(conditionOf({ status }, "Progressing")).toMatchObject({ status: "True", reason: "NewReplicaSetAvailable" });
    expect(conditionOf({ status }, "Available")).toMatchObject({ status: "True" });
  });

  test("replaces its pods a part at a time, and keeps as many available as it has to", async () => {
    await deploy("rolled", { replicas: 4 });
    await finishRollout("rolled");
    await change("rolled", { template: template("rolled", "i:2") });
    const sizes = async () =>
      Object.fromEntries(
        (await setsOf("rolled")).map((set) => [
          set.metadata.annotations["deployment.kubernetes.io/revision"],
          set.spec.replicas,
        ]),
      );
    expect(await sizes()).toEqual({ 1: 3, 2: 2 });
    await finishRollout("rolled");
    expect(await sizes()).toEqual({ 1: 0, 2: 4 });
    expect((await podsOf("rolled")).map((pod) => pod.spec.containers[0].image)).toEqual(Array(4).fill("i:2"));
    await change("rolled", { template: template("rolled") });
    await finishRollout("rolled");
    expect(await sizes()).toEqual({ 2: 0, 3: 4 });
    const [back] = (await setsOf("rolled")).filter((set) => set.spec.replicas === 4);
    expect(back.metadata.annotations).toMatchObject({ "deployment.kubernetes.io/revision-history": "1" });
    expect(back.spec.minReadySeconds).toBeUndefined();
  });

  // As Kubernetes' own suite has it, whose first ReplicaSet has a time in nanoseconds. A text that is no int64 stays, and counts as 0.
  test.each([
    ["3546343826724305832", "3546343826724305833"],
    ["1e3", "1"],
    ["9223372036854775807", undefined],
  ])("counts on from the revision %s", async (before, after) => {
    const app = `counted-${before.slice(0, 3)}`;
    await deploy(app, { replicas: 0, paused: true });
    await send("POST", `${APPS}/replicasets`, {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: { name: app, labels: { app }, annotations: { "deployment.kubernetes.io/revision": before } },
      spec: { replicas: 0, selector: { matchLabels: { app } }, template: template(app, "i:0") },
    });
    await change(app, { paused: false });
    const made = (await setsOf(app)).find(({ metadata }) => metadata.name !== app);
    expect(made.metadata.annotations["deployment.kubernetes.io/revision"]).toBe(after);
  });

  test("keeps as many old ReplicaSets as its history has room for", async () => {
    await deploy("history", { replicas: 1, revisionHistoryLimit: 1 });
    for (const image of ["i:2", "i:3", "i:4"]) {
      await finishRollout("history");
      await change("history", { template: template("history", image) });
    }
    await finishRollout("history");
    const revisions = (await setsOf("history")).map(
      (set) => set.metadata.annotations["deployment.kubernetes.io/revision"],
    );
    expect(revisions.toSorted()).toEqual(["3", "4"]);
  });

  test("with Recreate has no new pods before the old ones are gone", async () => {
    await deploy("anew", { replicas: 2, strategy: { type: "Recreate" } });
    const [{ metadata }] = await podsOf("anew");
    // A pod on a Node runs until its kubelet deletes it.
    await send("POST", "/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "anew" } });
    const target = { apiVersion: "v1", kind: "Node", name: "anew" };
    const binding = { apiVersion: "v1", kind: "Binding", metadata: { name: metadata.name }, target };
    await send("POST", `${CORE}/pods/${metadata.name}/binding`, binding);
    await change("anew", { template: template("anew", "i:2") });
    expect((await podsOf("anew")).map((pod) => pod.metadata.name)).toEqual([metadata.name]);
    await send("DELETE", `${CORE}/pods/${metadata.name}`, { gracePeriodSeconds: 0 });
    expect((await podsOf("anew")).map((pod) => pod.spec.containers[0].image)).toEqual(["i:2", "i:2"]);
  });

  test("that is paused is scaled, and makes no new ReplicaSet", async () => {
    await deploy("paused", { replicas: 1 });
    await change("paused", { paused: true, replicas: 3, template: template("paused", "i:2") });
    expect((await setsOf("paused")).map((set) => set.spec.replicas)).toEqual([3]);
    expect(conditionOf(await deployment("paused"), "Progressing")).toMatchObject({ reason: "DeploymentPaused" });
    await change("paused", { paused: false });
    expect(await setsOf("paused")).toHaveLength(2);
  });

  test("whose name of a ReplicaSet is taken counts a collision", async () => {
    await deploy("taken", { replicas: 1 });
    const [{ metadata, spec }] = await setsOf("taken");
    await cluster.send({ method: "DELETE", path: `${APPS}/deployments/taken?propagationPolicy=Background` });
    for (let round = 0; round < 4; round++) await cluster.settled();
    const { labels } = spec.template.metadata;
    await send("POST", `${APPS}/replicasets`, {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: { name: metadata.name },
      spec: {
        replicas: 0,
        selector: { matchLabels: { other: "x" } },
        template: { ...spec.template, metadata: { labels: { ...labels, other: "x" } } },
      },
    });
    await deploy("taken", { replicas: 1 });
    expect((await deployment("taken")).status).toMatchObject({ collisionCount: 1, updatedReplicas: 1 });
  });

  test("takes its ReplicaSets and pods with it", async () => {
    await deploy("gone", { replicas: 2 });
    await send("DELETE", `${APPS}/deployments/gone?propagationPolicy=Foreground`);
    expect([await setsOf("gone"), await podsOf("gone")]).toEqual([[], []]);
  });
});

describe("a ReplicaSet", () => {
  const make = (app: string, spec: object) =>
    send("POST", `${APPS}/replicasets`, {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: { name: app, labels: { app } },
      spec: { selector: { matchLabels: { app } }, template: template(app), ...spec },
    });
  const pod = (name: string, app: string) =>
    send("POST", `${CORE}/pods`, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, labels: { app } },
      spec: template(app).spec,
    });
  const setOf = (app: string) => send("GET", `${APPS}/replicasets/${app}`);

  test("adopts pods that it selects, and releases those that it no longer does", async () => {
    await pod("before", "adopts");
    await make("adopts", { replicas: 3 });
    await pod("after", "adopts");
    const names = async () => (await podsOf("adopts")).map(({ metadata }) => metadata.name);
    expect(await names()).toHaveLength(3);
    expect(await names()).toContain("before");
    await send("PATCH", `${CORE}/pods/before`, { metadata: { labels: { app: "other" } } });
    expect((await send("GET", `${CORE}/pods/before`)).metadata.ownerReferences).toBeUndefined();
    expect(await names()).toHaveLength(3);
  });

  test("deletes pods that are not ready before others", async () => {
    await make("fewer", { replicas: 3 });
    await makeReady("fewer");
    await send("PATCH", `${APPS}/replicasets/fewer`, { spec: { replicas: 4 } });
    const unready = (await podsOf("fewer")).filter((each) => conditionOf(each, "Ready") === undefined);
    expect(unready).toHaveLength(1);
    await send("PATCH", `${APPS}/replicasets/fewer`, { spec: { replicas: 3 } });
    expect((await podsOf("fewer")).map(({ metadata }) => metadata.name)).not.toContain(unready[0].metadata.name);
  });

  test("says why its pods are refused, until it has as many as it wants", async () => {
    await send("POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "small" } });
    const quota = {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "pods" },
      spec: { hard: { pods: "2" } },
    };
    await send("POST", "/api/v1/namespaces/small/resourcequotas", quota);
    const path = "/apis/apps/v1/namespaces/small/replicasets";
    await send("POST", path, {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: { name: "big" },
      spec: { replicas: 3, selector: { matchLabels: { app: "big" } }, template: template("big") },
    });
    const failed = await send("GET", `${path}/big`);
    expect(failed.status.replicas).toBe(2);
    expect(conditionOf(failed, "ReplicaFailure")).toMatchObject({ status: "True", reason: "FailedCreate" });
    expect(conditionOf(failed, "ReplicaFailure").message).toContain("exceeded quota: pods");
    await send("PATCH", `${path}/big`, { spec: { replicas: 2 } });
    expect(conditionOf(await send("GET", `${path}/big`), "ReplicaFailure")).toBeUndefined();
  });

  test("and another with the same selector leave each other's pods alone", async () => {
    await make("same", { replicas: 2 });
    await send("POST", `${APPS}/replicasets`, {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: { name: "same-too" },
      spec: { replicas: 3, selector: { matchLabels: { app: "same" } }, template: template("same") },
    });
    const pods = await podsOf("same");
    expect(pods).toHaveLength(5);
    const { resourceVersion } = (await setOf("same")).metadata;
    for (let round = 0; round < 5; round++) await cluster.settled();
    expect((await setOf("same")).metadata.resourceVersion).toBe(resourceVersion);
  });
});

test("a ReplicationController keeps pods, and orphans them unless it is asked not to", async () => {
  await send("POST", `${CORE}/replicationcontrollers`, {
    apiVersion: "v1",
    kind: "ReplicationController",
    metadata: { name: "rc" },
    spec: { replicas: 2, selector: { app: "rc" }, template: template("rc") },
  });
  await makeReady("rc");
  expect((await send("GET", `${CORE}/replicationcontrollers/rc`)).status).toMatchObject({
    replicas: 2,
    readyReplicas: 2,
  });
  await send("DELETE", `${CORE}/replicationcontrollers/rc`);
  const pods = await podsOf("rc");
  expect(pods).toHaveLength(2);
  expect(pods.map(({ metadata }) => metadata.ownerReferences)).toEqual([undefined, undefined]);
});

test("without the setting nothing makes pods, and with it what is there is taken up", async () => {
  let isOn = false;
  await using later = await openClusterSurface(undefined, { runsWorkloads: () => isOn });
  const post = (path: string, json: object) => later.send({ method: "POST", path, json });
  const spec = { replicas: 1, selector: { matchLabels: { app: "late" } }, template: template("late") };
  await post(`${APPS}/deployments`, { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "late" }, spec });
  await later.settled();
  const count = async () => (await later.send({ method: "GET", path: `${CORE}/pods` })).json.items.length;
  expect(await count()).toBe(0);
  isOn = true;
  await expect.poll(count, { timeout: 20_000 }).toBe(1);
});
