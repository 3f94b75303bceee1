// Discovery of the server by clients: groups, versions and resources, one by one and all at once.

import { expect, test } from "vitest";
import { API, GROUP, useServer } from "./testing/api.ts";

const api = useServer();
const AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const BETA = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
const KUBECTL = `${AGGREGATED},${BETA},application/json`;
const accept = (path: string, value: string, headers = {}) => api.get(path, { headers: { Accept: value, ...headers } });

test("lists versions and groups, each at its path (V-01)", async () => {
  const { json: core } = await api.get("/api");
  expect(core).toMatchObject({ kind: "APIVersions", versions: ["v1"] });
  expect(core.serverAddressByClientCIDRs).toEqual([
    { clientCIDR: "0.0.0.0/0", serverAddress: new URL(api.server.url).host },
  ]);
  const { json: groups } = await api.get("/apis");
  expect(groups).toMatchObject({ kind: "APIGroupList", apiVersion: "v1" });
  const group = {
    name: GROUP,
    versions: [{ groupVersion: `${GROUP}/v1`, version: "v1" }],
    preferredVersion: { groupVersion: `${GROUP}/v1`, version: "v1" },
  };
  expect(groups.groups).toContainEqual(group);
  expect((await api.get(`/apis/${GROUP}`)).json).toEqual({ kind: "APIGroup", apiVersion: "v1", ...group });
  for (const { name, preferredVersion } of groups.groups) {
    const list = (await api.get(`/apis/${preferredVersion.groupVersion}`)).json;
    expect(list).toMatchObject({ kind: "APIResourceList", groupVersion: preferredVersion.groupVersion });
    expect(list.resources.length, name).toBeGreaterThan(0);
  }
});

test("lists what built-in kinds have below them by name, each with the verbs that are served (V-02)", async () => {
  const below = async (groupVersion: string, plural: string) => {
    const { resources } = (await api.get(groupVersion)).json;
    const named = resources.filter(({ name }: { name: string }) => name.startsWith(`${plural}/`));
    return named.map(({ name, verbs }: { name: string; verbs: readonly string[] }) => [name, verbs.join()]);
  };
  expect(await below("/api/v1", "namespaces")).toEqual([
    ["namespaces/finalize", "update"],
    ["namespaces/status", "get,patch,update"],
  ]);
  expect(await below("/apis/certificates.k8s.io/v1", "certificatesigningrequests")).toEqual([
    ["certificatesigningrequests/approval", "get,patch,update"],
    ["certificatesigningrequests/status", "get,patch,update"],
  ]);
});

test("lists a resource with its names, verbs and subresources (V-02)", async () => {
  const { resources } = (await api.get(API)).json;
  const verbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
  expect(resources).toContainEqual({
    name: "ownedaccesskeys",
    singularName: "ownedaccesskey",
    namespaced: false,
    kind: "OwnedAccessKey",
    verbs,
    shortNames: ["oak"],
    categories: ["platform"],
    storageVersionHash: expect.any(String),
  });
  expect(resources).toContainEqual({
    name: "ownedaccesskeys/status",
    singularName: "",
    namespaced: false,
    kind: "OwnedAccessKey",
    verbs: ["get", "patch", "update"],
  });
  expect(resources).toContainEqual({
    name: "widgets/scale",
    singularName: "",
    namespaced: true,
    group: "autoscaling",
    version: "v1",
    kind: "Scale",
    verbs: ["get", "patch", "update"],
  });
  expect(resources.map(({ name }: any) => name)).toEqual([
    "ownedaccesskeys",
    "ownedaccesskeys/status",
    "widgets",
    "widgets/status",
    "widgets/scale",
  ]);
});

test.each([
  ["/api", AGGREGATED, AGGREGATED],
  ["/apis", AGGREGATED, AGGREGATED],
  ["/apis", KUBECTL, AGGREGATED],
])("answers at %s to %s with everything, under the very type (V-03)", async (path, type, answered) => {
  const { status, headers, json } = await accept(path, type);
  expect(status).toBe(200);
  expect(headers).toMatchObject({
    "content-type": answered,
    vary: expect.stringContaining("Accept"),
    "cache-control": "public",
    etag: expect.stringMatching(/^"[0-9A-F]+"$/),
  });
  expect(json.kind).toBe("APIGroupDiscoveryList");
  const unchanged = await accept(path, type, { "If-None-Match": String(headers.etag) });
  expect({ status: unchanged.status, text: unchanged.text, etag: unchanged.headers.etag }).toEqual({
    status: 304,
    text: "",
    etag: headers.etag,
  });
});

test("describes groups, versions and resources in the aggregated form (V-04)", async () => {
  const { json } = await accept("/apis", AGGREGATED);
  const group = json.items.find(({ metadata }: any) => metadata.name === GROUP);
  expect(group.versions).toHaveLength(1);
  expect(group.versions[0]).toMatchObject({ version: "v1", freshness: "Current" });
  const [keys, widgets] = group.versions[0].resources;
  const kind = { group: GROUP, version: "v1", kind: "OwnedAccessKey" };
  expect(keys).toEqual({
    resource: "ownedaccesskeys",
    responseKind: kind,
    scope: "Cluster",
    singularResource: "ownedaccesskey",
    verbs: ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"],
    shortNames: ["oak"],
    categories: ["platform"],
    subresources: [{ subresource: "status", responseKind: kind, verbs: ["get", "patch", "update"] }],
  });
  expect(widgets).toMatchObject({ scope: "Namespaced", categories: ["all", "platform"] });
  expect(widgets.subresources.map(({ subresource }: any) => subresource)).toEqual(["status", "scale"]);
  const core = (await accept("/api", AGGREGATED)).json;
  expect(core.items).toHaveLength(1);
  expect(core.items[0].versions[0].resources.map(({ resource }: any) => resource)).toContain("namespaces");
});

test("says the same in both forms (V-04)", async () => {
  const { json } = await accept("/apis", AGGREGATED);
  for (const { metadata, versions } of json.items) {
    for (const { version, resources } of versions) {
      const legacy = (await api.get(`/apis/${metadata.name}/${version}`)).json.resources;
      const names = resources.flatMap(({ resource, subresources = [] }: any) => [
        resource,
        ...subresources.map(({ subresource }: any) => `${resource}/${subresource}`),
      ]);
      expect([...names].sort(), metadata.name).toEqual(legacy.map(({ name }: any) => name).sort());
    }
  }
});

test("has the aggregated form of /api and /apis alone (V-05)", async () => {
  for (const path of [`/apis/${GROUP}`, API, "/api/v1"]) {
    expect((await accept(path, AGGREGATED)).status, path).toBe(406);
    const { headers, json } = await accept(path, KUBECTL);
    expect(headers["content-type"]).toBe("application/json");
    expect(json.kind).toMatch(/^APIGroup$|^APIResourceList$/);
  }
  const unknown = "application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList";
  for (const path of ["/api", "/apis"]) {
    expect((await accept(path, unknown)).status).toBe(406);
    expect((await accept(path, `${unknown},application/json`)).json.kind).toMatch(/^APIVersions$|^APIGroupList$/);
    expect((await accept(path, "application/yaml")).headers["content-type"]).toBe("application/yaml");
  }
});

test("requires authentication (V-06)", async () => {
  for (const path of ["/api", "/apis", "/api/v1", `/apis/${GROUP}`, API, "/openapi/v2", "/openapi/v3"]) {
    expect((await api.get(path, { as: "alice" })).status, path).toBe(200);
    expect((await api.get(path, { as: "" })).json, path).toMatchObject({ code: 403, reason: "Forbidden" });
  }
});

test("gives each stored resource a hash of its version (V-07)", async () => {
  const hashes = [API, "/api/v1"].map(async (path) =>
    (await api.get(path)).json.resources
      .filter(({ name, storageVersionHash }: any) => !name.includes("/") && storageVersionHash !== undefined)
      .map(({ storageVersionHash }: any) => storageVersionHash),
  );
  const all = (await Promise.all(hashes)).flat();
  expect(all.length).toBeGreaterThan(2);
  expect(new Set(all).size).toBe(all.length);
  for (const hash of all) expect(Buffer.from(hash, "base64")).toHaveLength(8);
});

test("names the preferred version first (V-08)", async () => {
  const { groups } = (await api.get("/apis")).json;
  for (const { versions, preferredVersion } of groups) expect(versions[0]).toEqual(preferredVersion);
});
