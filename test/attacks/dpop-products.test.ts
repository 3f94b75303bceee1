// Keys that are bound to a key pair where they meet other features: wrapped values, rotation, impersonation, generators, access for a time, audiences.

import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign } from "node:crypto";
import { calculateJwkThumbprint } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { adminKey, type HttpClient, type HttpRequest, httpClient } from "../e2e/testing/http-client.ts";
import { type OwnServer, startOwnServer } from "../e2e/testing/own-server.ts";

const API = "/apis/management.postern/v1";
const KEYS = `${API}/ownedaccesskeys`;
const PROJECTS = `${API}/projects`;
const INSTANCE = `${API}/namespaces/p-default/virtualclusterinstances/demo`;
const CLUSTER = "/kubernetes/project/default/virtualcluster/demo";
const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

describe("a key that is bound to a key pair", () => {
  let server: OwnServer;
  let ask: HttpClient;
  let admin: string;
  let pair: { privateKey: KeyObject; jwk: object };
  let confirmation: { jwkThumbprint: string };
  let nonce: string;
  let bound: string;

  const proofOf = (key: string, method: string, at: string): string => {
    const claims = {
      ...{ jti: randomUUID(), htm: method, htu: `${server.url}${at.split("?")[0]}`, nonce },
      ...{ iat: Math.floor(Date.now() / 1000), ath: createHash("sha256").update(key).digest("base64url") },
    };
    const content = `${encode({ typ: "dpop+jwt", alg: "ES256", jwk: pair.jwk })}.${encode(claims)}`;
    const by = { key: pair.privateKey, dsaEncoding: "ieee-p1363" } as const;
    return `${content}.${sign("sha256", Buffer.from(content), by).toString("base64url")}`;
  };
  const prove = (at: string, key: string, { headers, ...more }: HttpRequest = {}) =>
    ask(at, {
      ...more,
      headers: {
        authorization: `DPoP ${key}`,
        dpop: proofOf(key, more.method ?? (more.body === undefined ? "GET" : "POST"), at),
        ...headers,
      },
    });
  const statuses = async (at: string, key: string): Promise<readonly number[]> => [
    (await prove(at, key)).status,
    (await ask(at, { key })).status,
  ];

  beforeAll(async () => {
    server = await startOwnServer(["--failed-logins-per-minute", "0"]);
    admin = await adminKey(server);
    ask = await httpClient(server);
    await vi.waitUntil(async () => (await ask(INSTANCE, { key: admin })).body.status?.phase === "Ready", 30_000);
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    pair = { privateKey, jwk: publicKey.export({ format: "jwk" }) };
    confirmation = { jwkThumbprint: await calculateJwkThumbprint(pair.jwk as any) };
    const made = await ask(KEYS, {
      key: admin,
      body: { metadata: { name: "bound" }, spec: { user: "admin", confirmation } },
    });
    bound = made.body.spec.key;
  });
  beforeEach(async () => {
    const dpop = proofOf(bound, "GET", PROJECTS);
    const { headers } = await ask(PROJECTS, { headers: { authorization: `DPoP ${bound}`, dpop } });
    nonce = String(headers["dpop-nonce"] ?? nonce);
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  it("is bound also where it was delivered wrapped, and unwrapping needs no proof", async () => {
    const at = `${KEYS}?wrap=5m`;
    const made = await prove(at, bound, { body: { metadata: { name: "wrapped" }, spec: {} } });
    expect(made.status, made.text).toBe(201);
    const read = await ask("/unwrap", { body: { value: made.body.status.wrapped.value } });
    expect(read.status, read.text).toBe(200);
    expect(await statuses(PROJECTS, read.body.accessKey)).toEqual([200, 401]);
  });

  it("is bound after a rotation, by its old value and by its new one", async () => {
    const own = { metadata: { name: "rotated" }, spec: { user: "admin", confirmation } };
    const old = (await ask(KEYS, { key: admin, body: own })).body.spec.key;
    const at = `${KEYS}/rotated/rotate`;
    const body = { spec: { nonce: "nonce-of-the-rotation", gracePeriodSeconds: 300 } };
    expect((await ask(at, { key: old, body })).status).toBe(401);
    const rotated = await prove(at, old, { body });
    expect(rotated.status, rotated.text).toBe(201);
    for (const key of [old, rotated.body.status.key]) expect(await statuses(PROJECTS, key)).toEqual([200, 401]);
  });

  it("impersonates with a proof alone, and makes no key as another user", async () => {
    await ask(`${API}/users`, { key: admin, body: { metadata: { name: "jane" } } });
    const headers = { "impersonate-user": "jane" };
    expect((await ask(`${API}/selves`, { key: bound, headers, body: { spec: {} } })).status).toBe(401);
    const self = await prove(`${API}/selves`, bound, { headers, body: { spec: {} } });
    expect(self.body.status?.user?.name ?? self.text).toBe("jane");
    const made = await prove(KEYS, bound, { headers, body: { metadata: { name: "of-jane" }, spec: { user: "jane" } } });
    expect(made.status, made.text).toBe(403);
  });

  it("makes credentials inside that are bound, or prove themselves", async () => {
    const inside = `${CLUSTER}/api/v1/namespaces/default`;
    const annotations = { "kubernetes.io/service-account.name": "default" };
    const secret = { metadata: { name: "robot", annotations }, type: "kubernetes.io/service-account-token" };
    expect((await prove(`${inside}/secrets`, bound, { body: secret })).status).toBe(201);
    await vi.waitUntil(
      async () => (await ask(`${inside}/secrets/robot`, { key: admin })).body.data?.token !== undefined,
      30_000,
    );
    const { data } = (await ask(`${inside}/secrets/robot`, { key: admin })).body;
    const token = Buffer.from(data.token, "base64").toString();
    const who = `${CLUSTER}/apis/authentication.k8s.io/v1/selfsubjectreviews`;
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
    expect([(await ask(who, { key: token, body })).status, (await prove(who, token, { body })).status]).toEqual([
      401, 201,
    ]);
  });

  it("writes no generator, whose readers could use none of its tokens", async () => {
    const at = `${API}/namespaces/p-default/kubeconfiggenerators`;
    const body = { metadata: { name: "fleet" }, spec: { selector: {}, secretRef: { name: "fleet" } } };
    const made = await prove(at, bound, { body });
    expect([made.status, made.body.message]).toEqual([403, expect.stringContaining("spec.confirmation")]);
  });

  it("is bound to its receivers as well", async () => {
    const own = { user: "admin", confirmation, audiences: ["postern:platform"] };
    const key = (await ask(KEYS, { key: admin, body: { metadata: { name: "narrow" }, spec: own } })).body.spec.key;
    expect([(await prove(PROJECTS, key)).status, (await prove(`${CLUSTER}/api`, key)).status]).toEqual([200, 401]);
  });

  it("takes the path as it came: one that means the same needs a proof of its own", async () => {
    for (const at of [
      `/kubernetes/management${PROJECTS}`,
      `${PROJECTS}/`,
      PROJECTS.replace("projects", "%70rojects"),
    ]) {
      const dpop = proofOf(bound, "GET", PROJECTS);
      const { status } = await ask(at, { headers: { authorization: `DPoP ${bound}`, dpop } });
      expect([at, status]).toEqual([at, 401]);
    }
    expect((await prove(`/kubernetes/management${PROJECTS}`, bound)).status).toBe(200);
  });

  it("takes a proof for any query of its path, once", async () => {
    const dpop = proofOf(bound, "GET", PROJECTS);
    const headers = { authorization: `DPoP ${bound}`, dpop };
    // The query is no part of a proof: RFC 9449, section 4.2.
    expect((await ask(`${PROJECTS}?limit=1`, { headers })).status).toBe(200);
    expect((await ask(PROJECTS, { headers })).status).toBe(401);
  });
});
