import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTenancy, GROUP, type Tenancy, userOf } from "../../../../server/testing/tenancy.ts";

let tenancy: Tenancy;
beforeEach(async () => {
  tenancy = await createTenancy({
    authorizer: {
      authorize: ({ user, verb }) => ({
        verdict: user.name.startsWith("bob") && verb === "update" ? "no-opinion" : "allow",
        reason: "",
      }),
    },
  });
});
afterEach(async () => {
  expect(tenancy.errors).toEqual([]);
  await tenancy[Symbol.asyncDispose]();
});

const PATH = "namespaces/p-default/virtualclusterinstances";
const BASE = `/apis/${GROUP}/v1/${PATH}`;
const MERGE = { "content-type": "application/merge-patch+json" };

describe("a virtual cluster instance that others run", () => {
  const external = (spec: object = {}) => ({ metadata: { name: "theirs" }, spec: { external: true, ...spec } });

  it("is placed in no cluster, unless one is named", async () => {
    const created = await tenancy.create(PATH, external());
    expect(created).toHaveProperty("spec.clusterRef", { namespace: "p-default", virtualCluster: "theirs" });
    const named = { metadata: { name: "named" }, spec: { external: true, clusterRef: { cluster: "embedded" } } };
    expect(await tenancy.create(PATH, named)).toHaveProperty("spec.clusterRef.cluster", "embedded");
  });

  it("has to be placed when it no longer is, and stays there then", async () => {
    await tenancy.create(PATH, external());
    const patch = (spec: object) =>
      tenancy.request({ method: "PATCH", url: `${BASE}/theirs`, headers: MERGE, body: { spec } });
    await expect(patch({ external: false })).rejects.toMatchObject({
      code: 422,
      message: expect.stringContaining("spec.clusterRef.cluster"),
    });
    expect((await patch({ external: false, clusterRef: { cluster: "embedded" } })).body.spec.clusterRef.cluster).toBe(
      "embedded",
    );
    await tenancy.create("clusters", { metadata: { name: "far" } });
    await expect(patch({ clusterRef: { cluster: "far" } })).rejects.toMatchObject({ code: 422 });
  });
});

describe("a virtual cluster instance that connects by itself", () => {
  it("reports in its status that the platform runs it, so that no agent connects it", async () => {
    await tenancy.create(PATH, { metadata: { name: "peer" }, spec: { networkPeer: true } });
    await tenancy.settled();
    const { status } = (await tenancy.request({ url: `${BASE}/peer` })).body;
    expect(status).toMatchObject({ phase: "Pending", reason: "NetworkPeerNotServed" });
    expect(status.conditions).toMatchObject([{ type: "Ready", status: "False", reason: "NetworkPeerNotServed" }]);
  });
});

describe("a virtual cluster instance", () => {
  it("is owned by its creator and is placed by the server", async () => {
    const created = await tenancy.create(PATH, { metadata: { name: "web" } }, userOf("alice"));
    expect(created).toMatchObject({
      spec: {
        owner: { user: "alice" },
        clusterRef: { cluster: "embedded", namespace: "p-default", virtualCluster: "web" },
      },
      status: { phase: "Pending" },
    });
    const team = { name: "example:team:devs", groups: ["example:team:devs"] };
    const ofTeam = await tenancy.create(PATH, { metadata: { name: "ofteam" } }, team);
    expect(ofTeam).toMatchObject({ spec: { owner: { team: "devs" } } });
  });

  it("becomes ready, with its version and the rendered template", async () => {
    const template = {
      accessPoint: { ingress: { enabled: true } },
      helmRelease: { chart: { version: "0.30.0" }, values: "a: b\n" },
    };
    await tenancy.create(PATH, { metadata: { name: "web" }, spec: { template } });
    await tenancy.settled();
    const { metadata, status } = tenancy.lookup.virtualClusterInstance("p-default", "web") ?? {};
    expect(status).toMatchObject({
      phase: "Ready",
      kubernetesVersion: "v1.34.0+test",
      serviceUID: metadata?.uid,
      virtualCluster: template,
      conditions: [{ type: "Ready", status: "True" }],
    });
  });

  it("binds the roles inside, those of extraAccessRules as well", async () => {
    const patch = { spec: { extraAccessRules: [{ users: ["bob"], clusterRole: "auditor" }] } };
    await tenancy.request({ method: "PATCH", url: `${BASE}/demo`, body: patch, headers: MERGE });
    await tenancy.settled();
    const url = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    const { body } = await tenancy.inside("demo", { url });
    const bound = body.items.filter(({ metadata }: any) => metadata.name.startsWith("example:role:"));
    expect(bound.map(({ roleRef, subjects }: any) => [roleRef.name, subjects[0].name])).toEqual([
      ["auditor", "example:role:auditor"],
      ["cluster-admin", "example:role:cluster-admin"],
      ["edit", "example:role:edit"],
      ["view", "example:role:view"],
    ]);
  });

  it("deletes its content and its key with it", async () => {
    const uid = tenancy.lookup.virtualClusterInstance("p-default", "demo")?.metadata.uid;
    await tenancy.request({ url: `${BASE}/demo/accesskey` });
    await tenancy.request({ method: "DELETE", url: `${BASE}/demo` });
    await tenancy.eventually(() => tenancy.lookup.virtualClusterInstance("p-default", "demo") === undefined);
    expect((await tenancy.storage.list(`/registry/vc-${uid}/`)).entries).toEqual([]);
    expect(tenancy.revoked).toEqual(["name-of-control-plane-key-0"]);
  });

  it("is another one when its name is used again (security book 11)", async () => {
    const maps = "/api/v1/namespaces/default/configmaps";
    await tenancy.inside("demo", { method: "POST", url: maps, body: { metadata: { name: "mine" } } });
    await tenancy.request({ method: "DELETE", url: `${BASE}/demo` });
    await tenancy.eventually(() => tenancy.lookup.virtualClusterInstance("p-default", "demo") === undefined);
    await tenancy.create(PATH, { metadata: { name: "demo" } });
    await tenancy.settled();
    expect((await tenancy.inside("demo", { url: maps })).body.items).toEqual([]);
  });

  it.each([
    ["a cluster that the project may not use", { clusterRef: { cluster: "far" } }, "spec.clusterRef.cluster", 422],
    ["a role without a name", { extraAccessRules: [{ users: ["x"] }] }, "spec.extraAccessRules[0].clusterRole", 422],
    ["a mode that there is not", { template: { forwardTokenMode: "Always" } }, "spec.template.forwardTokenMode", 422],
  ])("is refused with %s", async (_what, spec, field, code) => {
    await tenancy.create("projects", { metadata: { name: "small" } });
    await tenancy.settled();
    const refused = tenancy.create("namespaces/p-small/virtualclusterinstances", { metadata: { name: "x" }, spec });
    await expect(refused).rejects.toMatchObject({ code, message: expect.stringContaining(field) });
  });

  it("may name a cluster that comes later, and reports it as missing until then", async () => {
    const spec = { clusterRef: { cluster: "later" } };
    const { status, body } = await tenancy.request({
      method: "POST",
      url: BASE,
      body: { metadata: { name: "x" }, spec },
    });
    expect([status, body.spec.clusterRef.cluster]).toEqual([201, "later"]);
    await tenancy.settled();
    const { body: found } = await tenancy.request({ url: `${BASE}/x` });
    expect(found.status).toMatchObject({ phase: "Pending", reason: "ClusterNotFound" });
  });

  it("is refused outside the namespace of a project", async () => {
    const outside = tenancy.create("namespaces/default/virtualclusterinstances", { metadata: { name: "x" } });
    await expect(outside).rejects.toMatchObject({
      code: 422,
      message: expect.stringContaining("must be the namespace of a project"),
    });
  });

  it.each(["a.b", "Big", "-x", "x".repeat(64), "../x"])("cannot have the name %j", async (name) => {
    await expect(tenancy.create(PATH, { metadata: { name } })).rejects.toMatchObject({ code: 422 });
  });

  it("does not move, and is not moved by a client that leaves its place out", async () => {
    const moved = { spec: { clusterRef: { cluster: "far" } } };
    const patch = { method: "PATCH", url: `${BASE}/demo`, headers: MERGE };
    await expect(tenancy.request({ ...patch, body: moved })).rejects.toMatchObject({
      code: 422,
      message: expect.stringContaining("spec.clusterRef"),
    });
    const { body } = await tenancy.request({ url: `${BASE}/demo` });
    const { clusterRef: _, ...spec } = body.spec;
    const put = await tenancy.request({ method: "PUT", url: `${BASE}/demo`, body: { ...body, spec } });
    expect(put.body.spec.clusterRef.virtualCluster).toBe("demo");
  });
});

describe("?extended=true", () => {
  it("reports for each instance whether the caller may use and change it, and does not store that", async () => {
    for (const [name, canUpdate] of [
      ["alice", true],
      ["bob", false],
    ] as const) {
      const user = userOf(name);
      const one = await tenancy.request({ url: `${BASE}/demo?extended=true`, user });
      expect(one.body.status).toMatchObject({ phase: "Ready", canUse: true, canUpdate });
      const list = await tenancy.request({ url: `/apis/${GROUP}/v1/virtualclusterinstances?extended=true`, user });
      expect(list.body.items[0].status).toMatchObject({ canUse: true, canUpdate });
    }
    const { body } = await tenancy.request({ url: `${BASE}/demo` });
    expect(body.status).not.toHaveProperty("canUse");
    const status = { ...body.status, canUse: true, canUpdate: true };
    const put = await tenancy.request({ method: "PUT", url: `${BASE}/demo/status`, body: { ...body, status } });
    expect(put.body.status).not.toHaveProperty("canUse");
  });
});

describe("virtualclusterinstances/{name}/accesskey", () => {
  const ask = async () => (await tenancy.request({ url: `${BASE}/demo/accesskey` })).body;

  it("answers with the key of the virtual cluster itself: made once, for this one cluster", async () => {
    const first = await ask();
    expect(first).toMatchObject({ accessKey: "control-plane-key-0", metadata: { name: "demo" } });
    expect(await ask()).toEqual(first);
    expect(tenancy.controlPlane).toMatchObject([
      {
        subject: "example:vcluster:p-default:demo",
        role: { role: "vcluster", projects: ["default"], virtualClusters: ["demo"] },
      },
    ]);
  });

  it("creates one key for concurrent requests", async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, ask));
    expect(new Set(answers.map(({ accessKey }) => accessKey)).size).toBe(1);
  });

  it("answers with a new key when the old one is invalid", async () => {
    const { accessKey } = await ask();
    tenancy.keys.delete(accessKey);
    expect((await ask()).accessKey).not.toBe(accessKey);
  });

  it("keeps the key sealed (security book 41)", async () => {
    const { accessKey } = await ask();
    const { entries } = await tenancy.storage.list("/");
    for (const { value } of entries) expect(Buffer.from(value).toString("latin1")).not.toContain(accessKey);
  });
});
