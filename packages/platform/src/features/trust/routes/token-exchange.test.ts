// Token exchange on a whole server, with an issuer that has keys of its own.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ServedIssuer, serveIssuer } from "../../../foundation/issuers/testing/serve-issuer.ts";
import { type RunningPlatform, startPlatform } from "../../../testing/running-platform.ts";
import { githubClaims } from "../testing/ci-claims.ts";

const AUDIENCE = "https://postern.example";

let platform: RunningPlatform;
let issuer: ServedIssuer;
let count = 0;

beforeAll(async () => {
  issuer = await serveIssuer();
  platform = await startPlatform({
    "proxy-allowed-addresses": ["127.0.0.1/32"],
    "audit-log-mode": "blocking",
  });
  await platform.create("users", { metadata: { name: "deployer" }, spec: { kind: "Bot" } });
});
afterAll(async () => {
  await platform[Symbol.asyncDispose]();
  await issuer[Symbol.asyncDispose]();
});

const trusting = (spec: object = {}) => ({
  metadata: { name: `rule-${++count}` },
  spec: {
    issuer: { url: issuer.url, certificateAuthority: issuer.certificateAuthorityPem },
    audiences: [AUDIENCE],
    claims: [{ claim: "repository_id", values: ["74"] }],
    user: "deployer",
    scope: { projects: [{ project: "default" }] },
    ...spec,
  },
});

const form = (token: string, more: { readonly [name: string]: string } = {}): string =>
  new URLSearchParams({
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token: token,
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    ...more,
  }).toString();

const exchange = (token: string, more: { readonly [name: string]: string } = {}) =>
  platform.send({
    path: "/oauth/token",
    key: "",
    body: form(token, more),
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });

it("is exchanged while others wait for an issuer that does not answer", async () => {
  await using busy = await startPlatform({
    "proxy-allowed-addresses": ["127.0.0.1/32"],
    "max-mutating-requests-inflight": "2",
    "fairness-queue-seconds": "1",
  });
  await using silent = await serveIssuer();
  silent.intercept = () => undefined;
  await busy.create("users", { metadata: { name: "deployer" }, spec: { kind: "Bot" } });
  for (const { url, certificateAuthorityPem } of [issuer, silent]) {
    await busy.create(
      "clustertrustrules",
      trusting({ issuer: { url, certificateAuthority: certificateAuthorityPem } }),
    );
  }
  const post = (token: string) =>
    busy.send({
      path: "/oauth/token",
      key: "",
      body: form(token),
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
  const claims = githubClaims();
  let answered = 0;
  const waiting = [];
  for (let sent = 0; sent < 6; sent++) {
    const token = await silent.sign(claims);
    waiting.push(post(token).finally(() => answered++));
  }
  expect((await post(await issuer.sign(claims))).status).toBe(200);
  expect(answered).toBe(0);
  await silent[Symbol.asyncDispose]();
  await Promise.all(waiting);
});

describe("a token", () => {
  it.each<[string, object, (token: string) => string, boolean]>([
    ["with a final newline", {}, (token) => `${token}\n`, true],
    ["with a line end of Windows", {}, (token) => `${token}\r\n`, true],
    ["with blanks around it", {}, (token) => ` ${token}\t`, true],
    ["with a newline inside", {}, (token) => token.replace(".", ".\n"), false],
    ["of the type application/jwt", { typ: "application/jwt" }, (token) => token, true],
    ["of the type Application/JWT", { typ: "Application/JWT" }, (token) => token, true],
    ["of the type at+jwt", { typ: "at+jwt" }, (token) => token, false],
    ["of the type application/at+jwt", { typ: "application/at+jwt" }, (token) => token, false],
    ["of the type application/application/jwt", { typ: "application/application/jwt" }, (token) => token, false],
  ])("%s is the same to the tester and to the exchange", async (_, header, written, isGood) => {
    const { metadata } = await platform.create("clustertrustrules", trusting());
    const token = written(await issuer.sign(githubClaims(), { header }));
    const { status } = await exchange(token, { audience: metadata.name });
    const tested = await platform.send({ path: `clustertrustrules/${metadata.name}/test`, body: { spec: { token } } });
    expect([status === 200, tested.body.status.accepted]).toEqual([isGood, isGood]);
  });

  it.each([
    ["/groups/0", true],
    ["/groups/1", false],
    ["/groups/2", false],
    ["/groups/00", false],
    ["/groups/-", false],
    ["/groups/length", false],
    ["/groups/-1", false],
    ["/nested/0/name", true],
  ])("is held against the claim %s", async (claim, isGood) => {
    const { metadata } = await platform.create("clustertrustrules", trusting({ claims: [{ claim, values: ["a"] }] }));
    const token = await issuer.sign({ ...githubClaims(), groups: ["a", "b"], nested: [{ name: "a" }] });
    expect((await exchange(token, { audience: metadata.name })).status === 200).toBe(isGood);
  });
});

describe("POST /oauth/token", () => {
  it("gives a key for a token that a rule takes, with the scope and the life of the rule", async () => {
    const rule = await platform.create("clustertrustrules", trusting({ ttl: 600 }));
    const { status, body, text } = await exchange(await issuer.sign(githubClaims()), { audience: rule.metadata.name });
    expect([status, text]).toEqual([200, expect.any(String)]);
    expect(body).toMatchObject({
      issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
      token_type: "Bearer",
    });
    expect(body.expires_in).toBeGreaterThan(590);
    expect(body.expires_in).toBeLessThanOrEqual(600);
    const self = await platform.send({ path: "selves", key: body.access_token, body: {} });
    expect(self.body.status.user.name).toBe("deployer");
    const keys = await platform.send({ path: "ownedaccesskeys" });
    const made = keys.body.items.find(
      (key: any) => key.status.issuedBy?.rule === `clustertrustrules/${rule.metadata.name}`,
    );
    expect(made.status.issuedBy).toMatchObject({
      issuer: issuer.url,
      claims: { repository_id: "74", ref: "refs/heads/main" },
    });
    expect(made.spec.scope).toEqual({ projects: [{ project: "default" }] });
    const ofRule = await platform.send({ path: `/audit/events?trustRule=${rule.metadata.name}` });
    expect(ofRule.body.items.map(({ verb, object, key }: any) => [verb, object, key])).toEqual([
      ["create", "selves.management.postern", made.metadata.name],
      ["post", "/oauth/token", ""],
    ]);
    // Soon its status says that the keys were fetched.
    await platform.until({ path: `clustertrustrules/${rule.metadata.name}` }, ({ body }) =>
      (body.status?.conditions ?? []).some(({ type, status }: any) => type === "Ready" && status === "True"),
    );
  });
});
