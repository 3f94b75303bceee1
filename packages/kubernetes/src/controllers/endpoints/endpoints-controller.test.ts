// Endpoints and EndpointSlices of Services in a cluster that stores pods.

import { afterEach, beforeEach, expect, test } from "vitest";
import { type ClusterSurface, openClusterSurface } from "../../testing/cluster-surface.ts";

let cluster: ClusterSurface;
beforeEach(async () => {
  cluster = await openClusterSurface();
});
afterEach(() => cluster[Symbol.asyncDispose]());

const BASE = "/api/v1/namespaces/default";
const SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

async function send(method: string, path: string, json?: object) {
  const { status, json: answer } = await cluster.send({ method, path, ...(json === undefined ? {} : { json }) });
  await cluster.settled();
  return { status, json: answer };
}

const service = (spec: object, labels = {}) =>
  send("POST", `${BASE}/services`, {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "web", labels },
    spec: { ports: [{ name: "http", port: 80, targetPort: "http" }], ...spec },
  });

const pod = async (name: string, ip: string, isReady = true, labels: object = { app: "web" }) => {
  const object = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels },
    spec: { containers: [{ name: "a", image: "i", ports: [{ name: "http", containerPort: 8080 }] }] },
  };
  await send("POST", `${BASE}/pods`, object);
  const status = {
    phase: "Running",
    podIP: ip,
    podIPs: [{ ip }],
    conditions: [{ type: "Ready", status: isReady ? "True" : "False" }],
  };
  const { json } = await send("GET", `${BASE}/pods/${name}`);
  await send("PUT", `${BASE}/pods/${name}/status`, { ...json, status });
};

const slicesOf = async (name = "web") =>
  (await send("GET", `${SLICES}?labelSelector=kubernetes.io/service-name%3D${name}`)).json.items;

test("a Service that selects nothing gets Endpoints without subsets, and an empty slice; both go with it", async () => {
  await service({ selector: { app: "web" } }, { team: "a" });
  const { json: endpoints } = await send("GET", `${BASE}/endpoints/web`);
  expect(endpoints.subsets).toBeUndefined();
  expect(endpoints.metadata.labels).toEqual({
    team: "a",
    "endpoints.kubernetes.io/managed-by": "endpoint-controller",
  });
  const [slice, ...others] = await slicesOf();
  expect(others).toEqual([]);
  expect([slice.addressType, slice.endpoints ?? [], slice.ports ?? []]).toEqual(["IPv4", [], []]);
  expect(slice.metadata.labels).toEqual({
    team: "a",
    "kubernetes.io/service-name": "web",
    "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
  });
  expect(slice.metadata.ownerReferences).toMatchObject([{ kind: "Service", name: "web", controller: true }]);
  await send("DELETE", `${BASE}/services/web`);
  expect((await send("GET", `${BASE}/endpoints/web`)).status).toBe(404);
  expect(await slicesOf()).toEqual([]);
});

test("pods with addresses are endpoints, ready or not, at the ports of their containers", async () => {
  await service({ selector: { app: "web" } });
  await pod("one", "10.1.0.1");
  await pod("two", "10.1.0.2", false);
  await pod("other", "10.1.0.3", true, { app: "db" });
  const { json } = await send("GET", `${BASE}/endpoints/web`);
  expect(json.subsets).toMatchObject([
    {
      addresses: [{ ip: "10.1.0.1", targetRef: { kind: "Pod", name: "one" } }],
      notReadyAddresses: [{ ip: "10.1.0.2" }],
      ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    },
  ]);
  const [slice] = await slicesOf();
  expect(slice.ports).toEqual([{ name: "http", port: 8080, protocol: "TCP" }]);
  expect(slice.endpoints).toMatchObject([
    { addresses: ["10.1.0.1"], conditions: { ready: true, serving: true, terminating: false } },
    { addresses: ["10.1.0.2"], conditions: { ready: false, serving: false, terminating: false } },
  ]);
  await send("DELETE", `${BASE}/pods/one`);
  expect((await slicesOf())[0].endpoints).toMatchObject([{ addresses: ["10.1.0.2"] }]);
});

test("Endpoints of a client are mirrored as they are written, and until they go", async () => {
  await service({});
  const endpoints = (ip: string, labels = {}) => ({
    apiVersion: "v1",
    kind: "Endpoints",
    metadata: { name: "web", labels },
    subsets: [{ addresses: [{ ip }], ports: [{ port: 80 }] }],
  });
  await send("POST", `${BASE}/endpoints`, endpoints("10.1.2.3"));
  const [first] = await slicesOf();
  expect(first).toMatchObject({
    addressType: "IPv4",
    endpoints: [{ addresses: ["10.1.2.3"], conditions: { ready: true } }],
    ports: [{ name: "", port: 80, protocol: "TCP" }],
    metadata: {
      labels: { "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io" },
      ownerReferences: [{ kind: "Endpoints", name: "web" }],
    },
  });
  await send("PUT", `${BASE}/endpoints/web`, endpoints("10.2.3.4"));
  const [second] = await slicesOf();
  expect([second.metadata.uid, second.endpoints[0].addresses]).toEqual([first.metadata.uid, ["10.2.3.4"]]);
  await send(
    "PUT",
    `${BASE}/endpoints/web`,
    endpoints("10.2.3.4", { "endpointslice.kubernetes.io/skip-mirror": "true" }),
  );
  expect(await slicesOf()).toEqual([]);
  await send("PUT", `${BASE}/endpoints/web`, endpoints("10.2.3.5"));
  expect(await slicesOf()).toHaveLength(1);
  await send("DELETE", `${BASE}/endpoints/web`);
  expect(await slicesOf()).toEqual([]);
});

test("a slice that another client has changed is put back", async () => {
  await service({ selector: { app: "web" } });
  await pod("one", "10.1.0.1");
  const [slice] = await slicesOf();
  await send("PUT", `${SLICES}/${slice.metadata.name}`, { ...slice, endpoints: [] });
  expect((await slicesOf())[0].endpoints).toHaveLength(1);
  await send("DELETE", `${SLICES}/${slice.metadata.name}`);
  expect((await slicesOf())[0].endpoints).toHaveLength(1);
});
