import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { type RunningPlatform, startPlatform } from "../../testing/running-platform.ts";

const DEMO = "namespaces/p-default/virtualclusterinstances/demo";
/** Query of the request that makes a kubeconfig. */
const INTO = { requestTargets: ["Management"] };
const INSIDE = "/kubernetes/project/default/virtualcluster/demo";

describe("the ledger of credentials", () => {
  let platform: RunningPlatform;
  beforeAll(async () => {
    platform = await startPlatform();
    await platform.send({
      method: "POST",
      path: "users",
      body: { metadata: { name: "jane" }, spec: {} },
    });
    await platform.send({
      method: "PATCH",
      path: "projects/default",
      body: { spec: { members: [{ kind: "User", name: "jane", clusterRole: "postern:project-user" }] } },
    });
  });
  afterAll(() => platform[Symbol.asyncDispose]());

  const create = async (name: string, spec: object = { user: "jane" }): Promise<string> =>
    (await platform.send({ method: "POST", path: "ownedaccesskeys", body: { metadata: { name }, spec } })).body.spec
      .key;
  const kubeConfig = async (key: string, spec: object = {}) => {
    const { body } = await platform.send({ method: "POST", path: `${DEMO}/kubeconfig`, key, body: { spec } });
    const { user } = parse(body.status.kubeConfig).users[0];
    const decoded = (text: string | undefined) => Buffer.from(text ?? "", "base64").toString();
    return {
      token: user.token as string,
      certificate: { cert: decoded(user["client-certificate-data"]), key: decoded(user["client-key-data"]) },
    };
  };
  const list = async (path: string, key?: string) => {
    const { status, body } = await platform.send({ path: `${path}/credentials`, key });
    expect(status).toBe(200);
    return body.status.credentials;
  };
  const revoke = (path: string, ids: readonly string[], key?: string) =>
    platform.send({ method: "POST", path: `${path}/credentials`, key, body: { spec: { revoke: ids } } });
  const enters = async (certificate: { cert: string; key: string }) =>
    (await platform.send({ path: `${INSIDE}/api/v1/namespaces`, certificate })).status;
  const remove = (name: string) => platform.send({ method: "DELETE", path: `ownedaccesskeys/${name}` });

  it("lists keys, kubeconfig tokens and certificates with their parents", async () => {
    const parent = await create("parent", {
      user: "jane",
      ttl: 7200,
      scope: { virtualClusters: [{ project: "default", virtualCluster: "demo" }] },
    });
    const { token } = await kubeConfig(parent);
    const { certificate } = await kubeConfig(parent, { clientCert: true, certificateTTL: 3600 });
    expect(await enters(certificate)).toBe(200);
    const parentId = parent.split("_")[1];
    const expected = [
      expect.objectContaining({ id: parentId, kind: "AccessKey", name: "parent", owner: "user/jane", parents: [] }),
      expect.objectContaining({
        id: token.split("_")[1],
        kind: "AccessKey",
        virtualCluster: "default/demo",
        parents: [parentId],
      }),
      expect.objectContaining({
        id: expect.stringMatching(/^serial:[0-9A-F]{32}$/),
        kind: "Certificate",
        owner: "user/jane",
        subject: "jane",
        virtualCluster: "default/demo",
        parents: [parentId],
      }),
    ];
    expect(await list("ownedaccesskeys/parent")).toEqual(expected);
    expect(await list("users/jane")).toEqual(expected);
    expect(await list(DEMO)).toEqual(expect.arrayContaining(expected));
    await remove("parent");
    expect(await list("users/jane")).toEqual([]);
  });

  it("all credentials of a user are revoked at once, and the user stays", async () => {
    const keys = [await create("first"), await create("second")];
    const [first = ""] = keys;
    const { token } = await kubeConfig(first);
    const { certificate } = await kubeConfig(first, { clientCert: true });
    const send = (spec: object) => platform.send({ method: "POST", path: "users/jane/credentials", body: { spec } });
    const both = await send({ all: true, revoke: [first.split("_")[1]] });
    expect([both.status, both.body.message]).toEqual([422, expect.stringContaining("spec.revoke")]);
    expect((await platform.send({ path: "projects", key: first })).status).toBe(200);
    const { status, body } = await send({ all: true });
    expect([status, body.status.credentials]).toEqual([201, []]);
    for (const key of [...keys, token]) expect((await platform.send({ path: "projects", key })).status).toBe(401);
    expect(await enters(certificate)).toBe(401);
    expect((await platform.send({ path: "users/jane" })).body.spec.disabled).toBeUndefined();
    const again = await create("third");
    expect((await platform.send({ path: "projects", key: again })).status).toBe(200);
    for (const name of ["first", "second", "third"]) await remove(name);
  });

  it("a revoked certificate is refused at once, and its connections are closed (security book 13)", async () => {
    await create("holder");
    const key = await create("asks");
    const { certificate } = await kubeConfig(key, { clientCert: true });
    const watch = await platform.open({ path: `${INSIDE}/api/v1/namespaces/default/configmaps?watch=1`, certificate });
    expect(watch.status).toBe(200);
    const [entry] = (await list(DEMO)).filter(({ kind }: any) => kind === "Certificate");
    const answer = await revoke("ownedaccesskeys/asks", [entry.id]);
    expect(answer.status).toBe(201);
    await watch.ended;
    const refused = await platform.send({ path: `${INSIDE}/api/v1/namespaces`, certificate });
    expect([refused.status, refused.body.message]).toEqual([401, "platform access key not found. Please login again"]);
    expect((await platform.send({ path: "projects", key })).status).toBe(200);
    expect(answer.body.status.credentials.map(({ id }: any) => id)).toEqual([key.split("_")[1]]);
    await remove("holder");
    await remove("asks");
  });

  it.each<[string, (key: string) => Promise<unknown>]>([
    [
      "is disabled",
      () => platform.send({ method: "PATCH", path: "ownedaccesskeys/p", body: { spec: { disabled: true } } }),
    ],
    ["is deleted", () => remove("p")],
    [
      "is narrowed below it",
      () => platform.send({ method: "PATCH", path: "ownedaccesskeys/p", body: { spec: { scope: {} } } }),
    ],
    [
      "is narrowed by rules",
      () =>
        platform.send({ method: "PATCH", path: "ownedaccesskeys/p", body: { spec: { rules: [{ verbs: ["get"] }] } } }),
    ],
    [
      "is narrowed by rules of its scope",
      () =>
        platform.send({
          method: "PATCH",
          path: "ownedaccesskeys/p",
          body: { spec: { scope: { rules: [{ requestTargets: ["Management"] }] } } },
        }),
    ],
    [
      "loses its owner to a lock",
      () => platform.send({ method: "PATCH", path: "users/jane", body: { spec: { disabled: true } } }),
    ],
    ["is revoked in the ledger", (key) => revoke("ownedaccesskeys/p", [key.split("_")[1] ?? ""])],
    [
      "is locked by the use of a retired value",
      async (key) => {
        await platform.send({ method: "POST", path: "ownedaccesskeys/p/rotate", body: { spec: { nonce: "a" } } });
        await platform.send({ path: "projects", key });
      },
    ],
  ])("a certificate and a token die with the key that asked, when it %s (security book 2, 13)", async (_what, end) => {
    const key = await create("p");
    const { certificate } = await kubeConfig(key, { clientCert: true });
    const { token } = await kubeConfig(key);
    expect([await enters(certificate), (await platform.send({ path: DEMO, key: token })).status]).toEqual([200, 200]);
    await end(key);
    expect(await enters(certificate)).toBe(401);
    const { status } = await platform.send({ path: DEMO, key: token });
    expect(status).toBe(401);
    await platform.send({ method: "PATCH", path: "users/jane", body: { spec: { disabled: false } } });
    await remove("p");
  });

  it.each<[what: string, rules: object[], gives: number]>([
    ["open everything", [{}], 201],
    ["open this virtual cluster", [{}, { virtualClusters: [{ name: "demo", namespace: "p-default" }] }], 201],
    ["open all virtual clusters by stars", [{ verbs: ["*"], virtualClusters: [{ name: "*" }] }, INTO], 201],
    ["open some verbs", [{ verbs: ["get", "create", "use"] }], 403],
    ["open some resources of it", [INTO, { virtualClusters: [{ name: "demo" }], resources: [{ group: "" }] }], 403],
    ["open another virtual cluster", [INTO, { virtualClusters: [{ name: "other" }] }], 403],
    ["open requests to the management API alone", [INTO], 403],
  ])("a key whose rules %s (security book 2)", async (_what, rules, gives) => {
    const key = await create("p", { user: "jane", rules });
    const ask = (spec: object) => platform.send({ method: "POST", path: `${DEMO}/kubeconfig`, key, body: { spec } });
    const withCertificate = await ask({ clientCert: true });
    expect([withCertificate.status, (await ask({})).status]).toEqual([gives, 201]);
    if (gives === 403) expect(withCertificate.body.message).toContain("leave out spec.clientCert");
    else {
      const { certificate } = await kubeConfig(key, { clientCert: true });
      expect(await enters(certificate)).toBe(200);
      await platform.send({ method: "PATCH", path: "ownedaccesskeys/p", body: { spec: { rules: [INTO] } } });
      expect(await enters(certificate)).toBe(401);
    }
    await remove("p");
  });

  it("keeps a revocation through everything that is written of the certificate later (security book 16)", async () => {
    const key = await create("p");
    const { certificate } = await kubeConfig(key, { clientCert: true });
    const [, entry] = await list("ownedaccesskeys/p");
    await revoke("ownedaccesskeys/p", [entry.id]);
    await kubeConfig(key, { clientCert: true });
    expect(await enters(certificate)).toBe(401);
    await remove("p");
  });

  it("knowing an ID is not enough: it is revoked only below its own object (security book 5)", async () => {
    await platform.send({ method: "POST", path: "users", body: { metadata: { name: "eve" }, spec: {} } });
    const eve = await create("eves", { user: "eve" });
    const janes = await create("janes");
    const id = janes.split("_")[1] ?? "";
    const outcomes = await Promise.all([
      revoke("ownedaccesskeys/eves", [id], eve),
      revoke("ownedaccesskeys/janes", [id], eve),
      revoke("users/jane", [id], eve),
      revoke("users/eve", [id], eve),
      revoke(DEMO, [id], eve),
      platform.send({ path: "users/jane/credentials", key: eve }),
      platform.send({ path: "ownedaccesskeys/janes/credentials", key: eve }),
      platform.send({ path: `${DEMO}/credentials`, key: eve }),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual([422, 404, 403, 403, 403, 403, 404, 403]);
    expect((await platform.send({ path: "users/eve/credentials", key: eve })).status).toBe(200);
    expect((await platform.send({ path: "projects", key: janes })).status).toBe(200);
  });

  it("revokes nothing where one of the IDs is not in the list", async () => {
    const key = await create("p");
    const answer = await revoke("ownedaccesskeys/p", [key.split("_")[1] ?? "", "serial:00"]);
    expect([answer.status, answer.body.message.includes("spec.revoke[1]")]).toEqual([422, true]);
    expect((await platform.send({ path: "projects", key })).status).toBe(200);
    const dry = await platform.send({
      method: "POST",
      path: "ownedaccesskeys/p/credentials?dryRun=All",
      body: { spec: { revoke: [key.split("_")[1]] } },
    });
    expect(dry.status).toBe(201);
    expect((await platform.send({ path: "projects", key })).status).toBe(200);
    await remove("p");
  });
});
