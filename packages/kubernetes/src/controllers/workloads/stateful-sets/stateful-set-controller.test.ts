// StatefulSets of a cluster whose workloads are controlled, with their ControllerRevisions.

import { describe, expect, test } from "vitest";
import { controlledClient } from "../../../testing/controlled-client.ts";
import { useClusterSurface } from "../../../testing/use-cluster-surface.ts";

const cluster = useClusterSurface(undefined, { runsWorkloads: () => true });

const CORE = "/api/v1/namespaces/default";
const APPS = "/apis/apps/v1/namespaces/default";

const { send, settled } = controlledClient(cluster);
const template = (app: string, image = "i:1") => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: "a", image }] },
});
const make = (app: string, spec: object) =>
  send("POST", `${APPS}/statefulsets`, {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: app },
    spec: { selector: { matchLabels: { app } }, template: template(app), ...spec },
  });
const change = (app: string, spec: object) => send("PATCH", `${APPS}/statefulsets/${app}`, { spec });
const setOf = (app: string) => send("GET", `${APPS}/statefulsets/${app}`);
const podsOf = async (app: string) => (await send("GET", `${CORE}/pods?labelSelector=app%3D${app}`)).items as any[];
const namesOf = async (app: string) => (await podsOf(app)).map(({ metadata }) => metadata.name);
const imagesOf = async (app: string) =>
  Object.fromEntries((await podsOf(app)).map(({ metadata, spec }) => [metadata.name, spec.containers[0].image]));
const revisionsOf = async (app: string) =>
  ((await send("GET", `${APPS}/controllerrevisions?labelSelector=app%3D${app}`)).items as any[]).toSorted(
    (a, b) => a.revision - b.revision,
  );

/** Returns how many were not ready. */
async function makeReady(app: string): Promise<number> {
  const waiting = (await podsOf(app)).filter(({ status }) => status.phase !== "Running");
  const conditions = [{ type: "Ready", status: "True", lastTransitionTime: new Date().toISOString() }];
  for (const pod of waiting)
    await send("PUT", `${CORE}/pods/${pod.metadata.name}/status`, {
      ...pod,
      status: { ...pod.status, phase: "Running", conditions },
    });
  return waiting.length;
}
async function finish(app: string): Promise<void> {
  for (let round = 0; round < 20; round++) if ((await makeReady(app)) === 0) return;
  throw new Error("pods are replaced without an end");
}

describe("a StatefulSet", () => {
  test("makes one pod after the other, each with a number and its claims", async () => {
    const claim = {
      metadata: { name: "data" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    };
    await make("db", { serviceName: "db", replicas: 3, volumeClaimTemplates: [claim] });
    const [pod, ...others] = await podsOf("db");
    expect(others).toEqual([]);
    const [{ metadata: revision }] = await revisionsOf("db");
    expect(pod).toMatchObject({
      metadata: {
        name: "db-0",
        labels: {
          "statefulset.kubernetes.io/pod-name": "db-0",
          "apps.kubernetes.io/pod-index": "0",
          "controller-revision-hash": revision.name,
        },
        ownerReferences: [{ kind: "StatefulSet", name: "db", controller: true }],
      },
      spec: {
        hostname: "db-0",
        subdomain: "db",
        volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data-db-0" } }],
      },
    });
    expect((await send("GET", `${CORE}/persistentvolumeclaims/data-db-0`)).metadata.labels).toEqual({ app: "db" });
    expect((await setOf("db")).status).toEqual({
      observedGeneration: 1,
      replicas: 1,
      availableReplicas: 0,
      currentReplicas: 1,
      updatedReplicas: 1,
      currentRevision: revision.name,
      updateRevision: revision.name,
      collisionCount: 0,
    });
    await finish("db");
    expect(await namesOf("db")).toEqual(["db-0", "db-1", "db-2"]);
    expect((await setOf("db")).status).toMatchObject({ readyReplicas: 3, availableReplicas: 3, currentReplicas: 3 });
  });

  test("counts on from a revision that no number of JavaScript has", async () => {
    await make("counted", { replicas: 1 });
    const [{ metadata }] = await revisionsOf("counted");
    const path = `${APPS}/controllerrevisions/${metadata.name}`;
    const [text, contentType] = ['{"revision":9007199254740993}', "application/merge-patch+json"];
    expect((await cluster.send({ method: "PATCH", path, text, contentType })).status).toBe(200);
    await change("counted", { template: template("counted", "i:2") });
    expect((await revisionsOf("counted")).map(({ revision }) => revision)).toContain(9_007_199_254_740_994);
  });

  test("replaces its pods from the last to the first", async () => {
    await make("roll", { replicas: 3 });
    await finish("roll");
    await change("roll", { template: template("roll", "i:2") });
    expect(await imagesOf("roll")).toEqual({ "roll-0": "i:1", "roll-1": "i:1", "roll-2": "i:2" });
    const [old, next] = await revisionsOf("roll");
    expect((await setOf("roll")).status).toMatchObject({
      currentRevision: old.metadata.name,
      updateRevision: next.metadata.name,
      currentReplicas: 2,
      updatedReplicas: 1,
    });
    await finish("roll");
    expect(Object.values(await imagesOf("roll"))).toEqual(["i:2", "i:2", "i:2"]);
    expect((await setOf("roll")).status).toMatchObject({ currentRevision: next.metadata.name, currentReplicas: 3 });
    await change("roll", { template: template("roll") });
    expect((await revisionsOf("roll")).map(({ metadata, revision }) => [metadata.name, revision])).toEqual([
      [next.metadata.name, 2],
      [old.metadata.name, 3],
    ]);
  });

  test("leaves pods below the partition as they are, also when they are made anew", async () => {
    await make("part", { replicas: 2, updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 1 } } });
    await finish("part");
    await change("part", { template: template("part", "i:2") });
    await finish("part");
    await send("DELETE", `${CORE}/pods/part-0`);
    await finish("part");
    expect(await imagesOf("part")).toEqual({ "part-0": "i:1", "part-1": "i:2" });
  });

  test("with OnDelete replaces what a client deletes", async () => {
    await make("manual", { replicas: 2, updateStrategy: { type: "OnDelete" } });
    await finish("manual");
    await change("manual", { template: template("manual", "i:2") });
    expect(Object.values(await imagesOf("manual"))).toEqual(["i:1", "i:1"]);
    await send("DELETE", `${CORE}/pods/manual-0`);
    expect((await imagesOf("manual"))["manual-0"]).toBe("i:2");
  });

  test("deletes the last pod first", async () => {
    await make("fewer", { replicas: 3 });
    await finish("fewer");
    await change("fewer", { replicas: 1 });
    expect(await namesOf("fewer")).toEqual(["fewer-0"]);
  });

  test("that is parallel makes and deletes all at once", async () => {
    await make("all", { replicas: 3, podManagementPolicy: "Parallel", ordinals: { start: 5 } });
    expect(await namesOf("all")).toEqual(["all-5", "all-6", "all-7"]);
    await change("all", { replicas: 0 });
    expect(await namesOf("all")).toEqual([]);
  });

  test("makes a pod that has ended anew", async () => {
    await make("again", { replicas: 1 });
    const [pod] = await podsOf("again");
    await send("PUT", `${CORE}/pods/again-0/status`, { ...pod, status: { ...pod.status, phase: "Failed" } });
    const [next] = await podsOf("again");
    expect(next.metadata.uid).not.toBe(pod.metadata.uid);
    expect(next.status.phase).toBe("Pending");
  });

  test("whose pod has a name that is taken waits, and says why", async () => {
    await send("POST", `${CORE}/pods`, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "named-0" },
      spec: template("x").spec,
    });
    await make("named", { replicas: 1 });
    expect(await namesOf("named")).toEqual([]);
    const failures = async () =>
      ((await send("GET", `${CORE}/events`)).items as any[]).filter(
        ({ involvedObject, reason }) => involvedObject.name === "named" && reason === "FailedCreate",
      );
    await expect.poll(async () => (await failures())[0]?.message).toContain("already exists");
    expect((await failures()).length).toBeLessThan(8);
  });

  test("keeps as many revisions as its history has room for", async () => {
    await make("kept", { replicas: 0, revisionHistoryLimit: 1 });
    for (const image of ["i:2", "i:3", "i:4"]) await change("kept", { template: template("kept", image) });
    await settled();
    expect((await revisionsOf("kept")).length).toBeLessThanOrEqual(3);
  });
});
