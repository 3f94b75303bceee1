// Bounds of the controllers of workloads: what a tenant can make them do.

import { CachedObject } from "@postern/apiserver/cache/cached-object";
import { describe, expect, test, vi } from "vitest";
import { openClusterSurface } from "../../testing/cluster-surface.ts";
import { controlledClient } from "../../testing/controlled-client.ts";
import { createAllowance } from "./allowance.ts";
import { createCreationBackoff } from "./creation-backoff.ts";
import { byDeletion, firstOf, type PodState } from "./pod-state.ts";

/** A clock that stands still until a test moves it. */
const standing = () => {
  let now = 0;
  return {
    elapsed: () => now,
    pass(ms: number) {
      now += ms;
    },
  };
};

describe("an allowance", () => {
  test("is full at first, and fills steadily", () => {
    const clock = standing();
    const allowance = createAllowance(clock, { perSecond: 10, burst: 5 });
    expect([allowance.take(3), allowance.take(3), allowance.take(1)]).toEqual([3, 2, 0]);
    expect(allowance.delayMs()).toBe(100);
    clock.pass(250);
    expect([allowance.delayMs(), allowance.take(9)]).toEqual([0, 2]);
    clock.pass(60_000);
    expect(allowance.take(100)).toBe(5);
  });

  test("gives those that wait one turn after the other", () => {
    const clock = standing();
    const allowance = createAllowance(clock, { perSecond: 10, burst: 5 });
    expect(allowance.turnMs()).toBe(0);
    allowance.take(5);
    expect([allowance.turnMs(), allowance.turnMs(), allowance.turnMs()]).toEqual([100, 200, 300]);
    clock.pass(50);
    expect([allowance.delayMs(), allowance.turnMs()]).toEqual([50, 350]);
    for (let count = 0; count < 1_000; count++) allowance.turnMs();
    expect(allowance.turnMs()).toBe(5_000);
    clock.pass(100);
    expect(allowance.turnMs()).toBe(0);
  });

  test("owes what was spent beyond it", () => {
    const clock = standing();
    const allowance = createAllowance(clock, { perSecond: 10, burst: 5 });
    allowance.spend(25);
    expect([allowance.delayMs(), allowance.take(1)]).toEqual([2_100, 0]);
    clock.pass(2_100);
    expect(allowance.take(9)).toBe(1);
  });
});

test("an owner whose pods are refused waits twice as long each time, until its spec changes", () => {
  const clock = standing();
  const backoff = createCreationBackoff(clock);
  const delays: number[] = [];
  for (let count = 0; count < 11; count++) {
    backoff.failed("a", 1);
    delays.push(backoff.delayMs("a", 1));
    clock.pass(backoff.delayMs("a", 1));
    expect(backoff.delayMs("a", 1)).toBe(0);
  }
  expect(delays.slice(0, 4)).toEqual([1_000, 2_000, 4_000, 8_000]);
  expect(delays.at(-1)).toBe(300_000);
  backoff.failed("a", 1);
  expect([backoff.delayMs("a", 2), backoff.delayMs("b", 1)]).toEqual([0, 0]);
  backoff.succeeded("a");
  expect(backoff.delayMs("a", 1)).toBe(0);
});

const CORE = "/api/v1/namespaces/default";
const APPS = "/apis/apps/v1/namespaces/default";
const template = (app: string) => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: "a", image: "i" }] },
});

async function openCluster() {
  const cluster = await openClusterSurface(undefined, { runsWorkloads: () => true });
  const { send } = controlledClient(cluster);
  return { send, [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose]() };
}

test("a million replicas are pods of which the cluster makes a few hundred, and then some each second", async () => {
  await using cluster = await openCluster();
  const spec = { replicas: 1_000_000, selector: { matchLabels: { app: "many" } }, template: template("many") };
  const object = { apiVersion: "apps/v1", kind: "ReplicaSet", metadata: { name: "many" }, spec };
  await cluster.send("POST", `${APPS}/replicasets`, object);
  const { replicas } = (await cluster.send("GET", `${APPS}/replicasets/many`)).status;
  expect(replicas).toBeGreaterThan(99);
  await cluster.send("PATCH", `${APPS}/replicasets/many`, { spec: { replicas: 0 } });
  // 500 at once, and 50 a second: on a machine of any speed less than the tenant asked for.
  expect((await cluster.send("GET", `${APPS}/replicasets/many`)).status.replicas).toBeLessThan(10_000);
});

test("a policy that changes each new ReplicaSet leads to one of them", async () => {
  await using cluster = await openCluster();
  const admission = "/apis/admissionregistration.k8s.io/v1";
  const rules = [{ apiGroups: ["apps"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["replicasets"] }];
  const expression =
    'Object{spec: Object.spec{template: Object.spec.template{metadata: Object.spec.template.metadata{annotations: {"seen": "yes"}}}}}';
  await cluster.send("POST", `${admission}/mutatingadmissionpolicies`, {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingAdmissionPolicy",
    metadata: { name: "seen" },
    spec: {
      matchConstraints: { resourceRules: rules },
      reinvocationPolicy: "Never",
      mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: { expression } }],
    },
  });
  await cluster.send("POST", `${admission}/mutatingadmissionpolicybindings`, {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingAdmissionPolicyBinding",
    metadata: { name: "seen" },
    spec: { policyName: "seen" },
  });
  const spec = { replicas: 2, selector: { matchLabels: { app: "changed" } }, template: template("changed") };
  await cluster.send("POST", `${APPS}/deployments`, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "changed" },
    spec,
  });
  const sets = (await cluster.send("GET", `${APPS}/replicasets`)).items as any[];
  expect(sets).toHaveLength(1);
  expect(sets[0].spec.template.metadata.annotations).toEqual({ seen: "yes" });
  expect((await cluster.send("GET", `${APPS}/deployments/changed`)).status).toMatchObject({ updatedReplicas: 2 });
});

test("a Deployment whose ReplicaSets are refused says so, and does not write meanwhile", async () => {
  await using cluster = await openCluster();
  const hard = { "count/replicasets.apps": "0" };
  await cluster.send("POST", `${CORE}/resourcequotas`, {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { name: "none" },
    spec: { hard },
  });
  const spec = { selector: { matchLabels: { app: "refused" } }, template: template("refused") };
  await cluster.send("POST", `${APPS}/deployments`, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "refused" },
    spec,
  });
  const first = await cluster.send("GET", `${APPS}/deployments/refused`);
  expect(first.status.conditions.find(({ type }: any) => type === "Progressing")).toMatchObject({
    status: "False",
    reason: "ReplicaSetCreateError",
  });
  for (let round = 0; round < 20; round++) await cluster.send("GET", `${CORE}/pods`);
  expect((await cluster.send("GET", `${APPS}/deployments/refused`)).metadata.resourceVersion).toBe(
    first.metadata.resourceVersion,
  );
  expect(((await cluster.send("GET", `${CORE}/events`)).items as any[]).length).toBeLessThan(10);
});

test("pods of a Deployment meet the policies that pods meet", async () => {
  await using cluster = await openCluster();
  const admission = "/apis/admissionregistration.k8s.io/v1";
  const rules = [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }];
  await cluster.send("POST", `${admission}/validatingadmissionpolicies`, {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicy",
    metadata: { name: "tagged" },
    spec: {
      matchConstraints: { resourceRules: rules },
      validations: [
        {
          expression: "object.spec.containers.all(c, c.image.contains(':'))",
          messageExpression: "'untagged, by ' + request.userInfo.username",
        },
      ],
    },
  });
  await cluster.send("POST", `${admission}/validatingadmissionpolicybindings`, {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingAdmissionPolicyBinding",
    metadata: { name: "tagged" },
    spec: { policyName: "tagged", validationActions: ["Deny"] },
  });
  const spec = { selector: { matchLabels: { app: "bare" } }, template: template("bare") };
  const object = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "bare" }, spec };
  await cluster.send("POST", `${APPS}/deployments`, object);
  expect((await cluster.send("GET", `${CORE}/pods`)).items).toEqual([]);
  const { conditions } = (await cluster.send("GET", `${APPS}/deployments/bare`)).status;
  expect(conditions.find(({ type }: any) => type === "ReplicaFailure").message).toContain(
    "untagged, by system:serviceaccount:kube-system:replicaset-controller",
  );
});

describe("owners of many objects", () => {
  /** How many of the objects below `path` are parsed while `work` is done. */
  async function parsed(path: string, work: () => Promise<unknown>): Promise<number> {
    const decode = vi.spyOn(CachedObject.prototype, "decode");
    try {
      await work();
      return decode.mock.contexts.filter((object) => (object as CachedObject).key.includes(path)).length;
    } finally {
      decode.mockRestore();
    }
  }
  const MANY = 12;
  const names = Array.from({ length: MANY }, (_, index) => `old${index}`);
  const ownedBy = (owner: any, name: string) => {
    const { apiVersion, kind, metadata } = owner;
    return { name, ownerReferences: [{ apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true }] };
  };
  const owners = {
    StatefulSet: {
      path: `${APPS}/statefulsets`,
      spec: { replicas: 0, serviceName: "a", revisionHistoryLimit: MANY * 2 },
      owned: `${APPS}/controllerrevisions`,
      ofOwner: (owner: object, name: string) => ({
        ...{ apiVersion: "apps/v1", kind: "ControllerRevision", metadata: ownedBy(owner, name) },
        data: { spec: {} },
        revision: 0,
      }),
    },
    DaemonSet: {
      path: `${APPS}/daemonsets`,
      spec: { revisionHistoryLimit: MANY * 2 },
      owned: `${APPS}/controllerrevisions`,
      ofOwner: (owner: object, name: string) => ({
        ...{ apiVersion: "apps/v1", kind: "ControllerRevision", metadata: ownedBy(owner, name) },
        data: { spec: {} },
        revision: 0,
      }),
    },
    Deployment: {
      path: `${APPS}/deployments`,
      spec: { replicas: 0, revisionHistoryLimit: MANY * 2 },
      owned: `${APPS}/replicasets`,
      ofOwner: (owner: object, name: string) => {
        const labels = { app: "many", old: name };
        return {
          ...{ apiVersion: "apps/v1", kind: "ReplicaSet" },
          metadata: { ...ownedBy(owner, name), labels },
          spec: {
            replicas: 0,
            selector: { matchLabels: labels },
            template: { ...template("many"), metadata: { labels } },
          },
        };
      },
    },
  } as const;

  test.each(Object.entries(owners))("a %s reads none of them again that has not changed", async (kind, owner) => {
    await using cluster = await openCluster();
    const { path, spec, owned, ofOwner } = owner;
    const made = await cluster.send("POST", path, {
      apiVersion: "apps/v1",
      kind,
      metadata: { name: "many" },
      spec: { selector: { matchLabels: { app: "many" } }, template: template("many"), ...spec },
    });
    for (const name of names) await cluster.send("POST", owned, ofOwner(made, name));
    const plural = owned.slice(owned.lastIndexOf("/") + 1);
    const change = (to: string) => cluster.send("PATCH", `${path}/many`, { metadata: { labels: { changed: to } } });
    await change("once");
    expect(await parsed(`/${plural}/`, () => change("twice"))).toBeLessThan(MANY);
  });
});

test("large pods count as several", async () => {
  await using cluster = await openCluster();
  const value = "v".repeat(1_000_000);
  const large = {
    ...template("large"),
    spec: { containers: [{ name: "a", image: "i", env: [{ name: "A", value }] }] },
  };
  const spec = { replicas: 60, selector: { matchLabels: { app: "large" } }, template: large };
  const object = { apiVersion: "apps/v1", kind: "ReplicaSet", metadata: { name: "large" }, spec };
  await cluster.send("POST", `${APPS}/replicasets`, object);
  // 60 small ones at once, or some 10 of these, and one a second: on a machine of any speed less than the tenant asked for.
  const { replicas } = (await cluster.send("GET", `${APPS}/replicasets/large`)).status;
  expect([replicas > 0, replicas < 60]).toEqual([true, true]);
});

test("claims with long expressions count as many", async () => {
  await using cluster = await openCluster();
  const group = "/apis/resource.k8s.io/v1/namespaces/default";
  const expression = `${"true || ".repeat(150)}true`.padEnd(10_240);
  const selectors = Array.from({ length: 32 }, () => ({ cel: { expression } }));
  const requests = [{ name: "r", exactly: { deviceClassName: "gpu", selectors } }];
  await cluster.send("POST", `${group}/resourceclaimtemplates`, {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaimTemplate",
    metadata: { name: "t" },
    spec: { spec: { devices: { requests } } },
  });
  const resourceClaims = Array.from({ length: 20 }, (_, at) => ({ name: `c${at}`, resourceClaimTemplateName: "t" }));
  const spec = { ...template("claiming").spec, resourceClaims };
  await cluster.send("POST", `${CORE}/pods`, { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec });
  // 500 are done at once, and one of these counts as 1,300.
  expect((await cluster.send("GET", `${group}/resourceclaims`)).items).toHaveLength(1);
});

test("the first pods of very many are those that a sort puts first", async () => {
  const clock = standing();
  const pod = (index: number) =>
    ({ name: `p${index}`, phase: "Running", createdAt: (index * 7_919) % 1_009, annotations: {} }) as PodState;
  const pods = Array.from({ length: 500 }, (_, index) => pod(index));
  const pause = () => {
    clock.pass(1);
    return undefined;
  };
  for (const count of [0, 1, 7, 499, 600])
    expect(await firstOf(pods, byDeletion, count, pause)).toEqual(pods.toSorted(byDeletion).slice(0, count));
  expect(clock.elapsed()).toBe(5 * pods.length);
});

describe("DaemonSets and Nodes, of which there may be very many", () => {
  const SETS = 5;
  const NODES = 6;
  const addNode = (cluster: Awaited<ReturnType<typeof openCluster>>, name: string) =>
    cluster.send("POST", "/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name } });
  const daemonSet = (name: string, spec: object) => ({
    ...{ apiVersion: "apps/v1", kind: "DaemonSet", metadata: { name } },
    spec: { selector: { matchLabels: { app: name } }, template: { ...template(name), spec } },
  });

  test("a change of a Node runs the DaemonSets that it makes a difference for", async () => {
    await using cluster = await openCluster();
    for (let at = 0; at < NODES; at++) await addNode(cluster, `n${at}`);
    for (let at = 0; at < SETS; at++)
      await cluster.send(
        "POST",
        `${APPS}/daemonsets`,
        daemonSet(`d${at}`, { ...template("a").spec, nodeSelector: { [`l${at}`]: "yes" } }),
      );
    const decode = vi.spyOn(CachedObject.prototype, "decode");
    const run = async (path: string, change: object): Promise<readonly string[]> => {
      decode.mockClear();
      await cluster.send("PATCH", path, change);
      const keys = decode.mock.contexts.map((object) => (object as CachedObject).key);
      return [...new Set(keys.filter((key) => key.includes("/daemonsets/")))].map((key) => key.slice(-2)).toSorted();
    };
    try {
      const node = "/api/v1/nodes/n0";
      const heartbeat = { type: "Ready", status: "True", lastHeartbeatTime: "2026-11-30T00:00:00Z" };
      expect(await run(`${node}/status`, { status: { conditions: [heartbeat] } })).toEqual([]);
      expect(await run(node, { metadata: { labels: { other: "yes" } } })).toEqual([]);
      expect(await run(node, { metadata: { labels: { l1: "yes", l3: "yes" } } })).toEqual(["d1", "d3"]);
      expect(await run(node, { metadata: { labels: { l1: null } } })).toEqual(["d1"]);
    } finally {
      decode.mockRestore();
    }
  });

  test("large pods on many Nodes count as several", async () => {
    await using cluster = await openCluster();
    for (let at = 0; at < 40; at++) await addNode(cluster, `n${at}`);
    const value = "v".repeat(1_000_000);
    const containers = [{ name: "a", image: "i", env: [{ name: "A", value }] }];
    await cluster.send("POST", `${APPS}/daemonsets`, daemonSet("large", { containers }));
    const { status } = await cluster.send("GET", `${APPS}/daemonsets/large`);
    expect(status.desiredNumberScheduled).toBe(40);
    expect([status.currentNumberScheduled > 0, status.currentNumberScheduled < 40]).toEqual([true, true]);
  });

  test("a DaemonSet whose pods are refused waits, and its status is written meanwhile", async () => {
    await using cluster = await openCluster();
    await cluster.send("POST", `${CORE}/resourcequotas`, {
      ...{ apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "none" } },
      spec: { hard: { pods: "0" } },
    });
    await addNode(cluster, "n0");
    await cluster.send("POST", `${APPS}/daemonsets`, daemonSet("refused", template("a").spec));
    await addNode(cluster, "n1");
    for (let round = 0; round < 20; round++) await cluster.send("GET", `${CORE}/pods`);
    const { status } = await cluster.send("GET", `${APPS}/daemonsets/refused`);
    expect(status).toMatchObject({ desiredNumberScheduled: 2, currentNumberScheduled: 0, numberUnavailable: 2 });
    expect(((await cluster.send("GET", `${CORE}/events`)).items as any[]).length).toBeLessThan(10);
  });
});
