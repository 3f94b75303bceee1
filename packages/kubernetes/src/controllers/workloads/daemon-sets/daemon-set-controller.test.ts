// DaemonSets of a cluster whose workloads are controlled, with Nodes that a client writes. kube-controller-manager 1.36.2 met the same expectations.

import { afterEach, describe, expect, test } from "vitest";
import { controlledClient } from "../../../testing/controlled-client.ts";
import { useClusterSurface } from "../../../testing/use-cluster-surface.ts";

const cluster = useClusterSurface(undefined, { runsWorkloads: () => true });

const CORE = "/api/v1/namespaces/default";
const APPS = "/apis/apps/v1/namespaces/default";
const NODES = "/api/v1/nodes";

const { send, settled } = controlledClient(cluster);
const template = (app: string, spec: object = {}, image = "i:1") => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: "a", image }], ...spec },
});
const make = (app: string, spec: object = {}) =>
  send("POST", `${APPS}/daemonsets`, {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: app },
    spec: { selector: { matchLabels: { app } }, template: template(app), ...spec },
  });
const change = (app: string, spec: object) => send("PATCH", `${APPS}/daemonsets/${app}`, { spec });
const setOf = (app: string) => send("GET", `${APPS}/daemonsets/${app}`);
const podsOf = async (app: string) => (await send("GET", `${CORE}/pods?labelSelector=app%3D${app}`)).items as any[];
const targetOf = ({ spec }: any) =>
  spec.nodeName ??
  spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0]
    .values[0];
/** `Node image`, in order. */
const placesOf = async (app: string) =>
  (await podsOf(app)).map((pod) => `${targetOf(pod)} ${pod.spec.containers[0].image}`).toSorted();
const eventsOf = async (app: string) =>
  ((await send("GET", `${CORE}/events`)).items as any[])
    .filter(({ involvedObject }) => involvedObject.name === app)
    .map(({ reason }) => reason);
const revisionsOf = async (app: string) =>
  ((await send("GET", `${APPS}/controllerrevisions?labelSelector=app%3D${app}`)).items as any[]).toSorted(
    (a, b) => a.revision - b.revision,
  );
const addNode = (name: string, labels: object = {}, taints: readonly object[] = []) =>
  send("POST", NODES, { apiVersion: "v1", kind: "Node", metadata: { name, labels }, spec: { taints } });
const taint = (name: string, taints: readonly object[]) => send("PATCH", `${NODES}/${name}`, { spec: { taints } });

const conditions = (status = "True") => [{ type: "Ready", status, lastTransitionTime: new Date().toISOString() }];
const writeStatus = (pod: any, phase: string, ready = "True") =>
  send("PATCH", `${CORE}/pods/${pod.metadata.name}/status`, { status: { phase, conditions: conditions(ready) } });
/** As a scheduler and kubelets would. Returns how many pods were waiting. */
async function run(app: string): Promise<number> {
  const waiting = (await podsOf(app)).filter(({ status }) => status.phase === "Pending");
  for (const pod of waiting) {
    const target = { apiVersion: "v1", kind: "Node", name: targetOf(pod) };
    if (pod.spec.nodeName === undefined)
      await send("POST", `${CORE}/pods/${pod.metadata.name}/binding`, {
        ...{ apiVersion: "v1", kind: "Binding", metadata: { name: pod.metadata.name } },
        target,
      });
    await writeStatus(pod, "Running");
  }
  return waiting.length;
}
const finishDeletions = async (app: string) => {
  for (const { metadata } of await podsOf(app))
    if (metadata.deletionTimestamp !== undefined)
      await send("DELETE", `${CORE}/pods/${metadata.name}`, { gracePeriodSeconds: 0 });
};
const NONE = { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 };

afterEach(async () => {
  for (const [path, plain] of [
    [`${APPS}/daemonsets`, true],
    [`${CORE}/pods`, false],
    [NODES, true],
  ] as const)
    for (const { metadata } of (await send("GET", path)).items as any[])
      await send("DELETE", `${path}/${metadata.name}`, plain ? undefined : { gracePeriodSeconds: 0 });
});

test("has revisions and a status, and no pods where there are no Nodes", async () => {
  await make("agent");
  await change("agent", { template: template("agent", {}, "i:2") });
  expect((await setOf("agent")).status).toEqual({ ...NONE, observedGeneration: 2 });
  expect((await revisionsOf("agent")).map(({ revision }) => revision)).toEqual([1, 2]);
  expect(await podsOf("agent")).toEqual([]);
});

test("a revision has the members of the template in the order in which Go writes them, for kubectl compares the bytes", async () => {
  await make("ordered");
  const [{ data }] = await revisionsOf("ordered");
  expect(JSON.stringify(data)).toBe(
    '{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"ordered"}},"spec":{"containers":[{"image":"i:1","imagePullPolicy":"IfNotPresent","name":"a","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],"dnsPolicy":"ClusterFirst","restartPolicy":"Always","schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":30}}}}',
  );
});

describe("on each Node", () => {
  test("makes a pod that fits no other, and counts those that run", async () => {
    await addNode("n1");
    await make("each");
    await addNode("n2");
    expect(await placesOf("each")).toEqual(["n1 i:1", "n2 i:1"]);
    const [revision] = await revisionsOf("each");
    const [pod] = await podsOf("each");
    expect(pod.metadata).toMatchObject({
      generateName: "each-",
      labels: {
        app: "each",
        "controller-revision-hash": revision.metadata.labels["controller-revision-hash"],
        "pod-template-generation": "1",
      },
      ownerReferences: [{ kind: "DaemonSet", name: "each", controller: true, blockOwnerDeletion: true }],
    });
    expect(pod.spec.tolerations.map(({ key, effect }: any) => `${key}:${effect}`)).toEqual([
      "node.kubernetes.io/not-ready:NoExecute",
      "node.kubernetes.io/unreachable:NoExecute",
      "node.kubernetes.io/disk-pressure:NoSchedule",
      "node.kubernetes.io/memory-pressure:NoSchedule",
      "node.kubernetes.io/pid-pressure:NoSchedule",
      "node.kubernetes.io/unschedulable:NoSchedule",
    ]);
    const scheduled = { ...NONE, currentNumberScheduled: 2, desiredNumberScheduled: 2, updatedNumberScheduled: 2 };
    expect((await setOf("each")).status).toEqual({ ...scheduled, numberUnavailable: 2, observedGeneration: 1 });
    await run("each");
    expect((await setOf("each")).status).toEqual({
      ...scheduled,
      numberReady: 2,
      numberAvailable: 2,
      observedGeneration: 1,
    });
    expect(await eventsOf("each")).toEqual(["SuccessfulCreate", "SuccessfulCreate"]);
  });

  test("follows labels, and leaves Nodes that no longer match", async () => {
    await addNode("n1", { disk: "ssd" });
    await addNode("n2");
    await make("ssd", { template: template("ssd", { nodeSelector: { disk: "ssd" } }) });
    expect(await placesOf("ssd")).toEqual(["n1 i:1"]);
    await send("PATCH", `${NODES}/n2`, { metadata: { labels: { disk: "ssd" } } });
    await send("PATCH", `${NODES}/n1`, { metadata: { labels: { disk: "hdd" } } });
    await finishDeletions("ssd");
    expect(await placesOf("ssd")).toEqual(["n2 i:1"]);
    expect((await setOf("ssd")).status).toMatchObject({ desiredNumberScheduled: 1, currentNumberScheduled: 1 });
  });

  test("stays on a Node that only refuses new pods, and leaves one that executes", async () => {
    await addNode("n1");
    await make("tainted");
    await run("tainted");
    await taint("n1", [{ key: "a", effect: "NoSchedule" }]);
    expect(await placesOf("tainted")).toEqual(["n1 i:1"]);
    expect((await setOf("tainted")).status).toMatchObject({ desiredNumberScheduled: 0, numberMisscheduled: 1 });
    await taint("n1", [{ key: "a", effect: "NoExecute" }]);
    await finishDeletions("tainted");
    expect(await placesOf("tainted")).toEqual([]);
    expect((await setOf("tainted")).status).toEqual({ ...NONE, observedGeneration: 1 });
    await change("tainted", { template: template("tainted", { tolerations: [{ key: "a", operator: "Exists" }] }) });
    expect(await placesOf("tainted")).toEqual(["n1 i:1"]);
  });

  test("pods that nothing has bound go with their Node", async () => {
    await addNode("n1");
    await make("unbound");
    await send("DELETE", `${NODES}/n1`);
    await finishDeletions("unbound");
    expect(await podsOf("unbound")).toEqual([]);
    expect((await setOf("unbound")).status).toEqual({ ...NONE, observedGeneration: 1 });
  });
});

describe("pods that have ended", () => {
  test("are replaced: a failed one at once, and the next one later", async () => {
    await addNode("n1");
    await make("failing");
    const fail = async () => {
      await run("failing");
      const [pod] = await podsOf("failing");
      await writeStatus(pod, "Failed", "False");
      await finishDeletions("failing");
      return pod.metadata.uid;
    };
    const first = await fail();
    const [second] = await podsOf("failing");
    expect(second.metadata.uid).not.toBe(first);
    expect(await fail()).toBe(second.metadata.uid);
    expect((await podsOf("failing")).map(({ metadata }) => metadata.uid)).toEqual([second.metadata.uid]);
    expect(await eventsOf("failing")).toContain("FailedDaemonPod");
  });

  test("a succeeded one is replaced", async () => {
    await addNode("n1");
    await make("done");
    const [pod] = await podsOf("done");
    await run("done");
    await writeStatus(pod, "Succeeded", "False");
    await finishDeletions("done");
    expect((await podsOf("done")).map(({ metadata }) => metadata.uid)).not.toContain(pod.metadata.uid);
    expect(await podsOf("done")).toHaveLength(1);
    expect(await eventsOf("done")).toContain("SucceededDaemonPod");
  });
});

describe("a new template", () => {
  const threeNodes = async () => {
    for (const name of ["n1", "n2", "n3"]) await addNode(name);
  };
  const update = (app: string) => change(app, { template: template(app, {}, "i:2") });

  test("replaces one pod after the other, as many at a time as may be unavailable", async () => {
    await threeNodes();
    await make("rolling");
    await run("rolling");
    await update("rolling");
    await finishDeletions("rolling");
    expect(await placesOf("rolling")).toEqual(["n1 i:2", "n2 i:1", "n3 i:1"]);
    expect((await setOf("rolling")).status).toMatchObject({ updatedNumberScheduled: 1, numberAvailable: 2 });
    await change("rolling", { updateStrategy: { rollingUpdate: { maxUnavailable: "100%" } } });
    await finishDeletions("rolling");
    expect(await placesOf("rolling")).toEqual(["n1 i:2", "n2 i:2", "n3 i:2"]);
  });

  test("comes beside the old pod where it may, which goes once it is available", async () => {
    await threeNodes();
    await make("surging", { updateStrategy: { rollingUpdate: { maxSurge: 2, maxUnavailable: 0 } } });
    await run("surging");
    await update("surging");
    expect(await placesOf("surging")).toEqual(["n1 i:1", "n1 i:2", "n2 i:1", "n2 i:2", "n3 i:1"]);
    for (let round = 0; round < 4; round++) {
      await run("surging");
      await finishDeletions("surging");
    }
    expect(await placesOf("surging")).toEqual(["n1 i:2", "n2 i:2", "n3 i:2"]);
  });

  test("waits until pods are deleted, with OnDelete", async () => {
    await threeNodes();
    await make("manual", { updateStrategy: { type: "OnDelete" } });
    await run("manual");
    await update("manual");
    expect(await placesOf("manual")).toEqual(["n1 i:1", "n2 i:1", "n3 i:1"]);
    const [pod] = (await podsOf("manual")).filter(({ spec }) => spec.nodeName === "n2");
    await send("DELETE", `${CORE}/pods/${pod.metadata.name}`, { gracePeriodSeconds: 0 });
    expect(await placesOf("manual")).toEqual(["n1 i:1", "n2 i:2", "n3 i:1"]);
  });

  test("gets its former revision and hash back when it is rolled back", async () => {
    await addNode("n1");
    await make("back");
    const [{ metadata: first }] = await revisionsOf("back");
    await update("back");
    await change("back", { template: template("back") });
    await finishDeletions("back");
    const revisions = await revisionsOf("back");
    expect(revisions.map(({ revision }) => revision)).toEqual([2, 3]);
    expect(revisions[1].metadata.uid).toBe(first.uid);
    expect((await podsOf("back")).map(({ metadata }) => metadata.labels["controller-revision-hash"])).toEqual([
      first.labels["controller-revision-hash"],
    ]);
  });

  test("gets another hash where its name is taken", async () => {
    await make("taken");
    const [revision] = await revisionsOf("taken");
    await send("DELETE", `${APPS}/daemonsets/taken?propagationPolicy=Orphan`);
    const { name } = revision.metadata;
    const labels = { other: "yes" };
    await send("DELETE", `${APPS}/controllerrevisions/${name}`);
    await send("POST", `${APPS}/controllerrevisions`, {
      ...{ apiVersion: "apps/v1", kind: "ControllerRevision", metadata: { name, labels } },
      data: {},
      revision: 1,
    });
    await make("taken");
    await expect.poll(async () => (await setOf("taken")).status.collisionCount, { timeout: 10_000 }).toBe(1);
    await expect.poll(async () => (await revisionsOf("taken")).length, { timeout: 10_000 }).toBe(1);
  });
});

test("adopts pods and revisions that an orphaning deletion left", async () => {
  await addNode("n1");
  await make("left");
  await run("left");
  const ids = async () =>
    [...(await podsOf("left")), ...(await revisionsOf("left"))].map(({ metadata }) => metadata.uid).toSorted();
  const before = await ids();
  await send("DELETE", `${APPS}/daemonsets/left?propagationPolicy=Orphan`);
  await settled();
  const { metadata } = await make("left");
  expect(await ids()).toEqual(before);
  for (const object of [...(await podsOf("left")), ...(await revisionsOf("left"))])
    expect(object.metadata.ownerReferences).toMatchObject([{ uid: metadata.uid, controller: true }]);
});

test("keeps the oldest of several pods on one Node, and takes no part in a deletion", async () => {
  await addNode("n1");
  await make("double");
  await run("double");
  const [{ metadata, spec }] = await podsOf("double");
  await send("POST", `${CORE}/pods`, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "zz", labels: metadata.labels },
    spec: { containers: spec.containers, nodeName: "n1" },
  });
  await finishDeletions("double");
  expect((await podsOf("double")).map((pod) => pod.metadata.name)).toEqual([metadata.name]);
});
