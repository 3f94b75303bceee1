// A key whose spec.confirmation names a key pair is of no use without a proof, signed for one request by that pair (RFC 9449). The client is openid-client;
// the attacker writes proofs by hand.

import { createHash, createHmac, generateKeyPairSync, type KeyObject, randomUUID, sign } from "node:crypto";
import { readFile, stat, writeFile } from "node:fs/promises";
import { Agent } from "node:https";
import { join } from "node:path";
import { serveIssuer } from "@postern/platform/foundation/issuers/testing/serve-issuer";
import { whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { calculateJwkThumbprint } from "jose";
import {
  Configuration,
  type CustomFetch,
  customFetch,
  fetchProtectedResource,
  genericGrantRequest,
  getDPoPHandle,
  None,
  randomDPoPKeyPair,
} from "openid-client";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { startServerProcess } from "../crash/testing/server-process.ts";
import { adminKey, agentClient, type HttpClient, type HttpRequest, httpClient } from "../e2e/testing/http-client.ts";
import { type OwnServer, startOwnServer } from "../e2e/testing/own-server.ts";
import {
  ENTRY,
  NODE,
  type PosternProcess,
  startPostern,
  succeed,
  temporaryDirectory,
  tool,
} from "../e2e/testing/postern-process.ts";
import { startTwoOnEtcd } from "../e2e/testing/two-on-etcd.ts";

const API = "/apis/management.postern/v1";
const KEYS = `${API}/ownedaccesskeys`;
const PROJECTS = `${API}/projects`;
const INSTANCE = `${API}/namespaces/p-default/virtualclusterinstances/demo`;
const CLUSTER = "/kubernetes/project/default/virtualcluster/demo";
const NAMESPACES = `${CLUSTER}/api/v1/namespaces`;
const MERGE = { "content-type": "application/merge-patch+json" };

type Pair = { readonly privateKey: KeyObject; readonly jwk: any; readonly thumbprint: string };
/** Members to replace; undefined takes one away. */
type Forgery = { readonly header?: object; readonly claims?: object; readonly by?: KeyObject };

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const hashOf = (text: string): string => createHash("sha256").update(text).digest("base64url");

const signed = (header: object, claims: object, by: KeyObject): string => {
  const content = `${encode(header)}.${encode(claims)}`;
  return `${content}.${sign("sha256", Buffer.from(content), { key: by, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
};

async function newPair(): Promise<Pair> {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwk = publicKey.export({ format: "jwk" });
  return { privateKey, jwk, thumbprint: await calculateJwkThumbprint(jwk as any) };
}

describe("an access key that is bound to a key pair", () => {
  let server: OwnServer;
  let ask: HttpClient;
  let admin: string;
  let own: Pair;
  let other: Pair;
  let bound: string;
  let nonce: string;

  const path = (name: string): string => join(server.directory, name);
  const create = (name: string, spec: object) => ask(KEYS, { key: admin, body: { metadata: { name }, spec } });
  const keyOf = async (name: string, spec: object): Promise<string> => {
    const { body, text } = await create(name, { user: "admin", ...spec });
    expect(body.spec?.key, text).toBeDefined();
    return body.spec.key;
  };
  const parts = (key: string, method: string, at: string, { header = {}, claims = {} }: Forgery = {}) =>
    [
      { typ: "dpop+jwt", alg: "ES256", jwk: own.jwk, ...header },
      {
        ...{
          jti: randomUUID(),
          htm: method,
          htu: `${server.url}${at.split("?")[0]}`,
          iat: Math.floor(Date.now() / 1000),
        },
        ...{ ath: hashOf(key), nonce },
        ...claims,
      },
    ] as const;
  const proofOf = (key: string, method: string, at: string, forgery: Forgery = {}): string =>
    signed(...parts(key, method, at, forgery), forgery.by ?? own.privateKey);
  /** A request with a proof of its own, or with the one that is given. */
  const prove = (
    at: string,
    key: string,
    { proof, headers, ...more }: HttpRequest & { proof?: string } = {},
    by = ask,
  ) =>
    by(at, {
      ...more,
      headers: {
        authorization: `DPoP ${key}`,
        dpop: proof ?? proofOf(key, more.method ?? (more.body === undefined ? "GET" : "POST"), at),
        ...headers,
      },
    });
  const provenBy = (pair: Pair, at: string, key: string, more: HttpRequest = {}) =>
    prove(at, key, {
      ...more,
      proof: proofOf(key, more.method ?? (more.body === undefined ? "GET" : "POST"), at, {
        header: { jwk: pair.jwk },
        by: pair.privateKey,
      }),
    });
  /** Its library sends with these: they trust the CA of the server. */
  const overOurConnections: CustomFetch = async (url, { method, headers, body }) => {
    const { pathname, search } = new URL(url);
    const text = body === null || body === undefined ? {} : { body: String(body) };
    // Headers of this client are plain objects.
    const answer = await ask(`${pathname}${search}`, { method, headers: { ...(headers as any) }, ...text });
    return new Response(answer.text, { status: answer.status, headers: answer.headers as any });
  };
  const challengeOf = ({ headers }: { headers: any }): string =>
    /error="(\w+)"/.exec(headers["www-authenticate"] ?? "")?.[1] ?? "";
  const freshNonce = async (at: Pick<PosternProcess, "url"> = server, by = ask): Promise<string> => {
    const claims = { nonce: undefined, htu: `${at.url}${PROJECTS}` };
    const { headers } = await prove(PROJECTS, bound, { proof: proofOf(bound, "GET", PROJECTS, { claims }) }, by);
    return String(headers["dpop-nonce"]);
  };

  beforeAll(async () => {
    server = await startOwnServer((directory) => [
      ...["--audit-log-path", join(directory, "audit.log"), "--audit-log-mode", "blocking"],
      ...["--failed-logins-per-minute", "0"],
      ...["--proxy-allowed-addresses", "127.0.0.1/32"],
    ]);
    admin = await adminKey(server);
    ask = await httpClient(server);
    await vi.waitUntil(async () => (await ask(INSTANCE, { key: admin })).body.status?.phase === "Ready", 30_000);
    [own, other] = await Promise.all([newPair(), newPair()]);
    bound = await keyOf("bound", { confirmation: { jwkThumbprint: own.thumbprint } });
  });
  beforeEach(async () => {
    nonce = await freshNonce();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  it.each(["ES256", "Ed25519", "PS256", "RS256"])(
    "works with a client that knows nothing of us, which signs by %s and is given a nonce",
    async (algorithm) => {
      const pair = await randomDPoPKeyPair(algorithm, { extractable: true });
      const jwk = await crypto.subtle.exportKey("jwk", pair.publicKey);
      const key = await keyOf(`client-${algorithm.toLowerCase()}`, {
        confirmation: { jwkThumbprint: await calculateJwkThumbprint(jwk as any) },
      });
      const configuration = new Configuration({ issuer: server.url }, "client");
      const sent: number[] = [];
      configuration[customFetch] = async (...call) => {
        const response = await overOurConnections(...call);
        sent.push(response.status);
        return response;
      };
      const DPoP = getDPoPHandle(configuration, pair);
      for (const at of [`${PROJECTS}?limit=1`, NAMESPACES])
        expect(
          (await fetchProtectedResource(configuration, key, new URL(server.url + at), "GET", null, undefined, { DPoP }))
            .status,
        ).toBe(200);
      expect(sent).toEqual([401, 200, 200]);
      const made = await fetchProtectedResource(
        configuration,
        key,
        new URL(server.url + KEYS),
        "POST",
        JSON.stringify({ metadata: { name: `child-${algorithm.toLowerCase()}` }, spec: {} }),
        new Headers({ "content-type": "application/json" }),
        { DPoP },
      );
      expect(((await made.json()) as any).spec.confirmation).toEqual({
        jwkThumbprint: await calculateJwkThumbprint(jwk as any),
      });
    },
  );

  it("is refused as a bearer token, in the words of any other refusal; audit log, metric and an Event say why", async () => {
    const unknown = await ask(PROJECTS, { key: "no such key" });
    for (const at of [PROJECTS, NAMESPACES]) {
      for (const dpop of [undefined, proofOf(bound, "GET", at)]) {
        const headers = { "audit-id": randomUUID(), ...(dpop === undefined ? {} : { dpop }) };
        const refused = await ask(at, { key: bound, headers });
        expect(refused).toMatchObject({ status: 401, body: unknown.body });
        expect(refused.headers["www-authenticate"]).toBeUndefined();
        const line = (await readFile(path("audit.log"), "utf8"))
          .split("\n")
          .find((each) => each.includes(headers["audit-id"]));
        expect(JSON.parse(line ?? "").annotations).toMatchObject({
          "authentication.kubernetes.io/refusal": "spec.confirmation: the request has no DPoP proof",
          "access-key/name": "bound",
        });
      }
    }
    const metric = (await ask("/metrics", { key: admin })).text;
    expect(metric).toMatch(/postern_access_key_refusals_total\{reason="ProofMissing"\} [1-9]/);
    const about = "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=bound";
    await expect
      .poll(async () =>
        (await ask(about, { key: admin })).body.items.map(({ type, reason }: any) => `${type} ${reason}`),
      )
      .toEqual(["Warning UsedWithoutProof"]);
  });

  it("takes a proof once, and tells a client without a nonce which one to take, whatever the value", async () => {
    const proof = proofOf(bound, "GET", PROJECTS);
    const seen = [await prove(PROJECTS, bound, { proof }), await prove(PROJECTS, bound, { proof })];
    expect(seen.map(({ status }) => status)).toEqual([200, 401]);
    expect(challengeOf(seen[1] as any)).toBe("invalid_dpop_proof");
    const answers = await Promise.all(
      [...Array(20)].map(() =>
        prove(NAMESPACES, bound, { proof: proofOf(bound, "GET", NAMESPACES, { claims: { jti: "same" } }) }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const key of [bound, "no such key"]) {
      for (const wrong of [undefined, "", "x", `${nonce}x`, nonce.replace(/\..*\./, ".1.")]) {
        const refused = await prove(PROJECTS, key, {
          proof: proofOf(key, "GET", PROJECTS, { claims: { nonce: wrong } }),
        });
        expect([refused.status, challengeOf(refused)]).toEqual([401, "use_dpop_nonce"]);
        expect(refused.headers["dpop-nonce"]).toBeTruthy();
      }
      const { headers, status } = await prove(PROJECTS, key);
      expect([status, headers["dpop-nonce"]]).toEqual([key === bound ? 200 : 401, undefined]);
    }
  });

  const symmetric = (): string => {
    const [header, claims] = parts(bound, "GET", PROJECTS, { header: { alg: "HS256" } });
    const content = `${encode(header)}.${encode(claims)}`;
    return `${content}.${createHmac("sha256", JSON.stringify(own.jwk)).update(content).digest("base64url")}`;
  };
  const with_ = (forgery: Forgery) => (): string => proofOf(bound, "GET", PROJECTS, forgery);
  it.each<readonly [what: string, proof: () => string]>([
    ["none at all", () => ""],
    ["a text", () => "proof"],
    ["two proofs", () => `${with_({})()}, ${with_({})()}`],
    ["a huge one", with_({ claims: { more: "x".repeat(9_000) } })],
    [
      "the algorithm none",
      () =>
        `${encode({ ...parts(bound, "GET", PROJECTS)[0], alg: "none" })}.${encode(parts(bound, "GET", PROJECTS)[1])}.`,
    ],
    ["an HMAC with the public key", symmetric],
    ["another algorithm than its key", with_({ header: { alg: "RS256" } })],
    ["the type JWT", with_({ header: { typ: "JWT" } })],
    ["no type", with_({ header: { typ: undefined } })],
    ["critical extensions", with_({ header: { crit: ["exp"] } })],
    ["no key", with_({ header: { jwk: undefined } })],
    ["a kid for a key", with_({ header: { jwk: undefined, kid: "1" } })],
    ["a private key", with_({ header: { jwk: undefined } })],
    ["a point that is not on the curve", with_({ header: { jwk: { kty: "EC", crv: "P-256", x: "AA", y: "AA" } } })],
    ["a signature by another key", () => with_({ by: other.privateKey })()],
    ["another key, which signed it", () => with_({ header: { jwk: other.jwk }, by: other.privateKey })()],
    ["another method", with_({ claims: { htm: "POST" } })],
    ["a method in lower case", with_({ claims: { htm: "get" } })],
    ["no method", with_({ claims: { htm: undefined } })],
    ["another path", () => with_({ claims: { htu: `${server.url}${KEYS}` } })()],
    ["a path that leads there", () => with_({ claims: { htu: `${server.url}/x/..${PROJECTS}/` } })()],
    ["another server", with_({ claims: { htu: `https://postern.example${PROJECTS}` } })],
    ["another scheme", () => with_({ claims: { htu: `${server.url.replace("https", "http")}${PROJECTS}` } })()],
    ["our name as a user", () => with_({ claims: { htu: `https://127.0.0.1@evil.example${PROJECTS}` } })()],
    ["a path without server", with_({ claims: { htu: PROJECTS } })],
    ["a URL that is a list", () => with_({ claims: { htu: [`${server.url}${PROJECTS}`] } })()],
    ["an old time", with_({ claims: { iat: Math.floor(Date.now() / 1000) - 3600 } })],
    ["a time to come", with_({ claims: { iat: Math.floor(Date.now() / 1000) + 3600 } })],
    ["no time", with_({ claims: { iat: undefined } })],
    ["a time that is a text", with_({ claims: { iat: String(Math.floor(Date.now() / 1000)) } })],
    ["no identifier", with_({ claims: { jti: undefined } })],
    ["an identifier of ten thousand characters", with_({ claims: { jti: "j".repeat(300) } })],
    ["no hash of the key", with_({ claims: { ath: undefined } })],
    ["the hash of another key", with_({ claims: { ath: hashOf("another") } })],
  ])("is refused with a proof that has %s", async (what, proof) => {
    const jwk = own.privateKey.export({ format: "jwk" });
    const text = what === "a private key" ? with_({ header: { jwk } })() : proof();
    const { status, headers } = await prove(PROJECTS, bound, { proof: text });
    expect([status, challengeOf({ headers })]).toEqual([401, "invalid_dpop_proof"]);
  });

  it("counts each kind of refusal", async () => {
    const metrics = (await ask("/metrics", { key: admin })).text;
    for (const reason of ["ProofMissing", "ProofInvalid", "ProofReplayed"])
      expect(metrics).toMatch(new RegExp(`postern_access_key_refusals_total\\{reason="${reason}"\\} [1-9]`));
  });

  it("is compared with names of the server, not with the host that a client names", async () => {
    const proof = () => proofOf(bound, "GET", PROJECTS, { claims: { htu: `https://evil.example${PROJECTS}` } });
    const agent = new Agent({
      ca: await readFile(server.caFile),
      keepAlive: false,
      checkServerIdentity: () => undefined,
    });
    const misled = agentClient(server.url, agent);
    expect((await prove(PROJECTS, bound, { proof: proof(), headers: { host: "evil.example" } }, misled)).status).toBe(
      401,
    );
    const forwarded = { host: "evil.example", "x-forwarded-host": "evil.example", forwarded: "host=evil.example" };
    expect((await prove(PROJECTS, bound, { proof: proof(), headers: forwarded }, misled)).status).toBe(401);
    const byName = { htu: `https://localhost:9999${PROJECTS}?with=query#part` };
    expect((await prove(PROJECTS, bound, { proof: proofOf(bound, "GET", PROJECTS, { claims: byName }) })).status).toBe(
      200,
    );
  });

  it("is the only kind of key that the scheme takes", async () => {
    const plain = await keyOf("plain", {});
    const refused = await prove(PROJECTS, plain, { proof: proofOf(plain, "GET", PROJECTS) });
    expect(refused.status).toBe(401);
    // A header that nothing asks for is of no account.
    expect((await ask(PROJECTS, { key: plain, headers: { dpop: "x" } })).status).toBe(200);
  });

  it("makes keys that are bound, to the same pair or to a client of its own, and none that are not", async () => {
    const child = await prove(KEYS, bound, { body: { metadata: { name: "child" }, spec: {} } });
    expect(child.body.spec.confirmation).toEqual({ jwkThumbprint: own.thumbprint });
    expect((await prove(PROJECTS, child.body.spec.key)).status).toBe(200);
    expect((await ask(PROJECTS, { key: child.body.spec.key })).status).toBe(401);
    const spec = { confirmation: { jwkThumbprint: other.thumbprint } };
    const handed = await prove(KEYS, bound, { body: { metadata: { name: "handed" }, spec } });
    expect((await prove(PROJECTS, handed.body.spec.key)).status).toBe(401);
    expect((await provenBy(other, PROJECTS, handed.body.spec.key)).status).toBe(200);
    const certificate = { confirmation: { certificateSHA256: "0".repeat(64) } };
    const certified = await prove(KEYS, bound, { body: { metadata: { name: "certified" }, spec: certificate } });
    expect((await prove(PROJECTS, certified.body.spec.key)).status).toBe(401);
    for (const [name, change] of [
      ["bound", { confirmation: null }],
      ["plain", { displayName: "x" }],
    ] as const) {
      const patched = await prove(`${KEYS}/${name}`, bound, {
        method: "PATCH",
        headers: MERGE,
        body: { spec: change },
      });
      expect([name, patched.status]).toEqual([name, 403]);
    }
  });

  it("bounds tokens of kubeconfigs and ServiceAccounts; a certificate of a kubeconfig proves itself", async () => {
    const asked = await prove(`${INSTANCE}/kubeconfig`, bound, { body: { spec: {} } });
    const token = /token: (\S+)/.exec(asked.body.status.kubeConfig)?.[1] ?? "";
    expect((await ask(NAMESPACES, { key: token })).status).toBe(401);
    expect((await prove(NAMESPACES, token)).status).toBe(200);
    const at = `${CLUSTER}/api/v1/namespaces/default/serviceaccounts/default/token`;
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    const account = (await prove(at, bound, { body })).body.status.token;
    const who = `${CLUSTER}/apis/authentication.k8s.io/v1/selfsubjectreviews`;
    const review = { body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" } };
    expect((await ask(who, { key: account, ...review })).status).toBe(401);
    expect((await provenBy(other, who, account, review)).status).toBe(401);
    const proof = proofOf(account, "POST", who);
    const answers = [await prove(who, account, { proof, ...review }), await prove(who, account, { proof, ...review })];
    expect(answers.map(({ status }) => status)).toEqual([201, 401]);
    const unbound = (await ask(at, { key: admin, body })).body.status.token;
    expect((await ask(who, { key: unbound, ...review })).status).toBe(201);
    expect((await prove(who, unbound, { ...review })).status).toBe(401);
    const { kubeConfig } = (await prove(`${INSTANCE}/kubeconfig`, bound, { body: { spec: { clientCert: true } } })).body
      .status;
    const data = (name: string): Buffer =>
      Buffer.from(new RegExp(`${name}: (\\S+)`).exec(kubeConfig)?.[1] ?? "", "base64");
    const credential = { cert: data("client-certificate-data"), key: data("client-key-data") };
    const agent = new Agent({ ca: await readFile(server.caFile), keepAlive: false, ...credential });
    expect((await agentClient(server.url, agent)(NAMESPACES)).status).toBe(200);
  });

  it("is refused in token reviews, introspection and sign-ins, which show no proof", async () => {
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token: bound } };
    const { body } = await ask("/apis/authentication.k8s.io/v1/tokenreviews", { key: admin, body: review });
    expect(body.status.authenticated ?? false).toBe(false);
    const self = { apiVersion: "management.postern/v1", kind: "Self", spec: { accessKey: bound } };
    expect((await ask(`${API}/selves`, { key: admin, body: self })).status).toBe(401);
    expect((await prove(`${API}/selves`, bound, { body: self })).status).toBe(201);
    const headers = { "sec-fetch-site": "same-origin" };
    expect((await ask("/login/session", { body: { key: bound }, headers })).status).toBe(401);
  });

  it.each([
    ["jwkThumbprint", ""],
    ["jwkThumbprint", "abc"],
    ["jwkThumbprint", "A".repeat(42)],
    ["jwkThumbprint", `${"A".repeat(42)}B`],
    ["jwkThumbprint", "0".repeat(64)],
  ])("is bound to a thumbprint alone: %s %s", async (member, value) => {
    expect((await create("invalid", { user: "admin", confirmation: { [member]: value } })).status).toBe(422);
    const both = { jwkThumbprint: own.thumbprint, certificateSHA256: "0".repeat(64) };
    expect((await create("invalid", { user: "admin", confirmation: both })).status).toBe(422);
  });

  it("keeps a watch that was opened with a proof until the key ends", async () => {
    const key = await keyOf("watching", { confirmation: { jwkThumbprint: own.thumbprint } });
    const at = `${PROJECTS}?watch=true`;
    const watch = tool("curl", [
      ...["--silent", "--no-buffer", "--cacert", server.caFile, "--output", path("watch")],
      ...["--header", `authorization: DPoP ${key}`, "--header", `dpop: ${proofOf(key, "GET", at)}`, server.url + at],
    ]);
    await expect.poll(() => readFile(path("watch"), "utf8").catch(() => "")).toContain("ADDED");
    const moved = { spec: { confirmation: { jwkThumbprint: other.thumbprint } } };
    await ask(`${KEYS}/watching`, { key: admin, method: "PATCH", headers: MERGE, body: moved });
    await watch;
    expect((await prove(PROJECTS, key)).status).toBe(401);
    expect((await provenBy(other, PROJECTS, key)).status).toBe(200);
  });

  it("spends a use of a key only with a good proof", async () => {
    const key = await keyOf("counted", { maxUses: 2, confirmation: { jwkThumbprint: own.thumbprint } });
    const proof = proofOf(key, "GET", PROJECTS);
    const seen = [];
    for (const given of [proof, proof, proofOf(key, "GET", PROJECTS, { by: other.privateKey }), undefined, undefined])
      seen.push((await prove(PROJECTS, key, given === undefined ? {} : { proof: given })).status);
    expect(seen).toEqual([200, 401, 401, 200, 401]);
  });

  it("writes no trust rules, and reaches SCIM as any other key", async () => {
    const spec = { issuer: { url: "https://issuer.example", jwks: '{"keys":[]}' }, audiences: ["us"], user: "admin" };
    const rule = { metadata: { name: "ci" }, spec: { ...spec, claims: [{ claim: "sub", values: ["x"] }] } };
    expect((await prove(`${API}/clustertrustrules`, bound, { body: rule })).status).toBe(403);
    const scope = { roles: [{ role: "scim" }] };
    const key = await keyOf("scim", { scope, maxUses: 3, confirmation: { jwkThumbprint: own.thumbprint } });
    const user = { schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"], userName: "provisioned" };
    const headers = { "content-type": "application/scim+json" };
    expect((await ask("/scim/v2/Users", { key, headers, body: user })).status).toBe(401);
    expect((await prove("/scim/v2/Users", key, { headers, body: user })).status).toBe(201);
    expect((await prove("/scim/v2/Users", key)).body.totalResults).toBeGreaterThan(0);
    expect((await prove("/scim/v2/Users", key)).status).toBe(200);
    expect((await prove("/scim/v2/Users", key)).status).toBe(401);
  });

  it("is what a token exchange with a proof gives, and a token with a wrong proof stays unused", async () => {
    await using issuer = await serveIssuer();
    await ask(`${API}/users`, { key: admin, body: { metadata: { name: "bot" }, spec: { kind: "Bot" } } });
    const spec = {
      issuer: { url: issuer.url, certificateAuthority: issuer.certificateAuthorityPem },
      ...{ audiences: ["us"], claims: [{ claim: "sub", values: ["job"] }], user: "bot", singleUse: true },
    };
    const made = await ask(`${API}/clustertrustrules`, { key: admin, body: { metadata: { name: "jobs" }, spec } });
    expect(made.status, made.text).toBe(201);
    const newToken = () => issuer.sign({ sub: "job", aud: "us", jti: randomUUID() });
    const fields = (token: string) => ({
      subject_token: token,
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
      audience: "jobs",
    });
    const grant = "urn:ietf:params:oauth:grant-type:token-exchange";
    const send = async (token: string, proof: string) =>
      await ask("/oauth/token", {
        method: "POST",
        body: new URLSearchParams({ grant_type: grant, ...fields(token) }).toString(),
        headers: { "content-type": "application/x-www-form-urlencoded", dpop: proof },
      });
    const token = await newToken();
    await expect
      .poll(
        async () => (await ask(`${API}/clustertrustrules/jobs`, { key: admin })).body.status?.conditions?.[0]?.status,
      )
      .toBe("True");
    for (const [error, forgery] of [
      ["use_dpop_nonce", { claims: { nonce: undefined } }],
      ["invalid_dpop_proof", { claims: { htu: `${server.url}${PROJECTS}` } }],
      ["invalid_dpop_proof", { by: other.privateKey }],
    ] as const) {
      const refused = await send(token, proofOf("", "POST", "/oauth/token", forgery));
      expect([refused.status, refused.body.error]).toEqual([400, error]);
    }
    const pair = await randomDPoPKeyPair("ES256");
    const metadata = { issuer: server.url, token_endpoint: `${server.url}/oauth/token` };
    const configuration = new Configuration(metadata, "job", undefined, None());
    configuration[customFetch] = overOurConnections;
    const DPoP = getDPoPHandle(configuration, pair);
    const given = await genericGrantRequest(configuration, grant, fields(token), { DPoP });
    expect(given.token_type.toLowerCase()).toBe("dpop");
    const who = new URL(`${server.url}${API}/ownedaccesskeys`);
    expect(
      (await fetchProtectedResource(configuration, given.access_token, who, "GET", null, undefined, { DPoP })).status,
    ).toBe(200);
    expect((await ask(`${API}/ownedaccesskeys`, { key: given.access_token })).status).toBe(401);
    expect((await prove(`${API}/ownedaccesskeys`, given.access_token)).status).toBe(401);
  });

  it("is made and used by postern, and by kubectl with certificates that postern exchanges it for", async () => {
    const run = (args: readonly string[], ...environment: readonly string[]) =>
      tool("env", [`HOME=${path("home")}`, ...environment, NODE, ENTRY, ...args]);
    const make = ["key", "create", "cli", "--dpop", path("cli"), "--kubeconfig", server.adminKubeconfig];
    const made = await run(make);
    expect(made, made.stderr).toMatchObject({ code: 0 });
    expect((await stat(path("cli.key"))).mode & 0o777).toBe(0o600);
    expect((await run(make)).stderr).toContain("exists");
    const there = [`POSTERN_URL=${server.url}`, `POSTERN_CA=${server.caFile}`, `POSTERN_TOKEN=${made.stdout.trim()}`];
    const signing = [...there, `POSTERN_DPOP_KEY=${path("cli.key")}`];
    expect((await run(["whoami", "-o", "json"], ...there)).code).not.toBe(0);
    expect((await run(["whoami", "-o", "json"], ...signing)).code).toBe(0);
    await writeFile(path("other.key"), other.privateKey.export({ type: "pkcs8", format: "pem" }));
    expect((await run(["whoami"], ...there, `POSTERN_DPOP_KEY=${path("other.key")}`)).code).not.toBe(0);
    expect((await run(["whoami"], ...there, `POSTERN_DPOP_KEY=${server.caFile}`)).stderr).toContain("no private key");
    const direct = await run(["kubeconfig", "demo"], ...signing);
    expect(direct.stdout, direct.stderr).toContain("client-key-data");
    expect(direct.stdout).not.toContain("token:");
    await writeFile(path("direct.yaml"), direct.stdout, { mode: 0o600 });
    const plugin = await run(["kubeconfig", "demo", "--exec"], ...signing);
    expect(plugin.stdout, plugin.stderr).not.toMatch(/PRIVATE|client-key-data|token:/);
    await writeFile(path("exec.yaml"), plugin.stdout, { mode: 0o600 });
    const environment = [`XDG_CACHE_HOME=${path("home/.cache")}`, `POSTERN_TOKEN=${made.stdout.trim()}`];
    for (const file of ["direct.yaml", "exec.yaml", "exec.yaml"]) {
      const get = ["kubectl", "--kubeconfig", path(file), "--cache-dir", path("cache"), "get", "namespaces"];
      expect(await succeed(tool("env", [...environment, ...get]))).toContain("kube-system");
    }
    await ask(`${KEYS}/cli`, { key: admin, method: "DELETE" });
    const get = ["kubectl", "--kubeconfig", path("direct.yaml"), "--cache-dir", path("cache"), "get", "namespaces"];
    expect((await tool("env", [...environment, ...get])).code).not.toBe(0);
  });

  it("leaves neither value nor proof in the audit log", async () => {
    const log = await readFile(path("audit.log"), "utf8");
    expect(log).toContain('"access-key/name":"bound"');
    expect(log.includes(bound)).toBe(false);
  });
});

type Shown = { readonly key: string; readonly pair: Pair; readonly url: string };

/** For GET of the projects. */
const proofFor = ({ key, pair, url }: Shown, nonce?: string): string =>
  signed(
    { typ: "dpop+jwt", alg: "ES256", jwk: pair.jwk },
    {
      ...{ jti: randomUUID(), htm: "GET", htu: url + PROJECTS, iat: Math.floor(Date.now() / 1000) },
      ...{ ath: hashOf(key), ...(nonce === undefined ? {} : { nonce }) },
    },
    pair.privateKey,
  );
const show = (ask: HttpClient, { key }: Shown, dpop: string) =>
  ask(PROJECTS, { headers: { authorization: `DPoP ${key}`, dpop } });
const nonceFrom = async (ask: HttpClient, shown: Shown): Promise<string> =>
  String((await show(ask, shown, proofFor(shown))).headers["dpop-nonce"]);

async function shownAt({ url }: Pick<PosternProcess, "url">, ask: HttpClient, admin: string): Promise<Shown> {
  const pair = await newPair();
  const spec = { user: "admin", confirmation: { jwkThumbprint: pair.thumbprint } };
  const made = await ask(KEYS, { key: admin, body: { metadata: { name: "bound" }, spec } });
  return { key: made.body.spec.key, pair, url };
}

it("a proof that a server took is of no use when the server has started again", async () => {
  await using directory = await temporaryDirectory();
  await using server = await startServerProcess(directory.path, ["--store", "sqlite"]);
  const ask = await httpClient(server);
  const shown = await shownAt(server, ask, server.adminKey ?? "");
  const proof = proofFor(shown, await nonceFrom(ask, shown));
  expect((await show(ask, shown, proof)).status).toBe(200);
  await server.kill();
  await server.restart();
  const again = await show(ask, shown, proof);
  expect([again.status, again.headers["www-authenticate"]]).toEqual([401, expect.stringContaining("use_dpop_nonce")]);
  const nonce = String(again.headers["dpop-nonce"]);
  expect((await show(ask, shown, proofFor(shown, nonce))).status).toBe(200);
});

describe.skipIf(whyNoEtcd() !== undefined)("two servers on one etcd", () => {
  it("take the nonces of each other, and a proof once each", async () => {
    await using two = await startTwoOnEtcd(startPostern, ["--failed-logins-per-minute", "0"]);
    const [near, far] = two.servers;
    const [askNear, askFar] = [await httpClient(near), await httpClient(far)];
    const shown = await shownAt(near, askNear, await adminKey(near));
    // Each server knows the other one by the names that both certificates have.
    const proof = proofFor(shown, await nonceFrom(askNear, shown));
    const seen = [];
    for (const ask of [askNear, askNear, askFar, askFar]) seen.push((await show(ask, shown, proof)).status);
    expect(seen).toEqual([200, 401, 200, 401]);
  });
});
