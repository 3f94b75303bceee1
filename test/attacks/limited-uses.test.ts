// A key with spec.maxUses authenticates exactly that many requests, on all servers together, and yields nothing that authenticates more.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type OwnServer, startOwnServer } from "../e2e/testing/own-server.ts";
import { kubectlWith, type PosternProcess, startPostern, startTool, succeed } from "../e2e/testing/postern-process.ts";
import { startTwoOnEtcd, type TwoOnEtcd } from "../e2e/testing/two-on-etcd.ts";
import { attackerOf, MERGE } from "./testing/attacking.ts";

type Client = Awaited<ReturnType<typeof attackerOf>>;

const CLUSTER = "/kubernetes/project/default/virtualcluster/demo";
const INSTANCE = "namespaces/p-default/virtualclusterinstances/demo";

const statusesOf = (answers: readonly { readonly status: number }[]) => ({
  accepted: answers.filter(({ status }) => status === 200).length,
  refused: answers.filter(({ status }) => status === 401).length,
});

describe("an access key with spec.maxUses", () => {
  let server: OwnServer;
  let client: Client;

  const use = (as: string, path = "projects") => client.send({ path, as });
  const shown = async (name: string) => await client.must({ path: `ownedaccesskeys/${name}` });
  const patch = (name: string, spec: object, as = client.admin) =>
    client.send({ path: `ownedaccesskeys/${name}`, method: "PATCH", headers: MERGE, body: { spec }, as });
  const auditOf = async (id: string): Promise<any> => {
    const lines = (await readFile(join(server.directory, "audit.log"), "utf8")).split("\n");
    return JSON.parse(lines.find((line) => line.includes(`"${id}"`)) ?? "{}");
  };

  beforeAll(async () => {
    server = await startOwnServer((directory) => [
      ...["--audit-log-path", join(directory, "audit.log"), "--audit-log-mode", "blocking"],
      ...["--failed-logins-per-minute", "0"],
    ]);
    client = await attackerOf(server);
    await vi.waitUntil(async () => (await client.must({ path: INSTANCE })).status?.phase === "Ready", 30_000);
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  it("is accepted as often as it says, then refused in the words of any other refusal", async () => {
    const key = await client.key("twice", { user: "admin", maxUses: 2 });
    expect((await shown("twice")).status.uses).toBe(0);
    // An answer with an error is a use as well.
    expect([(await use(key)).status, (await use(key, "projects/none")).status]).toEqual([200, 404]);
    const refused = await client.send({ path: "projects", as: key, headers: { "audit-id": "used-up" } });
    expect([refused.status, refused.body]).toEqual([401, (await use("no such key")).body]);
    expect((await auditOf("used-up")).annotations).toMatchObject({
      "authentication.kubernetes.io/refusal": "used 2 times, and spec.maxUses is 2",
      "authentication.kubernetes.io/credential-id": expect.any(String),
    });
    const { text: metrics } = await client.send({ path: "/metrics" });
    expect(metrics).toMatch(/postern_access_key_refusals_total\{reason="UsesExhausted"\} [1-9]/);
    const { body } = await client.send({ path: "ownedaccesskeys/twice/explain", body: {} });
    expect(body.status).toMatchObject({
      refusal: expect.stringContaining("used 2 times"),
      remedies: [expect.stringContaining("spec.maxUses")],
    });
    await expect
      .poll(async () => (await shown("twice")).status)
      .toMatchObject({ uses: 2, conditions: [{ type: "Ready", status: "False", reason: "UsesExhausted" }] });
    const kubectl = kubectlWith(server.adminKubeconfig, join(server.directory, "cache"));
    expect(await succeed(kubectl(["get", "ownedaccesskeys", "twice", "-o", "wide"]))).toMatch(/UsesExhausted.* 2\/2 /);
  });

  it("is accepted exactly so often by requests at one moment, on one connection or many", async () => {
    const key = await client.key("racing", { user: "admin", maxUses: 10 });
    const answers = await Promise.all(Array.from({ length: 60 }, () => use(key)));
    expect(statusesOf(answers)).toEqual({ accepted: 10, refused: 50 });
    expect((await shown("racing")).status.uses).toBe(10);
  });

  it("keeps its last use open for as long as it lasts", async () => {
    const key = await client.key("watching", { user: "admin", maxUses: 1 });
    const url = `${server.url}/apis/management.postern/v1/projects?watch=true`;
    const bearer = `authorization: Bearer ${key}`;
    using watch = startTool("curl", ["--silent", "--no-buffer", "--cacert", server.caFile, "--header", bearer, url]);
    await vi.waitUntil(() => watch.output().includes('"default"'), 30_000);
    await expect.poll(async () => (await shown("watching")).status.uses).toBe(1);
    await client.must({ path: "projects", body: { metadata: { name: "seen-late" } } });
    expect((await use(key)).status).toBe(401);
    await vi.waitUntil(() => watch.output().includes('"seen-late"'), 30_000);
    expect(watch.isOver()).toBe(false);
  });

  it("is used once by a request of a directory, however many objects SCIM reads and writes for it", async () => {
    await client.must({ path: "users", body: { metadata: { name: "directory" }, spec: { kind: "Bot" } } });
    await client.must({
      path: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
      body: {
        metadata: { name: "directory" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "postern:admin" },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "directory" }],
      },
    });
    const spec = { user: "directory", maxUses: 4, scope: { roles: [{ role: "scim" }] } };
    const key = await client.key("scim-limited", spec);
    const scim = (path: string, body?: object, method?: string) =>
      client.send({
        path: `/scim/v2/${path}`,
        as: key,
        headers: { "content-type": "application/scim+json" },
        ...(body === undefined ? {} : { body }),
        ...(method === undefined ? {} : { method }),
      });
    const usesNow = async () => (await shown("scim-limited")).status.uses;
    const made = await scim("Users", {
      schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
      userName: "ulla",
      active: true,
    });
    expect([made.status, await usesNow()]).toEqual([201, 1]);
    const operations = [{ op: "replace", path: "displayName", value: "Ulla" }];
    const patch = { schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"], Operations: operations };
    expect((await scim(`Users/${made.body.id}`, patch, "PATCH")).status).toBe(200);
    expect([(await scim("Users")).status, await usesNow()]).toEqual([200, 3]);
    // The last use answers as well, and not one after it.
    expect((await scim(`Users/${made.body.id}`, undefined, "DELETE")).status).toBe(204);
    expect([(await scim("Users")).status, await usesNow()]).toEqual([401, 4]);
  });

  it("counts neither what is refused before, nor what others do with the key", async () => {
    const key = await client.key("elsewhere", { user: "admin", maxUses: 2, allowedSourceRanges: ["127.0.0.9"] });
    for (let times = 0; times < 3; times++) expect((await use(key)).status).toBe(401);
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token: key } };
    const { body } = await client.send({ path: "/apis/authentication.k8s.io/v1/tokenreviews", body: review });
    expect(body.status.authenticated ?? false).toBe(false);
    const self = { apiVersion: "management.postern/v1", kind: "Self", spec: { accessKey: key } };
    expect((await client.send({ path: "selves", body: self })).status).toBe(401);
    expect((await shown("elsewhere")).status.uses).toBe(0);
    // A sign-in presents the key, which is a use, and gets no session.
    const session = { path: "/login/session", body: { key }, headers: { "sec-fetch-site": "same-origin" }, as: "" };
    expect((await client.send({ ...session, from: "127.0.0.9" })).status).toBe(403);
    expect((await shown("elsewhere")).status.uses).toBe(1);
    expect((await client.send({ path: "projects", as: key, from: "127.0.0.9" })).status).toBe(200);
  });

  it("yields no credential, and changes no access key", async () => {
    const key = await client.key("maker", { user: "admin", maxUses: 1000 });
    await client.key("other", { user: "admin" });
    const named = (kind: string, path: string, spec: object, apiVersion = "management.postern/v1") => ({
      path,
      body: { apiVersion, kind, metadata: { name: "made" }, spec },
    });
    const rule = {
      issuer: { url: "https://issuer.example", jwks: '{"keys":[]}' },
      audiences: ["us"],
      claims: [{ claim: "sub", values: ["x"] }],
      user: "admin",
    };
    const generator = { selector: {}, secretRef: { name: "made" } };
    const token = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    const secret = {
      apiVersion: "v1",
      kind: "Secret",
      type: "kubernetes.io/service-account-token",
      metadata: { name: "made", annotations: { "kubernetes.io/service-account.name": "default" } },
    };
    const attempts = [
      named("OwnedAccessKey", "ownedaccesskeys", { user: "admin" }),
      named("AccessKey", "/apis/storage.postern/v1/accesskeys", {
        user: "admin",
        key: `${"k".repeat(16)}0123456789abcdef`,
      }),
      { path: `${INSTANCE}/kubeconfig`, body: { spec: {} } },
      { path: `${INSTANCE}/kubeconfig`, body: { spec: { clientCert: true } } },
      { path: "ownedaccesskeys/maker/rotate", body: { spec: { nonce: "n" } } },
      { path: "ownedaccesskeys/other/rotate", body: { spec: { nonce: "n" } } },
      named("ClusterTrustRule", "clustertrustrules", rule),
      named("TrustRule", "namespaces/p-default/trustrules", rule),
      named("KubeconfigGenerator", "namespaces/p-default/kubeconfiggenerators", generator),
      { path: `${CLUSTER}/api/v1/namespaces/default/serviceaccounts/default/token`, body: token },
      { path: `${CLUSTER}/api/v1/namespaces/default/secrets`, body: secret },
    ];
    for (const attempt of attempts) {
      const { status, body } = await client.send({ ...attempt, as: key });
      expect([attempt.path, status, body.message]).toEqual([
        attempt.path,
        403,
        expect.stringMatching(/spec\.maxUses|serviceaccounts/),
      ]);
    }
    for (const name of ["maker", "other"])
      for (const spec of [
        { maxUses: null },
        { maxUses: 9999 },
        { key: `${"k".repeat(16)}fedcba9876543210` },
        { displayName: "x" },
      ])
        expect([name, spec, (await patch(name, spec, key)).status]).toEqual([name, spec, 403]);
    // A Secret without its token is given another one.
    const secrets = `${CLUSTER}/api/v1/namespaces/default/secrets`;
    await client.must({ path: secrets, body: secret });
    const dropped = { path: `${secrets}/made`, method: "PATCH", headers: MERGE, body: { data: { token: null } } };
    await expect.poll(async () => (await client.must({ path: dropped.path })).data?.token).toBeTypeOf("string");
    expect((await client.send({ ...dropped, as: key })).status).toBe(403);
    expect((await client.send(dropped)).status).toBe(200);
    // Anything else of its owner it may do.
    expect((await client.send({ path: "projects", as: key, body: { metadata: { name: "by-maker" } } })).status).toBe(
      201,
    );
    const before = (await shown("maker")).status.uses;
    expect((await client.send({ path: `${CLUSTER}/api/v1/namespaces`, as: key })).status).toBe(200);
    expect((await shown("maker")).status.uses).toBe(before + 1);
  });

  it("keeps its count through a rotation and other changes; only another credential allows more", async () => {
    const key = await client.key("rotated", { user: "admin", maxUses: 2 });
    expect((await use(key)).status).toBe(200);
    const { status } = await client.must({
      path: "ownedaccesskeys/rotated/rotate",
      body: { spec: { nonce: "n", gracePeriodSeconds: 600 } },
    });
    // The old value in its grace period, and the new one.
    expect([(await use(key)).status, (await use(status.key)).status]).toEqual([200, 401]);
    await client.must({
      path: "ownedaccesskeys/rotated",
      method: "PATCH",
      headers: MERGE,
      body: { status: { uses: 0 }, spec: { displayName: "x" } },
    });
    expect((await shown("rotated")).status.uses).toBe(2);
    expect((await use(status.key)).status).toBe(401);
    expect((await patch("rotated", { maxUses: 3 })).status).toBe(200);
    expect([(await use(status.key)).status, (await use(status.key)).status]).toEqual([200, 401]);
    expect((await patch("rotated", { maxUses: 1 })).status).toBe(200);
    expect((await use(status.key)).status).toBe(401);
  });

  it.each([0, -1, 10_001, 1.5, "3"])("cannot have %j uses", async (maxUses) => {
    const { status } = await client.send({
      path: "ownedaccesskeys",
      body: { metadata: { name: "invalid" }, spec: { user: "admin", maxUses } },
    });
    expect([400, 422]).toContain(status);
  });
});

describe.skipIf(whyNoEtcd() !== undefined)("two servers on one etcd", () => {
  let two: TwoOnEtcd<PosternProcess>;
  let clients: readonly Client[];

  beforeAll(async () => {
    two = await startTwoOnEtcd(startPostern, ["--failed-logins-per-minute", "0"]);
    clients = await Promise.all(two.servers.map((server) => attackerOf(server)));
  });
  afterAll(() => two?.[Symbol.asyncDispose]());

  it("never accept more than spec.maxUses in sum, while the key is changed as well", async () => {
    const [one, other] = clients as readonly [Client, Client];
    const key = await one.key("shared", { user: "admin", maxUses: 25 });
    await expect.poll(async () => (await other.send({ path: "ownedaccesskeys/shared" })).status).toBe(200);
    const uses = Array.from({ length: 80 }, (_, at) =>
      (at % 2 === 0 ? one : other).send({ path: "projects", as: key }),
    );
    const changes = Array.from({ length: 6 }, (_, at) =>
      (at % 2 === 0 ? one : other).send({
        path: "ownedaccesskeys/shared",
        method: "PATCH",
        headers: MERGE,
        body: { spec: { displayName: `change ${at}` } },
      }),
    );
    const answers = await Promise.all(uses);
    expect(statusesOf(answers)).toEqual({ accepted: 25, refused: 55 });
    // A change gives way to uses that are written at the same time, after some attempts.
    for (const { status } of await Promise.all(changes)) expect([200, 409]).toContain(status);
    for (const client of clients) {
      await expect.poll(async () => (await client.must({ path: "ownedaccesskeys/shared" })).status.uses).toBe(25);
      expect((await client.send({ path: "projects", as: key })).status).toBe(401);
    }
  });
});
