// ResourceQuotas on what pods and claims ask for, and on some of them alone.

import { afterEach, beforeEach, expect, test } from "vitest";
import { type ClusterSurface, openClusterSurface } from "../../testing/cluster-surface.ts";

let cluster: ClusterSurface;
beforeEach(async () => {
  cluster = await openClusterSurface();
});
afterEach(() => cluster[Symbol.asyncDispose]());

const BASE = "/api/v1/namespaces/default";

async function post(kind: string, name: string, rest: object) {
  const path = `${BASE}/${kind.toLowerCase()}s`;
  const json = { apiVersion: "v1", kind, metadata: { name }, ...rest };
  const answer = await cluster.send({ method: "POST", path, json });
  await cluster.settled();
  return answer;
}

const quota = (name: string, hard: object, rest: object = {}) =>
  post("ResourceQuota", name, { spec: { hard, ...rest } });
const pod = (name: string, resources: object, rest: object = {}) =>
  post("Pod", name, { spec: { containers: [{ name: "c", image: "i", resources }], ...rest } });
const claim = (name: string, storage: string, rest: object = {}) =>
  post("PersistentVolumeClaim", name, {
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } }, ...rest },
  });
const used = async (name: string) =>
  (await cluster.send({ method: "GET", path: `${BASE}/resourcequotas/${name}` })).json.status.used;

test("pods count with what they ask for, until they have ended", async () => {
  await quota("compute", {
    pods: "5",
    "requests.cpu": "1",
    cpu: "1",
    memory: "500Mi",
    "limits.cpu": "2",
    "requests.example.com/x": "3",
  });
  const first = await pod("one", {
    requests: { cpu: "500m", memory: "252Mi", "example.com/x": "2" },
    limits: { cpu: "1", "example.com/x": "2" },
  });
  expect(first.status).toBe(201);
  const expected = {
    pods: "1",
    "requests.cpu": "500m",
    cpu: "500m",
    memory: "252Mi",
    "limits.cpu": "1",
    "requests.example.com/x": "2",
  };
  expect(await used("compute")).toEqual(expected);
  expect(await pod("two", { requests: { cpu: "600m", memory: "100Mi" }, limits: { cpu: "600m" } })).toMatchObject({
    status: 403,
    json: {
      message:
        'pods "two" is forbidden: exceeded quota: compute, requested: cpu=600m,requests.cpu=600m, used: cpu=500m,requests.cpu=500m, limited: cpu=1,requests.cpu=1',
    },
  });
  expect(await pod("three", {})).toMatchObject({
    status: 403,
    json: {
      message:
        'pods "three" is forbidden: failed quota: compute: must specify cpu for: c; limits.cpu for: c; memory for: c; requests.cpu for: c',
    },
  });
  const { json } = await cluster.send({ method: "GET", path: `${BASE}/pods/one` });
  const path = `${BASE}/pods/one/status`;
  await cluster.send({ method: "PUT", path, json: { ...json, status: { ...json.status, phase: "Succeeded" } } });
  await cluster.settled();
  expect(await used("compute")).toMatchObject({ pods: "0", cpu: "0", memory: "0" });
});

test("quotas with scopes count the pods that have them", async () => {
  await quota("terminating", { pods: "1" }, { scopes: ["Terminating"] });
  await quota("best-effort", { pods: "2" }, { scopes: ["BestEffort"] });
  await quota(
    "selected",
    { pods: "1" },
    {
      scopeSelector: {
        matchExpressions: [{ scopeName: "PriorityClass", operator: "In", values: ["system-node-critical"] }],
      },
    },
  );
  await quota("elsewhere", { pods: "1" }, { scopes: ["CrossNamespacePodAffinity"] });
  const some = { requests: { cpu: "1m" } };
  await pod("short", some, { activeDeadlineSeconds: 30 });
  await pod("empty", {});
  await pod("critical", some, { priorityClassName: "system-node-critical" });
  const affinity = (rest: object) => ({
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "t", labelSelector: {}, ...rest }],
      },
    },
  });
  await pod("near", some, affinity({}));
  await pod("far", some, affinity({ namespaces: ["other"] }));
  for (const name of ["terminating", "best-effort", "selected", "elsewhere"])
    expect([name, await used(name)]).toEqual([name, { pods: "1" }]);
  const refused = async (answer: ReturnType<typeof pod>, by: string) =>
    expect((await answer).json.message).toContain(
      `exceeded quota: ${by}, requested: pods=1, used: pods=1, limited: pods=1`,
    );
  await refused(pod("short-2", some, { activeDeadlineSeconds: 30 }), "terminating");
  await refused(pod("critical-2", some, { priorityClassName: "system-node-critical" }), "selected");
  await refused(pod("far-2", some, affinity({ namespaceSelector: {} })), "elsewhere");
  expect((await pod("long", some)).status).toBe(201);
});

test("claims count with their storage, and by their classes", async () => {
  await quota("storage", {
    persistentvolumeclaims: "5",
    "requests.storage": "10Gi",
    "gold.storageclass.storage.k8s.io/requests.storage": "2Gi",
    "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
  });
  await quota(
    "attributes",
    { persistentvolumeclaims: "1" },
    {
      scopeSelector: {
        matchExpressions: [{ scopeName: "VolumeAttributesClass", operator: "In", values: ["fast"] }],
      },
    },
  );
  await claim("plain", "1Gi");
  await claim("gold", "1Gi", { storageClassName: "gold" });
  await claim("fast", "1Gi", { volumeAttributesClassName: "fast" });
  expect(await used("storage")).toEqual({
    persistentvolumeclaims: "3",
    "requests.storage": "3Gi",
    "gold.storageclass.storage.k8s.io/requests.storage": "1Gi",
    "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
  });
  expect(await used("attributes")).toEqual({ persistentvolumeclaims: "1" });
  expect((await claim("gold-2", "1Gi", { storageClassName: "gold" })).json.message).toContain(
    "requested: gold.storageclass.storage.k8s.io/persistentvolumeclaims=1",
  );
  expect((await claim("large", "8Gi")).json.message).toContain(
    "exceeded quota: storage, requested: requests.storage=8Gi, used: requests.storage=3Gi, limited: requests.storage=10Gi",
  );
  expect((await claim("fast-2", "1Gi", { volumeAttributesClassName: "fast" })).json.message).toContain(
    "exceeded quota: attributes",
  );
});
