// A kubeconfig generator gives its creator's access on: attempts to get more from it than the creator has, to take it over, or to keep what it gave.

import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type Answered, type AttackedServer, MERGE, startAttacked } from "./testing/attacking.ts";

const SPACE = "p-shop";
const GENERATORS = `namespaces/${SPACE}/kubeconfiggenerators`;
const SECRETS = `/api/v1/namespaces/${SPACE}/secrets`;
const INSTANCES = `namespaces/${SPACE}/virtualclusterinstances`;
const ADMIN = "postern:project-admin";
const WAIT = { timeout: 10_000, interval: 20 };

let server: AttackedServer;
/** Project administrators. */
let [ann, bob] = ["", ""];

beforeAll(async () => {
  server = await startAttacked();
  ann = await server.user("ann");
  bob = await server.user("bob");
  await server.must({
    path: "projects",
    body: { metadata: { name: "shop" }, spec: { allowedClusters: [{ name: "embedded" }], ...members("ann", "bob") } },
  });
  for (const [name, env] of [
    ["prod", "prod"],
    ["dev", "dev"],
    ["test", "dev"],
  ] as const)
    await server.must({
      path: INSTANCES,
      body: { metadata: { name, labels: { env } }, spec: { owner: { user: "admin" } } },
    });
});
afterAll(() => server[Symbol.asyncDispose]());

const members = (...names: string[]) => ({
  members: names.map((name) => ({ kind: "User", name, clusterRole: ADMIN })),
});
const DEV = { matchLabels: { env: "dev" } };

const generate = (as: string, name: string, spec: object = {}): Promise<Answered> =>
  server.send({
    path: GENERATORS,
    as,
    body: { metadata: { name }, spec: { selector: DEV, secretRef: { name }, ...spec } },
  });

async function generated(as: string, name: string, spec: object = {}): Promise<void> {
  const answer = await generate(as, name, spec);
  expect(answer.status, answer.text).toBe(201);
}

const stateOf = async (name: string): Promise<any> => await server.must({ path: `${GENERATORS}/${name}` });

/** The reason of its condition Ready. */
async function reason(name: string): Promise<string> {
  const { metadata, status } = await stateOf(name);
  const ready = status?.conditions?.find(({ type }: { type: string }) => type === "Ready");
  return status?.observedGeneration === metadata.generation ? (ready?.reason ?? "") : "";
}
const until = async (name: string, expected: string): Promise<void> => {
  await vi.waitFor(async () => expect(await reason(name)).toBe(expected), WAIT);
};

const textOf = async (secret: string, key = "config"): Promise<string> => {
  const { data } = await server.must({ path: `${SECRETS}/${secret}` });
  return Buffer.from(data[key], "base64").toString();
};
const tokensOf = async (secret: string): Promise<readonly string[]> =>
  [...(await textOf(secret)).matchAll(/token: (\S+)/g)].map(([, token = ""]) => token);

const inside = (cluster: string, path = "api/v1/namespaces"): string =>
  `/kubernetes/project/shop/virtualcluster/${cluster}/${path}`;
const statusOf = async (as: string, path: string, body?: object): Promise<number> =>
  (await server.send({ path, as, ...(body === undefined ? {} : { body }) })).status;
const change = (as: string, name: string, spec: object): Promise<Answered> =>
  server.send({ method: "PATCH", path: `${GENERATORS}/${name}`, as, headers: MERGE, body: { spec } });

describe("what a generator gives", () => {
  test("one key for each selected virtual cluster, which opens that one alone", async () => {
    await generated(ann, "fleet");
    await until("fleet", "Current");
    const [dev = "", testing = "", more] = await tokensOf("fleet");
    expect(more).toBeUndefined();
    expect(await statusOf(dev, inside("dev"))).toBe(200);
    for (const cluster of ["test", "prod"]) expect(await statusOf(dev, inside(cluster))).toBe(401);
    expect(await statusOf(testing, inside("test"))).toBe(200);
    // Neither makes further credentials, nor reads the Secrets of the project.
    expect(await statusOf(dev, `${INSTANCES}/test/kubeconfig`, { spec: {} })).toBe(403);
    expect(await statusOf(dev, SECRETS)).toBe(403);
  });

  test("the role view reads and sees no Secret", async () => {
    await generated(ann, "readers", { role: "view" });
    await until("readers", "Current");
    const [dev = ""] = await tokensOf("readers");
    expect(await statusOf(dev, inside("dev", "api/v1/namespaces/default/configmaps"))).toBe(200);
    expect(await statusOf(dev, inside("dev", "api/v1/namespaces/default/secrets"))).toBe(403);
    expect(await statusOf(dev, inside("dev"), { metadata: { name: "x" } })).toBe(403);
  });

  test("a selected virtual cluster that comes is added, and the key of one that leaves is refused", async () => {
    await generated(ann, "moving", { selector: { matchLabels: { moving: "yes" } } });
    await until("moving", "Current");
    expect(await tokensOf("moving")).toEqual([]);
    const label = (moving: string | null) =>
      server.must({
        method: "PATCH",
        path: `${INSTANCES}/dev`,
        headers: MERGE,
        body: { metadata: { labels: { moving } } },
      });
    await label("yes");
    await vi.waitFor(async () => expect(await tokensOf("moving")).toHaveLength(1), WAIT);
    const [token = ""] = await tokensOf("moving");
    expect(await statusOf(token, inside("dev"))).toBe(200);
    await label(null);
    await vi.waitFor(async () => expect(await tokensOf("moving")).toEqual([]), WAIT);
    await vi.waitFor(async () => expect(await statusOf(token, inside("dev"))).toBe(401), WAIT);
  });

  test("cluster Secrets of Argo CD, and Secrets of Flux, one for each virtual cluster", async () => {
    await generated(ann, "argo", { format: "ArgoCD" });
    await generated(ann, "flux", { format: "Flux" });
    await until("argo", "Current");
    await until("flux", "Current");
    const { metadata, data } = await server.must({ path: `${SECRETS}/argo-dev` });
    expect(metadata.labels).toEqual({ "argocd.argoproj.io/secret-type": "cluster" });
    const text = (key: string): string => Buffer.from(data[key], "base64").toString();
    expect([text("name"), text("server")]).toEqual([
      "shop-dev",
      `${server.process.url}${inside("dev", "").slice(0, -1)}`,
    ]);
    const config = JSON.parse(text("config"));
    expect(config.tlsClientConfig).toEqual({ insecure: false, caData: expect.any(String) });
    expect(await statusOf(config.bearerToken, inside("dev"))).toBe(200);
    expect(await textOf("flux-test", "value")).toContain("current-context: shop-test");
  });
});

describe("more than its creator has", () => {
  test("who may write generators, and reads no Secrets, gets none written", async () => {
    const carl = await server.user("carl");
    await server.grant("writes-generators", "carl", [
      { verbs: ["*"], apiGroups: ["management.postern"], resources: ["kubeconfiggenerators"] },
    ]);
    const answer = await generate(carl, "carls");
    expect(answer.status).toBe(403);
    expect(answer.text).toContain("you may not create secrets");
  });

  test("who may write generators and Secrets, and opens no virtual cluster, gets no credential", async () => {
    const dora = await server.user("dora");
    await server.grant("writes-both", "dora", [
      { verbs: ["*"], apiGroups: ["management.postern"], resources: ["kubeconfiggenerators"] },
      { verbs: ["*"], apiGroups: [""], resources: ["secrets"] },
    ]);
    await generated(dora, "doras");
    await until("doras", "Forbidden");
    expect(await tokensOf("doras")).toEqual([]);
  });

  test("only the creator changes what a generator gives; others may delete it", async () => {
    await generated(ann, "anns");
    await until("anns", "Current");
    const wider = { selector: { matchLabels: { env: "prod" } } };
    for (const spec of [wider, { role: "view" }, { ttlSeconds: 7200 }]) {
      const answer = await change(bob, "anns", spec);
      expect(answer.status).toBe(403);
      expect(answer.text).toContain("who alone may change its spec");
    }
    expect((await change(server.admin, "anns", wider)).status).toBe(403);
    // Its status says with which key credentials are made.
    const { body: key } = await server.send({ path: "ownedaccesskeys", as: bob, body: { metadata: {}, spec: {} } });
    const status = { accessKey: key.metadata.name, creator: { kind: "user", name: "bob" } };
    for (const path of [`${GENERATORS}/anns`, `${GENERATORS}/anns/status`])
      await server.send({ method: "PATCH", path, as: bob, headers: MERGE, body: { status } });
    expect((await stateOf("anns")).status).toMatchObject({ creator: { name: "ann" } });
    expect((await stateOf("anns")).status.accessKey).not.toBe(key.metadata.name);
    expect((await server.send({ method: "DELETE", path: `${GENERATORS}/anns`, as: bob })).status).toBe(200);
  });

  test("a generator cannot be written in the name of another user", async () => {
    const answer = await server.send({
      path: GENERATORS,
      headers: { "impersonate-user": "ann", "impersonate-group": "postern:user:ann" },
      body: { metadata: { name: "faked" }, spec: { selector: {}, secretRef: { name: "faked" } } },
    });
    expect(answer.status).toBe(403);
  });

  test("a narrow key of the creator gives no more than itself, also by a change of a wide generator", async () => {
    const narrow = await server.key("ann-dev", {
      user: "ann",
      scope: {
        projects: [{ project: "shop" }],
        rules: [
          { verbs: ["*"], resources: [{ group: "management.postern", resources: ["kubeconfiggenerators"] }] },
          { verbs: ["*"], resources: [{ group: "", resources: ["secrets"] }] },
        ],
      },
    });
    await generated(ann, "wide");
    await until("wide", "Current");
    const [before = ""] = await tokensOf("wide");
    const changed = await change(narrow, "wide", { selector: { matchLabels: { env: "prod" } } });
    expect(changed.status, changed.text).toBe(200);
    await until("wide", "Forbidden");
    expect(await tokensOf("wide")).toEqual([]);
    expect(await statusOf(before, inside("dev"))).toBe(401);
  });

  test("an existing Secret is neither read nor replaced", async () => {
    await server.must({ path: SECRETS, body: { metadata: { name: "taken" }, data: { config: "MQ==" } } });
    await generated(ann, "taken");
    await until("taken", "SecretNotOwned");
    expect(await textOf("taken")).toBe("1");
  });

  test("tokens that others put into the Secret are neither kept nor spread", async () => {
    await generated(ann, "planted");
    await until("planted", "Current");
    const own = (await server.must({ path: `${INSTANCES}/dev/kubeconfig`, body: { spec: {} } })).status.kubeConfig;
    const data = { config: Buffer.from(own).toString("base64") };
    const [planted = ""] = /token: (\S+)/.exec(own)?.slice(1) ?? [];
    const { uid } = await server
      .must({
        path: `ownedaccesskeys/${(await stateOf("planted")).status.accessKey}`,
      })
      .then(({ metadata }) => metadata);
    for (let round = 0; round < 4; round++) {
      await server.must({ method: "PATCH", path: `${SECRETS}/planted`, headers: MERGE, body: { data } });
      await vi.waitFor(async () => expect(await tokensOf("planted")).toHaveLength(2), WAIT);
      expect(await textOf("planted")).not.toContain(planted);
    }
    // Of each virtual cluster, there are the present key and the one before.
    await vi.waitFor(async () => {
      const { items } = await server.must({ path: "ownedaccesskeys", as: ann });
      const made = items.filter(({ metadata }: any) =>
        metadata.ownerReferences?.some((owner: any) => owner.uid === uid),
      );
      expect(made).toHaveLength(4);
    }, WAIT);
  });
});

describe("the end of a generator", () => {
  test("its access key revokes all that it gave, at once", async () => {
    await generated(ann, "revoked");
    await until("revoked", "Current");
    const [token = ""] = await tokensOf("revoked");
    expect(await statusOf(token, inside("dev"))).toBe(200);
    const { accessKey } = (await stateOf("revoked")).status;
    await server.must({ method: "DELETE", path: `ownedaccesskeys/${accessKey}`, as: ann });
    expect(await statusOf(token, inside("dev"))).toBe(401);
    await until("revoked", "AccessKeyGone");
    // A change of its spec makes another.
    expect((await change(ann, "revoked", { ttlSeconds: 7_200 })).status).toBe(200);
    await until("revoked", "Current");
    const [next = ""] = await tokensOf("revoked");
    expect(await statusOf(next, inside("dev"))).toBe(200);
  });

  test("a deleted generator leaves neither Secrets nor credentials", async () => {
    await generated(ann, "gone", { format: "Flux" });
    await until("gone", "Current");
    const [, token = ""] = /token: (\S+)/.exec(await textOf("gone-dev", "value")) ?? [];
    await server.must({ method: "DELETE", path: `${GENERATORS}/gone`, as: ann });
    await vi.waitFor(async () => {
      expect((await server.send({ path: `${GENERATORS}/gone` })).status).toBe(404);
      expect((await server.send({ path: `${SECRETS}/gone-dev` })).status).toBe(404);
    }, WAIT);
    expect(await statusOf(token, inside("dev"))).toBe(401);
  });

  test("a creator that leaves the project takes its access with it, and one that is deleted all of it", async () => {
    const eve = await server.user("eve");
    const project = (spec: object) =>
      server.must({ method: "PATCH", path: "projects/shop", headers: MERGE, body: { spec } });
    await project(members("ann", "bob", "eve"));
    await vi.waitFor(async () => expect((await generate(eve, "eves")).status).toBe(201), WAIT);
    await until("eves", "Current");
    const [token = ""] = await tokensOf("eves");
    expect(await statusOf(token, inside("dev"))).toBe(200);
    await project(members("ann", "bob"));
    await vi.waitFor(async () => expect(await statusOf(token, inside("dev"))).toBe(403), WAIT);
    await until("eves", "SecretsForbidden");
    await server.must({ method: "DELETE", path: "users/eve" });
    expect(await statusOf(token, inside("dev"))).toBe(401);
    // Another user of that name is not the creator.
    await server.must({ path: "users", body: { metadata: { name: "eve" } } });
    await project(members("ann", "bob", "eve"));
    expect(await statusOf(token, inside("dev"))).toBe(401);
    await vi.waitFor(
      async () => expect(["AccessKeyGone", "AccessKeyRefused", "CreatorGone"]).toContain(await reason("eves")),
      WAIT,
    );
  });

  test("access that was granted for a time makes no generator that lasts", async () => {
    const fred = await server.user("fred");
    await server.must({
      path: "clusteraccesspolicies",
      body: {
        metadata: { name: "admins" },
        spec: {
          requesters: { users: ["fred"] },
          autoApprove: "true",
          maxDurationSeconds: 600,
          targets: [{ kind: "Project", projects: ["shop"], roles: [ADMIN] }],
        },
      },
    });
    await server.must({
      path: "accessrequests",
      as: fred,
      body: { metadata: {}, spec: { policy: { name: "admins" }, target: { project: "shop" }, role: ADMIN } },
    });
    await vi.waitFor(async () => expect(await statusOf(fred, SECRETS)).toBe(200), WAIT);
    const answer = await generate(fred, "freds");
    expect(answer.status).toBe(403);
    expect(answer.text).toContain("you may not create secrets");
  });
});
