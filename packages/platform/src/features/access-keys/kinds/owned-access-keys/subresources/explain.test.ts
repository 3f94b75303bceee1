import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningPlatform, startPlatform } from "../../../../../testing/running-platform.ts";

const DEMO = "namespaces/p-default/virtualclusterinstances/demo";
const PROXY = "/kubernetes/project/default/virtualcluster/demo/api/v1/namespaces";

describe("ownedaccesskeys/explain", () => {
  let platform: RunningPlatform;

  beforeAll(async () => {
    platform = await startPlatform();
  });
  afterAll(() => platform[Symbol.asyncDispose]());

  const create = async (name: string, spec: object = {}): Promise<string> => {
    const { body } = await platform.send({
      method: "POST",
      path: "ownedaccesskeys",
      body: { metadata: { name }, spec },
    });
    return body.spec.key;
  };
  const explain = async (name: string, spec: object) =>
    await platform.send({ method: "POST", path: `ownedaccesskeys/${name}/explain`, body: { spec } });

  it("reports what allows a request, and what would allow a refused one", async () => {
    await create("scoped", { scope: { clusters: [{ cluster: "embedded" }] } });
    const good = await explain("scoped", { path: "/apis/management.postern/v1/clusters/embedded" });
    expect(good.status).toBe(201);
    expect(good.body.status).toMatchObject({ allowed: true, request: "get management.postern/clusters embedded" });
    expect(good.body.status.remedies).toEqual([]);

    const bad = await explain("scoped", { path: PROXY });
    expect(bad.body.status.allowed).toBe(false);
    expect(bad.body.status.steps).toEqual([
      { step: "key", passed: true, reason: "" },
      { step: "right", passed: true, reason: expect.any(String) },
      { step: "scope", passed: false, reason: "out-of-scope" },
    ]);
    const [remedy] = bad.body.status.remedies;
    const scope = JSON.parse(/spec\.scope: (.*)$/.exec(remedy)?.[1] ?? "");
    await create("remedied", { scope });
    expect((await explain("remedied", { path: PROXY })).body.status.allowed).toBe(true);
  });

  it("proposes no name that does not exist, or that the caller does not see", async () => {
    await create("narrow", { scope: {} });
    const paths = [
      ["/kubernetes/project/default/virtualcluster/dmeo/api", 'there is no virtual cluster "dmeo" that you can see'],
      ["/kubernetes/project/nope/space/x/api", 'there is no project "nope" that you can see'],
      ["/kubernetes/cluster/far/api", 'there is no cluster "far" that you can see'],
    ] as const;
    for (const [path, fault] of paths) {
      const { remedies } = (await explain("narrow", { path })).body.status;
      expect(remedies).toEqual([`check the names in the request: ${fault}`]);
    }
    await platform.create("users", { metadata: { name: "blind" } });
    const key = (await platform.create("ownedaccesskeys", { metadata: { name: "blinds" }, spec: { user: "blind" } }))
      .spec.key;
    await platform.send({
      key,
      path: "ownedaccesskeys",
      body: { metadata: { name: "blinds-own" }, spec: { scope: {} } },
    });
    const ask = { key, path: "ownedaccesskeys/blinds-own/explain", body: { spec: { path: PROXY } } };
    expect(JSON.stringify((await platform.send(ask)).body.status.remedies)).not.toContain("add to spec.scope");
  });

  it("leaves deleted objects out of the narrowest scope", async () => {
    const made = { metadata: { name: "brief", namespace: "p-default" }, spec: {} };
    await platform.create("namespaces/p-default/spaceinstances", made);
    const key = await create("of-brief");
    const path = "namespaces/p-default/spaceinstances/brief";
    expect((await platform.send({ path, key })).status).toBe(200);
    const spaces = [{ project: "default", space: "brief" }];
    expect((await explain("of-brief", {})).body.status.leastScope).toEqual({ spaces });
    await platform.send({ path, method: "DELETE" });
    await platform.until({ path }, ({ status }) => status === 404);
    expect((await explain("of-brief", {})).body.status.leastScope).toEqual({});
  });

  it("lets a key rotate only itself, where its scope allows it", async () => {
    const rules = [
      { resources: [{ group: "management.postern", resources: ["ownedaccesskeys/rotate"] }], verbs: ["create"] },
    ];
    const rotate = (name: string, key: string) =>
      platform.send({ key, path: `ownedaccesskeys/${name}/rotate`, body: { spec: { nonce: randomUUID() } } });
    const own = await create("turns", { ttl: 3600, scope: { rules } });
    expect((await rotate("turns", own)).status).toBe(201);
    expect((await rotate("turns", own)).status).toBe(401);
    const fixed = await create("fixed", {
      ttl: 3600,
      scope: { virtualClusters: [{ project: "default", virtualCluster: "demo" }] },
    });
    expect((await rotate("fixed", fixed)).status).toBe(403);
    const again = await create("turns-too", { ttl: 3600, scope: { rules } });
    expect((await rotate("fixed", again)).status).toBe(403);
    const free = await create("free", { ttl: 3600 });
    expect((await rotate("free", free)).status).toBe(201);
  });

  it("explains by attributes what it explains by path, and decides as the server does", async () => {
    const key = await create("both", { scope: { virtualClusters: [{ project: "default", virtualCluster: "demo" }] } });
    for (const [path, attributes] of [
      [DEMO, { verb: "get", resource: "virtualclusterinstances", namespace: "p-default", name: "demo" }],
      ["users/admin", { verb: "get", resource: "users", name: "admin" }],
      ["ownedaccesskeys", { verb: "list", resource: "ownedaccesskeys" }],
      ["projects/default", { verb: "get", resource: "projects", name: "default" }],
    ] as const) {
      const byPath = await explain("both", { path: `/kubernetes/management/apis/management.postern/v1/${path}` });
      const resourceAttributes = { ...attributes, group: "management.postern" };
      const { body } = await explain("both", { resourceAttributes });
      expect(body.status.steps).toEqual(byPath.body.status.steps);
      const { status } = await platform.send({ path, key });
      expect([path, body.status.allowed]).toEqual([path, status === 200]);
    }
  });

  it("gives the least scope that covers what the key was used for", async () => {
    const key = await create("used");
    for (const path of ["projects", DEMO, PROXY, "clusters/embedded", "users/admin", "/version"]) {
      expect([path, (await platform.send({ path, key })).status]).toEqual([path, 200]);
    }
    const { body } = await explain("used", {});
    expect(body.status).toEqual({
      usedSince: expect.any(String),
      leastScope: {
        virtualClusters: [{ project: "default", virtualCluster: "demo" }],
        clusters: [{ cluster: "embedded" }],
        roles: [{ role: "platform-cli" }],
      },
      isUsageComplete: true,
      uses: [
        { apiGroup: "management.postern", resource: "projects", verbs: ["list"] },
        { apiGroup: "management.postern", resource: "virtualclusterinstances", verbs: ["get"] },
        {
          target: { virtualClusters: [{ project: "default", virtualCluster: "demo" }] },
          apiGroup: "",
          resource: "namespaces",
          verbs: ["list"],
        },
        { apiGroup: "management.postern", resource: "clusters", verbs: ["get"] },
        { apiGroup: "management.postern", resource: "users", verbs: ["get"] },
      ],
    });
    const narrowed = await create("narrowed", { scope: body.status.leastScope });
    for (const path of ["projects", DEMO, PROXY, "clusters/embedded", "users/admin", "/version"]) {
      expect([path, (await platform.send({ path, key: narrowed })).status]).toEqual([path, 200]);
    }
  });

  it("counts what the kubeconfigs of a key were used for, which its scope has to allow", async () => {
    const key = await create("with-kubeconfig");
    const { body: config } = await platform.send({
      method: "POST",
      path: `${DEMO}/kubeconfig`,
      key,
      body: { spec: {} },
    });
    const [, token = ""] = /token: (\S+)/.exec(config.status.kubeConfig) ?? [];
    expect((await platform.send({ path: PROXY, key: token })).status).toBe(200);
    const { status } = (await explain("with-kubeconfig", {})).body;
    const target = { virtualClusters: [{ project: "default", virtualCluster: "demo" }] };
    expect(status.uses).toContainEqual({ target, apiGroup: "", resource: "namespaces", verbs: ["list"] });
    expect(status.leastScope).toEqual(target);
  });

  it("names what no scope allows", async () => {
    const key = await create("beyond");
    await platform.send({ path: "ownedaccesskeys", key });
    const { body } = await explain("beyond", {});
    expect(body.status.beyondScopes).toEqual(["list management.postern/ownedaccesskeys"]);
  });

  it("reports why the key itself is refused", async () => {
    await create("off", { disabled: true });
    const { body } = await explain("off", { path: "/version" });
    expect(body.status.steps[0]).toEqual({ step: "key", passed: false, reason: "disabled" });
    expect(body.status.remedies[0]).toContain("set spec.disabled of the key to false");
    const unasked = (await explain("off", {})).body.status;
    expect([unasked.refusal, unasked.remedies]).toEqual(["disabled", [body.status.remedies[0]]]);
  });

  it.each([
    ["no slash", { path: "version" }, 400],
    ["two questions", { path: "/version", resourceAttributes: { verb: "get" } }, 400],
    ["a path that two programs read in two ways", { path: "/kubernetes/cluster/embedded/a%2fb" }, 400],
  ])("refuses %s", async (_what, spec, status) => {
    await create("any").catch(() => undefined);
    expect((await explain("any", spec)).status).toBe(status);
  });

  it("is allowed only for the owner of the key", async () => {
    await platform.send({ method: "POST", path: "users", body: { metadata: { name: "eve" }, spec: {} } });
    const key = await create("eves", { user: "eve" });
    const answer = await platform.send({
      method: "POST",
      path: "ownedaccesskeys/used/explain",
      key,
      body: { spec: {} },
    });
    expect(answer.status).toBe(404);
    const rotated = await platform.send({
      method: "POST",
      path: "ownedaccesskeys/used/rotate",
      key,
      body: { spec: { nonce: "a" } },
    });
    expect(rotated.status).toBe(404);
    const own = await platform.send({
      method: "POST",
      path: "ownedaccesskeys/eves/rotate",
      key,
      body: { spec: { nonce: "a" } },
    });
    expect(own.status).toBe(201);
    expect((await platform.send({ path: "selves", key })).status).toBe(401);
  });
});
