// A key asks a cluster that others run for credentials: they end with the key, or the platform refuses the request.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { chosenKubernetesReleases, kubernetesTools } from "../e2e/testing/kubernetes-tools.ts";
import { kubectlWith, postern, succeed, temporaryDirectory } from "../e2e/testing/postern-process.ts";
import { clusterPath, INSTANCES, KEYS, keepKubeconfig, type Server, startTwo } from "../e2e/testing/two-posterns.ts";

const REMOTE = clusterPath("remote");
const ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts/default/token";
const SECRETS = "/api/v1/namespaces/default/secrets";
const CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const DAY = 86_400;

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let near: Server;
let far: Server;
let count = 0;

beforeAll(async () => {
  directory = await temporaryDirectory();
  ({ near, far } = await startTwo(directory.path));
  const authority = await readFile(far.process.caFile);
  const server = `${far.process.url}${clusterPath("demo")}`;
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "far", cluster: { server, "certificate-authority-data": authority.toString("base64") } }],
    users: [{ name: "far", user: { token: far.key } }],
    contexts: [{ name: "far", context: { cluster: "far", user: "far" } }],
    "current-context": "far",
  };
  await keepKubeconfig(near, "vc-remote", JSON.stringify(config));
  await near.create(INSTANCES, {
    kind: "VirtualClusterInstance",
    metadata: { name: "remote" },
    spec: { external: true },
  });
  const reach = async () => {
    const { status } = await near.http(`${REMOTE}/api/v1/namespaces`, { key: near.key });
    if (status !== 200) throw new Error(String(status));
  };
  await vi.waitFor(reach, { timeout: 30_000, interval: 200 });
});
afterAll(async () => {
  await near?.[Symbol.asyncDispose]();
  await far?.[Symbol.asyncDispose]();
  await directory?.[Symbol.asyncDispose]();
});

const keyWith = async (spec: object): Promise<string> =>
  (await near.create(KEYS, { kind: "OwnedAccessKey", metadata: { name: `k${++count}` }, spec })).spec.key;
const send = (key: string, path: string, body: object | string, headers?: Record<string, string>, method = "POST") =>
  near.http(`${REMOTE}${path}`, { key, body, method, ...(headers === undefined ? {} : { headers }) });

const HOUR_LEFT = { ttl: 3600 };
const APPLY = { "content-type": "application/apply-patch+yaml" };
const annotations = { "kubernetes.io/service-account.name": "default" };
const tokenSecret = (name: string, type = "kubernetes.io/service-account-token") => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, annotations },
  type,
});
const secondsUntil = (timestamp: string) => (Date.parse(timestamp) - Date.now()) / 1000;

describe("class 7 behind the proxy, in a cluster that others run (security book 2, 13)", () => {
  it.each([
    ["much more than the key has left", "application/json", JSON.stringify({ spec: { expirationSeconds: DAY } })],
    ["nothing", "application/json", "{}"],
    ["much more, in YAML", "application/yaml", `spec:\n  expirationSeconds: ${DAY}\n`],
    [
      "much more, in a body of two members of that name",
      "application/json",
      `{"spec":{},"spec":{"expirationSeconds":${DAY}}}`,
    ],
  ])("gives a token that ends with the key to a request that asks for %s", async (_what, type, body) => {
    const key = await keyWith({ ttl: 1800 });
    const answer = await send(key, ACCOUNTS, body, { "content-type": type });
    expect(answer.status, answer.text).toBe(201);
    expect(secondsUntil(answer.body.status.expirationTimestamp)).toBeLessThanOrEqual(1800);
  });

  it("gives a token that ends with access for a time, and none without an end", async () => {
    const management = KEYS.slice(0, KEYS.lastIndexOf("/"));
    await near.create(`${management}/users`, { kind: "User", metadata: { name: "visitor" } });
    const target = { kind: "VirtualCluster", projects: ["default"], names: ["remote"], roles: ["cluster-admin"] };
    await near.create(`${management}/clusteraccesspolicies`, {
      kind: "ClusterAccessPolicy",
      metadata: { name: "visits" },
      spec: { requesters: { users: ["visitor"] }, targets: [target], maxDurationSeconds: 3600, autoApprove: "true" },
    });
    // The other cluster knows the user, and decides about it itself.
    const rules = { extraAccessRules: [{ users: ["visitor"], clusterRole: "cluster-admin" }] };
    const known = await far.http(`${INSTANCES}/demo`, {
      ...{ key: far.key, method: "PATCH", headers: { "content-type": "application/merge-patch+json" } },
      body: { spec: rules },
    });
    expect(known.status, known.text).toBe(200);
    const key = await keyWith({ user: "visitor", ttl: DAY });
    const place = { project: "default", virtualCluster: "remote" };
    const asked = await near.http(`${management}/accessrequests`, {
      key,
      body: {
        metadata: {},
        spec: { policy: { name: "visits" }, target: place, role: "cluster-admin", durationSeconds: 1200 },
      },
    });
    expect(asked.status, asked.text).toBe(201);
    const token = await send(key, ACCOUNTS, { spec: { expirationSeconds: DAY } });
    expect(token.status, token.text).toBe(201);
    expect(secondsUntil(token.body.status.expirationTimestamp)).toBeLessThanOrEqual(1200);
    const secret = await send(key, SECRETS, tokenSecret("visiting"));
    expect([secret.status, secret.body.message]).toEqual([403, expect.stringContaining("the access request access-")]);
  });

  it("does not ask for the one life that kube-apiserver makes a year of", async () => {
    const answer = await send(await keyWith({ ttl: DAY }), ACCOUNTS, { spec: { expirationSeconds: 3607 } });
    expect(answer.body.spec.expirationSeconds).toBe(3606);
  });

  it("gives a key without an end what it asks for", async () => {
    const answer = await send(near.key, ACCOUNTS, { spec: { expirationSeconds: DAY } });
    expect(answer.body.spec.expirationSeconds).toBe(DAY);
  });

  it("gives no token and no certificate to a key with less than ten minutes left", async () => {
    const key = await keyWith({ ttl: 300 });
    expect((await send(key, ACCOUNTS, {})).status).toBe(403);
    expect((await send(key, CSRS, { metadata: { name: "short" }, spec: {} })).status).toBe(403);
  });

  it.each(chosenKubernetesReleases())("bounds what kubectl %s sends in protobuf", async (release) => {
    const { kubectl: program } = await kubernetesTools(release);
    const key = await keyWith({ ttl: 1800 });
    const config = join(directory.path, `kubectl-${release}.kubeconfig`);
    const cluster = { server: `${near.process.url}${REMOTE}`, "certificate-authority": near.process.caFile };
    const text = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "remote", cluster }],
      users: [{ name: "remote", user: { token: key } }],
      contexts: [{ name: "remote", context: { cluster: "remote", user: "remote" } }],
      "current-context": "remote",
    };
    await writeFile(config, JSON.stringify(text), { mode: 0o600 });
    const kubectl = kubectlWith(config, join(directory.path, `cache-${release}`), program);
    const token = await succeed(kubectl(["create", "token", "default", "--duration=24h"]));
    const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
    expect(claims.exp - Date.now() / 1000).toBeLessThanOrEqual(1800);

    const name = `protobuf-${release.replace(".", "-")}`;
    const create = ["create", "secret", "generic", name, "--from-literal=a=b", "-v=8"];
    const refused = await kubectl([...create, "--type=bootstrap.kubernetes.io/token"]);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("the access key expires")]);
    const made = await kubectl(create);
    expect([made.code, made.stderr]).toEqual([0, expect.stringContaining("application/vnd.kubernetes.protobuf")]);
    const seen = await far.http(`${clusterPath("demo")}${SECRETS}/${name}`, { key: far.key });
    expect([seen.body.type, seen.body.data]).toEqual(["Opaque", { a: "Yg==" }]);
  });

  it("passes on numbers beyond those of JavaScript", async () => {
    const key = await keyWith(HOUR_LEFT);
    const body = '{"metadata":{"generation":9223372036854775807},"spec":{"expirationSeconds":9223372036854775807}}';
    const answer = await send(key, ACCOUNTS, body);
    expect(answer.status, answer.text).toBe(201);
    expect(secondsUntil(answer.body.status.expirationTimestamp)).toBeLessThanOrEqual(3600);
  });

  it("refuses bodies that it cannot parse or that are compressed", async () => {
    const key = await keyWith(HOUR_LEFT);
    for (const path of [ACCOUNTS, SECRETS, CSRS]) {
      expect((await send(key, path, "{}", { "content-type": "application/cbor" })).status).toBe(415);
      const protobuf = { "content-type": "application/vnd.kubernetes.protobuf" };
      expect((await send(key, path, "k8s", protobuf)).status).toBe(400);
      expect((await send(key, path, "k8s\0", { ...protobuf, "content-encoding": "gzip" })).status).toBe(415);
      expect((await send(key, path, "{}", { "content-encoding": "gzip" })).status).toBe(415);
    }
  });

  it.each<[string, object]>([
    ["with an end", HOUR_LEFT],
    ["with rules for secrets alone", { rules: [{ verbs: ["*"], resources: [{ group: "", resources: ["secrets"] }] }] }],
  ])("gives no token Secret to a key %s, and other Secrets as before", async (_what, spec) => {
    const key = await keyWith({
      scope: { virtualClusters: [{ project: "default", virtualCluster: "remote" }] },
      ...spec,
    });
    const name = `s${++count}`;
    const escaped = JSON.stringify(tokenSecret(name)).replace(
      "kubernetes.io/service-account-t",
      "kubernetes.io\\/service-account-\\u0074",
    );
    const statuses = [
      await send(key, SECRETS, tokenSecret(name)),
      await send(key, SECRETS, escaped),
      await send(key, SECRETS, tokenSecret(name, "bootstrap.kubernetes.io/token")),
      await send(key, `${SECRETS}/${name}?fieldManager=x`, JSON.stringify(tokenSecret(name)), APPLY, "PATCH"),
    ].map(({ status }) => status);
    expect(statuses).toEqual([403, 403, 403, 403]);
    expect((await far.http(`${clusterPath("demo")}${SECRETS}/${name}`, { key: far.key })).status).toBe(404);

    await send(near.key, SECRETS, tokenSecret(name));
    const merge = { "content-type": "application/merge-patch+json" };
    const other = JSON.stringify({ metadata: { annotations: { "kubernetes.io/service-account.name": "robot" } } });
    expect((await send(key, `${SECRETS}/${name}`, other, merge, "PATCH")).status).toBe(403);
    const operations = [
      { op: "copy", from: "/metadata/labels/x", path: "/metadata/annotations/kubernetes.io~1service-account.name" },
    ];
    const json = { "content-type": "application/json-patch+json" };
    expect((await send(key, `${SECRETS}/${name}`, JSON.stringify(operations), json, "PATCH")).status).toBe(403);

    const plain = { apiVersion: "v1", kind: "Secret", metadata: { name: `${name}-plain` }, stringData: { a: "b" } };
    const made = await send(key, SECRETS, plain);
    expect(made.status, made.text).toBe(201);
    expect(made.body.data).toEqual({ a: "Yg==" });
  });
});

describe("certificates of a cluster that verifies them itself", () => {
  const remote = `${INSTANCES}/remote`;
  const SAYS = /valid until \S+Z in the cluster itself/;
  const issue = async (key: string): Promise<void> => {
    const body = { spec: { clientCert: true, certificateTTL: 3600, server: "https://far.example.com" } };
    const answer = await near.http(`${remote}/kubeconfig`, { key, body });
    expect([answer.status, answer.text]).toEqual([201, expect.stringContaining("client-certificate-data")]);
  };
  const listed = async (path: string): Promise<readonly any[]> =>
    (await near.send(`${path}/credentials`)).status.credentials.filter(({ kind }: any) => kind === "Certificate");
  const certificateOf = async (parent: string): Promise<any> =>
    (await listed(remote)).find(({ parents }: any) => parents.includes(parent.split("_")[1]));
  const cli = (...args: readonly string[]) =>
    postern("credentials", ...args, "--kubeconfig", near.process.adminKubeconfig);

  it("cannot be revoked, and are listed as valid in the cluster", async () => {
    const key = await keyWith({ ttl: 7200 });
    await issue(key);
    const certificate = await certificateOf(key);
    expect(certificate).toMatchObject({ kind: "Certificate", enforcedBy: "Cluster" });
    const answer = await near.http(`${remote}/credentials`, {
      key: near.key,
      body: { spec: { revoke: [certificate.id] } },
    });
    expect([answer.status, answer.body.message]).toEqual([422, expect.stringMatching(SAYS)]);
    const failed = await cli("revoke", "--yes", certificate.id);
    expect(failed).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(SAYS) });
    expect((await cli("list")).stdout).toMatch(/serial:\S+ .*Z, in the cluster itself/);
    expect(await certificateOf(key)).toEqual(certificate);
    // A key beside it is not revoked either.
    const both = [key.split("_")[1], certificate.id];
    const refused = await near.http(`${remote}/credentials`, { key: near.key, body: { spec: { revoke: both } } });
    expect(refused.status).toBe(422);
    expect((await near.http(KEYS, { key })).status).toBe(200);
  });

  it.each(["disabled", "deleted"])("stay listed when their key is %s", async (how) => {
    const key = await keyWith({ ttl: 7200 });
    await issue(key);
    const { id } = await certificateOf(key);
    const name = `k${count}`;
    if (how === "disabled") await near.send(`${KEYS}/${name}`, { spec: { disabled: true } }, "PATCH");
    else await near.send(`${KEYS}/${name}`, undefined, "DELETE");
    expect((await near.http(KEYS, { key })).status).toBe(401);
    for (const path of [remote, "/kubernetes/management/apis/management.postern/v1/users/admin"])
      expect((await listed(path)).find((each) => each.id === id)).toMatchObject({ enforcedBy: "Cluster" });
  });

  it("make the command fail that revokes the key they were created with", async () => {
    const key = await keyWith({ ttl: 7200 });
    await issue(key);
    const id = key.split("_")[1] ?? "";
    const failed = await cli("revoke", "--yes", id);
    expect(failed).toMatchObject({
      code: 1,
      stdout: `credential ${id} revoked\n`,
      stderr: expect.stringMatching(SAYS),
    });
    expect((await near.http(KEYS, { key })).status).toBe(401);
    const [certificate] = await listed(`${KEYS}/k${count}`);
    expect(certificate).toMatchObject({ enforcedBy: "Cluster" });
  });
});
