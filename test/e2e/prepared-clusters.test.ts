// Instances that are prepared by their template, and projects that keep to their quotas, with a real kubectl.

import { afterAll, beforeAll, expect, test } from "vitest";
import type { KubectlSession } from "./testing/kubectl-clients.ts";
import { startTenantClusters, type TenantClusters } from "./testing/tenant-clusters.ts";

let clusters: TenantClusters;
let admin: KubectlSession;
beforeAll(async () => {
  clusters = await startTenantClusters();
  admin = clusters.admin;
});
afterAll(() => clusters?.[Symbol.asyncDispose]());

const OBJECTS = `apiVersion: shop.example.com/v1
kind: Order
metadata: {name: first, namespace: shop}
spec: {amount: 3}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: orders.shop.example.com}
spec:
  group: shop.example.com
  scope: Namespaced
  names: {plural: orders, kind: Order}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {amount: {type: integer}}}}}}
`;

const instance = (name: string, template: object, namespace = "p-default") =>
  JSON.stringify({
    apiVersion: "management.postern/v1",
    kind: "VirtualClusterInstance",
    metadata: { name, namespace },
    spec: { template },
  });

const inside = async (name: string, project?: string): Promise<KubectlSession> =>
  (await clusters.open(name, project)).kubectl;

const ready = async (name: string, project = "default") => {
  await admin.run(`wait vci/${name} -n p-${project} --for=condition=Ready --timeout=30s`);
};
const condition = async (name: string): Promise<string> => {
  const { status } = await admin.json(`get vci ${name} -n p-default`);
  const found = status.conditions.find(({ type }: any) => type === "ObjectsApplied");
  return `${found?.status}: ${found?.message}`;
};

test("the objects of a template are there, whatever their order, and follow the text", async () => {
  await admin.run(
    "apply -f -",
    instance("prepared", { accessPoint: { ingress: { enabled: true } }, objects: OBJECTS }),
  );
  await admin.run("wait vci/prepared -n p-default --for=condition=ObjectsApplied --timeout=30s");
  const kubectl = await inside("prepared");
  expect((await kubectl.json("get orders.shop.example.com first -n shop")).spec.amount).toBe(3);
  await kubectl.run('patch order first -n shop --type=merge -p {"spec":{"amount":4}}');
  // Objects that have been applied once are not applied again automatically.
  await admin.run("label vci prepared -n p-default a=b");
  expect((await kubectl.json("get order first -n shop")).spec.amount).toBe(4);
  await admin.run("apply -f -", instance("prepared", { objects: OBJECTS.replace("amount: 3", "amount: 5") }));
  await expect.poll(async () => (await kubectl.json("get order first -n shop")).spec.amount).toBe(5);
});

test("an object that cannot be applied is named in the condition, and applied later", async () => {
  const wrong = OBJECTS.replace("amount: 3", "amount: many").replace("name: shop}", "name: shop, labels: {a: b}}");
  await admin.run("apply -f -", instance("faulty", { objects: wrong }));
  await expect.poll(() => condition("faulty")).toMatch(/^False: Order first: .*amount/);
  await admin.run("apply -f -", instance("faulty", { objects: "kind: [" }));
  await expect.poll(() => condition("faulty")).toMatch(/^False: line 1: /);
  await admin.run("apply -f -", instance("faulty", { objects: OBJECTS }));
  await expect.poll(() => condition("faulty")).toMatch(/^True: /);
});

test("a project has so many virtual clusters as its quota says, also when they come at once", async () => {
  const project = (quotas: object) =>
    JSON.stringify({
      apiVersion: "management.postern/v1",
      kind: "Project",
      metadata: { name: "small" },
      spec: { quotas: { project: quotas }, allowedClusters: [{ name: "embedded" }] },
    });
  await admin.run("apply -f -", project({ "count/virtualclusterinstances": "2" }));
  const outcomes = await Promise.all(
    Array.from({ length: 5 }, (_, index) => admin(["create", "-f", "-"], instance(`many${index}`, {}, "p-small"))),
  );
  expect(outcomes.filter(({ code }) => code === 0)).toHaveLength(2);
  for (const { code, stderr } of outcomes)
    if (code !== 0)
      expect(stderr).toContain(
        'exceeded quota: project "small", requested: virtualclusterinstances=1, used: virtualclusterinstances=2, limited: virtualclusterinstances=2',
      );
  await admin.run("apply -f -", project({ virtualclusterinstances: "9", "virtualcluster.objects": "140" }));
  await admin.run("create -f -", instance("full", { accessPoint: { ingress: { enabled: true } } }, "p-small"));
  await ready("full", "small");
  const kubectl = await inside("full", "small");
  const items = Array.from({ length: 140 }, (_, index) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: `c${index}` },
  }));
  const list = JSON.stringify({ apiVersion: "v1", kind: "List", items });
  const { stdout, stderr } = await kubectl(["create", "-f", "-"], list);
  expect(stderr).toContain("this virtual cluster is full: it has 140 objects of 140");
  expect(stdout.match(/created/g)?.length).toBeGreaterThan(5);
  // Changes and deletions go on, and make room.
  await kubectl.run("label configmap c0 a=b");
  await kubectl.run("delete configmap c0");
  await kubectl.run("create configmap again");
  // Other instances are not held up by it.
  await admin.run("create -f -", instance("other", {}, "p-default"));
  await ready("other");
});
