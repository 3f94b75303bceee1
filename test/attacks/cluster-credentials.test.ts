// A key makes credentials inside a virtual cluster: none of them outlives it or reaches further.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { casesOf } from "../../tools/test-cost/by-night.ts";
import { type OwnServer, startOwnServer } from "../e2e/testing/own-server.ts";
import { type Attack, prepareAttack } from "./testing/thief.ts";

const INSIDE = "/kubernetes/project/default/virtualcluster/demo";
const KEYS = "/apis/management.postern/v1/ownedaccesskeys";
const SECRETS = `${INSIDE}/api/v1/namespaces/default/secrets`;
const CSRS = `${INSIDE}/apis/certificates.k8s.io/v1/certificatesigningrequests`;
const DEMO = { project: "default", virtualCluster: "demo" };

let server: OwnServer;
let attack: Attack;
let name: string;

beforeAll(async () => {
  server = await startOwnServer(["--failed-logins-per-minute", "0"]);
  attack = await prepareAttack(server);
  const binding = {
    metadata: { name: "robots" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", name: "default", namespace: "default" }],
  };
  const made = await attack.http(`${INSIDE}/apis/rbac.authorization.k8s.io/v1/clusterrolebindings`, {
    key: attack.admin,
    body: binding,
  });
  expect(made.status, made.text).toBe(201);
});
afterAll(() => server?.[Symbol.asyncDispose]());
beforeEach(() => {
  name = `maker-${attack.unique()}`;
});

type Credential = { readonly token?: string; readonly certificate?: { readonly cert: string; readonly key: string } };

const sent = (
  path: string,
  { token, certificate }: Credential,
  body?: object,
): Promise<{ status: number; body: any }> => {
  if (token !== undefined) return attack.http(path, { key: token, ...(body === undefined ? {} : { body }) });
  return new Promise((resolve, reject) => {
    const options = { ca: readFileSync(server.caFile), agent: false, ...certificate, method: body ? "POST" : "GET" };
    const content = { headers: { "content-type": "application/json" } };
    const out = request(`${server.url}${path}`, { ...options, ...(body ? content : {}) }, (response) => {
      let text = "";
      response.on("data", (chunk) => (text += chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text || "null") }));
    });
    out.on("error", reject).end(body ? JSON.stringify(body) : undefined);
  });
};
const opens = async (credential: Credential) => (await sent(`${INSIDE}/api/v1/namespaces`, credential)).status;

async function tokenRequest(maker: Credential): Promise<Credential> {
  const path = `${INSIDE}/api/v1/namespaces/default/serviceaccounts/default/token`;
  const { status, body } = await sent(path, maker, { spec: { expirationSeconds: 86_400 } });
  expect(status).toBe(201);
  return { token: body.status.token };
}

const tokenSecretCalled = (secret: string) => ({
  metadata: {
    name: secret,
    annotations: {
      "kubernetes.io/service-account.name": "default",
      // A client's own words about its lineage count for nothing.
      "lineage.apiserver.internal/made-with": "{}",
    },
  },
  type: "kubernetes.io/service-account-token",
});

async function tokenIn(secret: string): Promise<Credential> {
  const read = async () => (await attack.http(`${SECRETS}/${secret}`, { key: attack.admin })).body.data?.token;
  await expect.poll(read).toBeDefined();
  return { token: Buffer.from(await read(), "base64").toString() };
}

async function tokenSecret(maker: Credential): Promise<Credential> {
  const secret = `secret-${attack.unique()}`;
  expect((await sent(SECRETS, maker, tokenSecretCalled(secret))).status).toBe(201);
  return await tokenIn(secret);
}

/** The Secret of another user, emptied so that the server puts a new token in. */
async function emptiedSecret({ token }: Credential): Promise<Credential> {
  const secret = `secret-${attack.unique()}`;
  await sent(SECRETS, { token: attack.admin }, tokenSecretCalled(secret));
  const before = await tokenIn(secret);
  const headers = { "content-type": "application/merge-patch+json" };
  const body = JSON.stringify({ data: { token: null } });
  const { status } = await attack.http(`${SECRETS}/${secret}`, { key: token, method: "PATCH", body, headers });
  expect(status).toBe(200);
  await expect.poll(async () => (await tokenIn(secret)).token).not.toBe(before.token);
  return await tokenIn(secret);
}

const signedFor = (asker: Attack["admin"] | undefined, approver: string | undefined) => async (maker: Credential) => {
  const csr = `csr-${attack.unique()}`;
  const [key, der] = [join(server.directory, `${csr}.key`), join(server.directory, `${csr}.pem`)];
  const ec = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  execFileSync("openssl", ["req", ...ec, "-keyout", key, "-out", der, "-subj", `/CN=robot/O=${ROBOTS}`], {
    stdio: "ignore",
  });
  const spec = {
    request: readFileSync(der).toString("base64"),
    signerName: "kubernetes.io/kube-apiserver-client",
    usages: ["client auth"],
  };
  const asking = asker === undefined ? maker : { token: asker };
  const made = await sent(CSRS, asking, { metadata: { name: csr }, spec });
  expect(made.status).toBe(201);
  const approved = { ...made.body, status: { conditions: [{ type: "Approved", status: "True", reason: "x" }] } };
  const { status } = await attack.http(`${CSRS}/${csr}/approval`, {
    key: approver ?? maker.token,
    method: "PUT",
    body: approved,
  });
  expect(status).toBe(200);
  const read = async () => (await attack.http(`${CSRS}/${csr}`, { key: attack.admin })).body.status?.certificate;
  await expect.poll(read).toBeDefined();
  return { certificate: { cert: Buffer.from(await read(), "base64").toString(), key: readFileSync(key, "utf8") } };
};
const ROBOTS = "robots";

const through =
  (first: (maker: Credential) => Promise<Credential>, next: (maker: Credential) => Promise<Credential>) =>
  async (maker: Credential) =>
    await next(await first(maker));

const WAYS: readonly (readonly [string, (maker: Credential) => Promise<Credential>])[] = [
  ["a TokenRequest", tokenRequest],
  ["a token Secret", tokenSecret],
  ["a token Secret of somebody else, emptied", emptiedSecret],
  ["a certificate", (maker) => signedFor(undefined, undefined)(maker)],
  ["a certificate that an administrator approved", (maker) => signedFor(undefined, attack.admin)(maker)],
  ["a certificate that an administrator asked for", (maker) => signedFor(attack.admin, undefined)(maker)],
  ["a token made with a token", through(tokenRequest, tokenRequest)],
  ["a Secret made with a token", through(tokenRequest, tokenSecret)],
  ["a token made with the token of a Secret", through(tokenSecret, tokenRequest)],
];

const patched = (spec: object) => attack.patch(name, { spec });
const ENDINGS: readonly (readonly [string, object, () => Promise<unknown>])[] = [
  ["is deleted", { scope: { virtualClusters: [DEMO] } }, () => remove()],
  ["is disabled", {}, () => patched({ disabled: true })],
  ["is compromised", {}, () => attack.rotate(name, { compromised: true })],
  ["is narrowed", {}, () => patched({ rules: [{ verbs: ["get"], requestTargets: ["ProjectVirtualCluster"] }] })],
];
const remove = () => attack.http(`${KEYS}/${name}`, { key: attack.admin, method: "DELETE" });

describe("credentials that a key created inside a virtual cluster end with the key (security book 2, 13)", () => {
  beforeAll(async () => {
    const binding = {
      metadata: { name: "robot" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: ROBOTS }],
    };
    const path = `${INSIDE}/apis/rbac.authorization.k8s.io/v1/clusterrolebindings`;
    await attack.http(path, { key: attack.admin, body: binding });
  });

  it.each(casesOf(ENDINGS, ([how]) => how === "is deleted" || how === "is narrowed"))(
    "when it %s",
    async (_how, spec, end) => {
      const maker = { token: await attack.newKey(name, spec) };
      const made: [string, Credential][] = [];
      for (const [what, make] of WAYS) made.push([what, await make(maker)]);
      const working = async () => {
        const statuses = await Promise.all(made.map(async ([what, one]) => [what, await opens(one)] as const));
        return statuses.filter(([, status]) => status === 200).map(([what]) => what);
      };
      expect(await working()).toEqual(WAYS.map(([what]) => what));
      await end();
      expect(await working()).toEqual([]);
    },
  );

  it("and with access for a time, where its user has a lower role afterwards", async () => {
    const management = "/apis/management.postern/v1";
    const must = async (path: string, body: object, key = attack.admin, method = "POST") => {
      const headers = method === "PATCH" ? { "content-type": "application/merge-patch+json" } : {};
      const answer = await attack.http(path, { key, method, headers, body: JSON.stringify(body) });
      expect(answer.status, answer.text).toBeLessThan(300);
      return answer.body;
    };
    const user = `visitor-${attack.unique()}`;
    await must(`${management}/users`, { metadata: { name: user }, spec: {} });
    const rules = { extraAccessRules: [{ users: [user], clusterRole: "view" }] };
    await must(
      `${management}/namespaces/p-default/virtualclusterinstances/demo`,
      { spec: rules },
      attack.admin,
      "PATCH",
    );
    const target = { kind: "VirtualCluster", projects: ["default"], names: ["demo"], roles: ["cluster-admin"] };
    await must(`${management}/clusteraccesspolicies`, {
      metadata: { name: user },
      spec: { requesters: { users: [user] }, targets: [target], maxDurationSeconds: 3600, autoApprove: "true" },
    });
    const maker = { token: await attack.newKey(name, { user }) };
    const forSecrets = `${INSIDE}/api/v1/namespaces/default/secrets`;
    const reads = async () => (await sent(forSecrets, maker)).status;
    expect([await opens(maker), await reads()]).toEqual([200, 403]);
    const asked = await must(
      `${management}/accessrequests`,
      {
        metadata: {},
        spec: { policy: { name: user }, target: DEMO, role: "cluster-admin", durationSeconds: 3600 },
      },
      maker.token,
    );
    expect(await reads()).toBe(200);
    const made: [string, Credential][] = [];
    for (const [what, make] of WAYS) made.push([what, await make(maker)]);
    const working = async () => {
      const statuses = await Promise.all(made.map(async ([what, one]) => [what, await opens(one)] as const));
      return statuses.filter(([, status]) => status === 200).map(([what]) => what);
    };
    expect(await working()).toEqual(WAYS.map(([what]) => what));
    const revoke = { spec: { decision: "Revoke" } };
    await must(`${management}/accessrequests/${asked.metadata.name}/approval`, revoke);
    expect([await opens(maker), await reads(), await working()]).toEqual([200, 403, []]);
    // A kubeconfig of its own role is bound to its key alone.
    const own = await attack.kubeconfigWith(maker.token, {}, "token");
    expect(await opens(own[0] ?? {})).toBe(200);
  });

  it("when its end has come", async () => {
    const maker = { token: await attack.newKey(name, { ttl: 8 }) };
    const token = await tokenRequest(maker);
    const secret = await tokenSecret(maker);
    await expect.poll(() => opens(token), { interval: 200 }).toBe(401);
    expect(await opens(secret)).toBe(401);
  });

  it("and stay valid after a normal rotation", async () => {
    const maker = { token: await attack.newKey(name) };
    const token = await tokenRequest(maker);
    await attack.rotate(name);
    expect(await opens(token)).toBe(200);
  });
});

describe("a member leaves the project (security book 13)", () => {
  const PROJECT = "/apis/management.postern/v1/projects/default";
  const member = (name: string, clusterRole: string) => ({ kind: "User", name, clusterRole });
  const setMembers = async (members: readonly object[]) => {
    const body = JSON.stringify({ spec: { members } });
    const headers = { "content-type": "application/merge-patch+json" };
    const { status, text } = await attack.http(PROJECT, { key: attack.admin, method: "PATCH", body, headers });
    expect(status, text).toBe(200);
  };
  const certificateOf = async (key: string): Promise<Credential> => {
    const [loot] = await attack.kubeconfigWith(key, { clientCert: true }, "certificate");
    expect(loot?.certificate).toBeDefined();
    return loot ?? {};
  };

  it("and the certificate of its kubeconfig and what it created inside are refused", async () => {
    const user = `leaver-${attack.unique()}`;
    const users = "/apis/management.postern/v1/users";
    await attack.http(users, { key: attack.admin, body: { metadata: { name: user }, spec: {} } });
    await setMembers([member(user, "postern:project-admin")]);
    const key = await attack.newKey(name, { user });
    const certificate = await certificateOf(key);
    const token = await tokenRequest({ token: key });
    expect([await opens(certificate), await opens(token)]).toEqual([200, 200]);

    const bindings = `${INSIDE}/apis/rbac.authorization.k8s.io/v1/clusterrolebindings`;
    expect((await sent(bindings, certificate)).status).toBe(200);

    // Lowered: the certificate still says cluster-admin, and is not believed.
    await setMembers([member(user, "postern:project-user")]);
    const maps = `${INSIDE}/api/v1/namespaces/default/configmaps`;
    expect((await sent(maps, certificate, { metadata: { name: user } })).status).toBe(201);
    expect((await sent(bindings, certificate)).status).toBe(403);

    await setMembers([]);
    expect([await opens({ token: key }), await opens(certificate), await opens(token)]).toEqual([403, 403, 403]);
  });
});
