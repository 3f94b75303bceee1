import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningPlatform, startPlatform } from "../../../testing/running-platform.ts";

const INSTANCES = "namespaces/p-default/spaceinstances";
const SPACE = "/kubernetes/project/default/space/team";
const MAPS = `${SPACE}/api/v1/namespaces/team/configmaps`;

let platform: RunningPlatform;
let bobKey = "";
let strangerKey = "";
beforeAll(async () => {
  platform = await startPlatform();
  const keyOf = async (user: string): Promise<string> => {
    await platform.create("users", { metadata: { name: user } });
    return (await platform.create("ownedaccesskeys", { metadata: { name: user }, spec: { user } })).spec.key;
  };
  bobKey = await keyOf("bob");
  strangerKey = await keyOf("stranger");
  await platform.create(INSTANCES, { metadata: { name: "team" }, spec: { owner: { user: "bob" } } });
  await platform.until({ path: `${INSTANCES}/team` }, ({ body }) => body.status?.phase === "Ready");
});
afterAll(() => platform[Symbol.asyncDispose]());

describe("a space", () => {
  it("is a namespace that its owner reads and writes", async () => {
    const created = await platform.send({ path: MAPS, key: bobKey, body: { metadata: { name: "mine" } } });
    expect(created.status).toBe(201);
    expect((await platform.send({ path: `${MAPS}/mine`, key: bobKey })).status).toBe(200);
    expect((await platform.send({ path: `${SPACE}/api/v1/namespaces/team`, key: bobKey })).status).toBe(200);
    expect((await platform.send({ path: `${SPACE}/apis`, key: bobKey })).body.kind).toBe("APIGroupList");
    expect((await platform.send({ path: `${SPACE}/version`, key: bobKey })).status).toBe(200);
  });

  it.each([
    ["another namespace", "/api/v1/namespaces/default/secrets"],
    ["all namespaces", "/api/v1/configmaps"],
    ["the list of namespaces", "/api/v1/namespaces"],
    ["the namespace of the system", "/api/v1/namespaces/kube-system"],
    ["what has no namespace", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"],
    ["the way out of the namespace", "/api/v1/namespaces/team/../default/secrets"],
    ["the encoded way out", "/api/v1/namespaces/team/%2e%2e/default/secrets"],
  ])("does not reach %s, for anybody (security book 32)", async (_what, path) => {
    for (const token of [bobKey, platform.adminKey]) {
      expect([400, 403]).toContain((await platform.send({ path: `${SPACE}${path}`, key: token })).status);
    }
  });

  it.each([
    ["deletes the namespace", "DELETE", "/api/v1/namespaces/team", undefined],
    ["makes one", "POST", "/api/v1/namespaces", { metadata: { name: "more" } }],
    [
      "gives rights in the whole cluster",
      "POST",
      "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
      {
        metadata: { name: "x" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
      },
    ],
  ])("is not where anybody %s", async (_what, method, path, body) => {
    const answer = await platform.send({ method, path: `${SPACE}${path}`, ...(body === undefined ? {} : { body }) });
    expect(answer.status).toBe(403);
  });

  it("accepts the tokens of its ServiceAccounts within its RBAC, and they are valid nowhere else", async () => {
    const namespaced = `${SPACE}/api/v1/namespaces/team`;
    await platform.send({ path: `${namespaced}/serviceaccounts`, body: { metadata: { name: "robot" } } });
    const asked = await platform.send({ path: `${namespaced}/serviceaccounts/robot/token`, body: { spec: {} } });
    expect(asked.status).toBe(201);
    const { token } = asked.body.status;
    expect((await platform.send({ path: MAPS, key: token })).status).toBe(403);
    const binding = {
      metadata: { name: "robots" },
      subjects: [{ kind: "ServiceAccount", name: "robot", namespace: "team" }],
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
    };
    const bindings = `${SPACE}/apis/rbac.authorization.k8s.io/v1/namespaces/team/rolebindings`;
    expect((await platform.send({ path: bindings, body: binding })).status).toBe(201);
    expect((await platform.send({ path: MAPS, key: token })).status).toBe(200);
    expect((await platform.send({ path: MAPS, key: token, body: { metadata: { name: "x" } } })).status).toBe(403);
    expect((await platform.send({ path: `${SPACE}/api/v1/namespaces/default/configmaps`, key: token })).status).toBe(
      403,
    );
    expect(
      (await platform.send({ path: "/kubernetes/project/default/virtualcluster/demo/api", key: token })).status,
    ).toBe(401);
  });

  it("rotates the key that signs these tokens in two phases, by its owner alone", async () => {
    const tokens = `${SPACE}/api/v1/namespaces/team/serviceaccounts/robot/token`;
    const token = async (): Promise<string> =>
      (await platform.send({ path: tokens, body: { spec: {} } })).body.status.token;
    const take = (action: string, key = bobKey) =>
      platform.send({ path: `${INSTANCES}/team/certificateauthority`, key, body: { spec: { action } } });
    const read = async (key: string): Promise<number> => (await platform.send({ path: MAPS, key })).status;
    const old = await token();
    expect((await take("Prepare", strangerKey)).status).toBe(403);
    expect((await take("Complete")).status).toBe(409);
    expect((await take("Prepare")).body.status.phase).toBe("Prepared");
    const fresh = await token();
    expect([await read(old), await read(fresh)]).toEqual([200, 200]);
    expect((await take("Complete")).body.status.phase).toBe("Completed");
    expect([await read(old), await read(fresh)]).toEqual([401, 200]);
  });

  it("is refused to callers without permission", async () => {
    expect((await platform.send({ path: MAPS, key: strangerKey })).status).toBe(403);
    const absent = "/kubernetes/project/default/space/none/api/v1/namespaces/none/configmaps";
    expect((await platform.send({ path: absent })).status).toBe(404);
    expect((await platform.send({ path: absent, key: strangerKey })).status).toBe(403);
  });

  it("accepts a key that is scoped to it, and refuses one that is scoped to another", async () => {
    const scopedTo = async (space: string): Promise<string> => {
      const scope = { spaces: [{ project: "default", space }] };
      return (
        await platform.create("ownedaccesskeys", { metadata: { generateName: "s-" }, spec: { user: "bob", scope } })
      ).spec.key;
    };
    expect((await platform.send({ path: MAPS, key: await scopedTo("team") })).status).toBe(200);
    expect((await platform.send({ path: MAPS, key: await scopedTo("other") })).status).toBe(403);
  });
});
