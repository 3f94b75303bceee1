import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTenancy, GROUP, type Tenancy, userOf } from "../../../../server/testing/tenancy.ts";

let tenancy: Tenancy;
beforeEach(async () => {
  tenancy = await createTenancy();
});
afterEach(async () => {
  expect(tenancy.errors).toEqual([]);
  await tenancy[Symbol.asyncDispose]();
});

const API = `/apis/${GROUP}/v1`;
const namespaceNamed = (name: string) => {
  const { view, keys } = tenancy.resource("Namespace", "");
  return view.get(keys.of("", name))?.decode();
};

describe("a project", () => {
  it("gets its own namespace and reports it", async () => {
    await tenancy.create("projects", { metadata: { name: "web" } }, userOf("alice"));
    await tenancy.settled();
    expect(namespaceNamed("p-web")?.metadata.labels).toMatchObject({ "example.test/project": "web" });
    expect(tenancy.lookup.project("web")).toMatchObject({
      spec: { owner: { user: "alice" } },
      status: {
        phase: "Ready",
        conditions: [
          { type: "NamespaceReady", status: "True" },
          { type: "Ready", status: "True" },
        ],
      },
    });
  });

  it("has its namespace when its create is answered, whatever controllers are at", async () => {
    const { status } = await tenancy.create("projects", { metadata: { name: "soon" } });
    expect(status).toMatchObject({ phase: "Pending" });
    const made = await tenancy.create("namespaces/p-soon/virtualclusterinstances", { metadata: { name: "dev" } });
    expect(made).toHaveProperty("spec.clusterRef.cluster", "embedded");
    // A dry run makes none.
    await tenancy.request({ method: "POST", url: `${API}/projects?dryRun=All`, body: { metadata: { name: "dry" } } });
    expect(namespaceNamed("p-dry")).toBeUndefined();
  });

  it("gets its namespace back after it was deleted", async () => {
    const before = namespaceNamed("p-default")?.metadata.uid;
    const url = `${API}/namespaces/p-default/virtualclusterinstances/demo`;
    await tenancy.request({ method: "DELETE", url: "/api/v1/namespaces/p-default" });
    const uid = await tenancy.eventually(() => {
      const now = namespaceNamed("p-default")?.metadata;
      return now?.deletionTimestamp === undefined && now?.uid !== before ? now?.uid : undefined;
    });
    expect(uid).not.toBe(before);
    await expect(tenancy.request({ url })).rejects.toMatchObject({ code: 404 });
  });

  it("does not take over a namespace that was there before it (security book 11)", async () => {
    await tenancy.request({ method: "POST", url: "/api/v1/namespaces", body: { metadata: { name: "p-taken" } } });
    await tenancy.create("projects", { metadata: { name: "taken" } });
    await tenancy.settled();
    expect(tenancy.lookup.project("taken")?.status).toMatchObject({
      phase: "Failed",
      message: "namespace p-taken already exists and does not belong to this project",
    });
    await tenancy.request({ method: "DELETE", url: `${API}/projects/taken` });
    await tenancy.eventually(() => tenancy.lookup.project("taken") === undefined);
    expect(namespaceNamed("p-taken")).toBeDefined();
  });

  it("is deleted with its namespace and everything in it", async () => {
    const uid = tenancy.lookup.virtualClusterInstance("p-default", "demo")?.metadata.uid;
    await tenancy.request({ method: "DELETE", url: `${API}/projects/default` });
    await tenancy.eventually(() => tenancy.lookup.project("default") === undefined);
    expect(namespaceNamed("p-default")).toBeUndefined();
    expect((await tenancy.storage.list(`/registry/vc-${uid}/`)).entries).toEqual([]);
  });

  it.each([
    ["Upper", "lower case"],
    ["a.b", "must not contain dots"],
    ["x".repeat(62), "no more than 61 characters"],
  ])("cannot have the name %s", async (name, why) => {
    await expect(tenancy.create("projects", { metadata: { name } })).rejects.toMatchObject({
      code: 422,
      message: expect.stringContaining(why),
    });
  });

  it("names the kinds of members that there are", async () => {
    const spec = { members: [{ kind: "Robot", name: "x", clusterRole: "y" }] };
    await expect(tenancy.create("projects", { metadata: { name: "web" }, spec })).rejects.toMatchObject({
      code: 422,
      message: expect.stringMatching(
        /spec\.members\[0\]\.kind.*"User", "Team"|spec\.members\[0\]\.kind.*"Team", "User"/,
      ),
    });
  });
});

describe("projects/{name}/clusters", () => {
  it.each([
    [undefined, ["embedded"]],
    [[], ["embedded"]],
    [[{ name: "far" }], ["far"]],
    [[{ name: "*" }], ["embedded", "far"]],
    [[{ name: "fa*" }], []],
  ])("with allowedClusters %j answers %j", async (allowedClusters, expected) => {
    await tenancy.create("clusters", { metadata: { name: "far" }, spec: { displayName: "Far" } });
    const spec = allowedClusters === undefined ? {} : { allowedClusters };
    await tenancy.create("projects", { metadata: { name: "web" }, spec });
    const { status, body } = await tenancy.request({ url: `${API}/projects/web/clusters` });
    expect(status).toBe(200);
    expect(body).toMatchObject({ apiVersion: `${GROUP}/v1`, kind: "ProjectClusters", metadata: { name: "web" } });
    expect(body.clusters.map(({ metadata }: any) => metadata.name)).toEqual(expected);
    for (const cluster of body.clusters) expect(cluster).toMatchObject({ spec: {}, status: {} });
  });

  it("answers 404 for a project that does not exist", async () => {
    await expect(tenancy.request({ url: `${API}/projects/absent/clusters` })).rejects.toMatchObject({ code: 404 });
  });
});
