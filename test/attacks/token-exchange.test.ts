// Attacks on the exchange of tokens: forged ones, and those of other issuers, audiences and repositories.

import { createHmac, createPublicKey, randomBytes, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { githubClaims } from "@postern/platform/features/trust/testing/ci-claims";
import {
  encode,
  type IssuerSigningKey,
  newSigningKey,
  serveIssuer,
  signTexts,
} from "@postern/platform/foundation/issuers/testing/serve-issuer";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AUDIENCE, type Exchanging, JWT, startExchanging } from "./testing/exchanging.ts";

let server: Exchanging;
let issuer: Exchanging["issuer"];
let other: Exchanging["other"];
let key: IssuerSigningKey;

beforeAll(async () => {
  server = await startExchanging();
  ({ issuer, other } = server);
  key = issuer.keys[0] as IssuerSigningKey;
});
afterAll(() => server?.[Symbol.asyncDispose]());

const exchange: Exchanging["exchange"] = (...call) => server.exchange(...call);
const rule: Exchanging["rule"] = (...call) => server.rule(...call);

const now = (): number => Math.floor(Date.now() / 1000);
const claimsOf = (claims: object = {}): any => ({
  iss: issuer.url,
  iat: now(),
  exp: now() + 300,
  ...githubClaims(),
  ...claims,
});
const headerOf = (header: object = {}): string => JSON.stringify({ typ: "JWT", alg: "RS256", kid: key.kid, ...header });
const forged = (header: object, signature = randomBytes(256).toString("base64url"), claims: object = {}): string =>
  `${encode(headerOf(header))}.${encode(JSON.stringify(claimsOf(claims)))}.${signature}`;
const signed = (claims: object, header: object = {}): string =>
  signTexts(headerOf(header), JSON.stringify(claimsOf(claims)), key);

/** With the public key, which everybody has, as the secret. */
function withHmac(secret: string | Buffer, alg = "HS256"): string {
  const content = `${encode(headerOf({ alg }))}.${encode(JSON.stringify(claimsOf()))}`;
  return `${content}.${createHmac(`sha${alg.slice(2)}`, secret)
    .update(content)
    .digest("base64url")}`;
}
const publicPem = (type: "spki" | "pkcs1"): string =>
  createPublicKey({ key: key.jwk as any, format: "jwk" })
    .export({ type, format: "pem" })
    .toString();

let thief: IssuerSigningKey;
beforeAll(async () => {
  thief = await newSigningKey();
});
const byThief = (header: object): string => signTexts(headerOf(header), JSON.stringify(claimsOf()), thief);

/** Tokens of an attacker without a key of the issuer, or with a token for something else. */
const TOKENS: readonly (readonly [what: string, token: () => string | Promise<string>])[] = [
  ["the algorithm none", () => `${encode(headerOf({ alg: "none" }))}.${encode(JSON.stringify(claimsOf()))}.`],
  ["none in another case", () => forged({ alg: "nOnE" })],
  ["no algorithm", () => forged({ alg: undefined })],
  ["an algorithm that is a list", () => forged({ alg: ["RS256"] })],
  ["HS256 with the public key in SPKI", () => withHmac(publicPem("spki"))],
  ["HS256 with the public key in PKCS #1", () => withHmac(publicPem("pkcs1"))],
  ["HS512 with the JWK", () => withHmac(JSON.stringify(key.jwk), "HS512")],
  ["HS256 with the modulus", () => withHmac(Buffer.from(key.jwk.n ?? "", "base64url"))],
  ["a signature of another algorithm than its header says", () => signed({}, { alg: "PS256" })],
  ["an elliptic curve over the kid of an RSA key", () => signed({}, { alg: "ES256" })],
  ["no signature", () => `${encode(headerOf())}.${encode(JSON.stringify(claimsOf()))}.`],
  ["a signature by chance", () => forged({})],
  ["a signature of another token", () => `${forged({}).split(".").slice(0, 2).join(".")}.${signed({}).split(".")[2]}`],
  ["a key of its own in the header", () => byThief({ jwk: thief.jwk })],
  ["the address of a key set of its own", () => byThief({ jku: `${other.url}/keys` })],
  ["the address of a certificate", () => byThief({ x5u: `${other.url}/keys`, x5c: ["MIIB"] })],
  ["a kid that leads through folders", () => byThief({ kid: "../../../../../../dev/null" })],
  ["a kid that is SQL", () => byThief({ kid: "x' UNION SELECT 'y" })],
  ["a kid that every object has", () => byThief({ kid: "__proto__" })],
  ["a kid that is a number", () => byThief({ kid: 7 })],
  ["a kid of ten thousand characters", () => byThief({ kid: "k".repeat(10_000) })],
  ["no kid, and a key of its own", () => byThief({ kid: undefined })],
  ["critical extensions", () => signed({}, { crit: ["exp"] })],
  ["an unencoded payload", () => signed({}, { b64: false, crit: ["b64"] })],
  ["the type of a logout token", () => signed({}, { typ: "logout+jwt" })],
  ["padding behind its signature", () => `${signed({})}=`],
  ["another spelling of its signature", () => respelt(signed({}))],
  ["five parts", () => `${signed({})}.${randomBytes(8).toString("hex")}.x`],
  [
    "a claim twice",
    () => signTexts(headerOf(), JSON.stringify(claimsOf()).replace("{", '{"repository_id":"99",'), key),
  ],
  ["claims that are a list", () => signTexts(headerOf(), "[]", key)],
  ["claims a thousand levels deep", () => signed({ deep: JSON.parse(`${"[".repeat(500)}${"]".repeat(500)}`) })],
  ["an end that is over", () => signed({ exp: now() - 60 })],
  ["an end that is a text", () => signed({ exp: String(now() + 300) })],
  [
    "an end beyond numbers",
    () => signTexts(headerOf(), JSON.stringify(claimsOf()).replace(/"exp":\d+/, '"exp":1e999'), key),
  ],
  ["no end", () => signed({ exp: undefined })],
  ["a beginning to come", () => signed({ nbf: now() + 300 })],
  ["a making to come", () => signed({ iat: now() + 300 })],
  ["another audience", () => signed({ aud: "https://sts.example.com" })],
  ["an audience that begins like ours", () => signed({ aud: `${AUDIENCE}.evil.example` })],
  ["an audience in another case", () => signed({ aud: AUDIENCE.toUpperCase() })],
  ["an audience with a number in it", () => signed({ aud: [AUDIENCE, 1] })],
  ["no audience", () => signed({ aud: undefined })],
  ["an issuer with a slash more", () => signed({ iss: `${issuer.url}/` })],
  ["a list of issuers", () => signed({ iss: [issuer.url, other.url] })],
  [
    "the name of our issuer, signed by another that is trusted",
    () => other.sign({ ...githubClaims(), iss: issuer.url }),
  ],
  ["the same with our kid", () => other.sign({ ...githubClaims(), iss: issuer.url }, { header: { kid: key.kid } })],
  ["a repository of the same name with another number", () => signed({ repository_id: "75" })],
  ["a repository whose number is a number", () => signed({ repository_id: 74 })],
  ["several repositories", () => signed({ repository_id: ["74", "75"] })],
  ["a repository with a space", () => signed({ repository_id: "74 " })],
  ["no repository", () => signed({ repository_id: undefined })],
];

/** The same bytes, with other bits where base64 has some to spare. */
function respelt(token: string): string {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const last = letters.indexOf(token.at(-1) ?? "");
  return `${token.slice(0, -1)}${letters[last ^ 1]}`;
}

const countKeys = async (): Promise<number> => (await server.must({ path: "ownedaccesskeys" })).items.length;

describe("a token is refused, and leaves nothing behind (security book 20, 23)", () => {
  for (const [what, token] of TOKENS) {
    test(`with ${what}`, async () => {
      const before = await countKeys();
      const { status, body, text } = await exchange(await token());
      expect([status, text]).toEqual([400, expect.any(String)]);
      expect(["invalid_request", "invalid_target"]).toContain(body.error);
      expect(body.error_description).toMatch(/^[ !#-[\]-~]+$/);
      expect(await countKeys()).toBe(before);
    });
  }

  test("of a megabyte, and of many parameters", async () => {
    expect((await exchange("e".repeat(1 << 20))).status).toBe(413);
    expect((await exchange(`${signed({})}${"A".repeat(17_000)}`)).status).toBe(400);
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`p${at}`, "x"]));
    expect((await exchange(signed({}), { audience: "main", ...many })).status).toBe(400);
  });

  test("with what its issuer renamed taken all the same, since its number stays", async () => {
    const renamed = signed({
      repository: "new-org/new-name",
      repository_owner: "new-org",
      sub: "repo:new-org/new-name:ref",
    });
    expect((await exchange(renamed)).status).toBe(200);
  });

  test("of an untrusted issuer, whose address is not contacted", async () => {
    const stranger = await serveIssuer();
    try {
      for (const more of [{}, { audience: "main" }, { audience: "default/*" }] as {
        readonly [name: string]: string;
      }[]) {
        const { status, text } = await exchange(await stranger.sign(githubClaims()), more);
        expect([status, text]).toEqual([400, expect.any(String)]);
      }
      expect(stranger.requests).toEqual([]);
    } finally {
      await stranger[Symbol.asyncDispose]();
    }
  });

  test("by the tester of a rule as by the exchange", async () => {
    for (const [what, token] of TOKENS) {
      const path = "clustertrustrules/main/test";
      const { status, accepted } = await server.must({ path, body: { spec: { token: await token() } } });
      expect([what, status.accepted, accepted]).toEqual([what, false, undefined]);
    }
    const good = await server.must({ path: "clustertrustrules/main/test", body: { spec: { token: signed({}) } } });
    expect([good.status.accepted, good.spec.token]).toEqual([true, ""]);
  });
});

describe("a form is refused (RFC 8693)", () => {
  const cases: readonly (readonly [what: string, more: { readonly [name: string]: string }, error: string])[] = [
    ["another grant", { grant_type: "client_credentials" }, "unsupported_grant_type"],
    ["no token", { subject_token: "" }, "invalid_request"],
    ["a token of another type", { subject_token_type: "urn:ietf:params:oauth:token-type:saml2" }, "invalid_request"],
    [
      "a wish for another type",
      { requested_token_type: "urn:ietf:params:oauth:token-type:refresh_token" },
      "invalid_request",
    ],
    ["an actor", { actor_token: "x", actor_token_type: JWT }, "invalid_request"],
    ["a scope", { scope: "admin" }, "invalid_scope"],
    ["a rule that there is not", { audience: "nothing" }, "invalid_target"],
    ["two rules", { audience: "main", rule: "others" }, "invalid_target"],
    ["a path for a rule", { audience: "../clustertrustrules/main" }, "invalid_target"],
    [
      "an address that is none of ours",
      { resource: "https://a.test/apis/x/v1/clustertrustrules/main" },
      "invalid_target",
    ],
  ];
  test.each(cases)("with %s", async (_, more, error) => {
    const { status, body } = await exchange(signed({}), { audience: "main", ...more });
    expect([status, body.error]).toEqual([400, error]);
  });

  test("and taken with the address of the rule, and a rule that is named twice", async () => {
    const resource = `${server.process.url}/apis/management.postern/v1/clustertrustrules/main`;
    expect((await exchange(signed({}), { resource, rule: "main", audience: "main" })).status).toBe(200);
  });

  test("and taken by no other method", async () => {
    const { status } = await server.send({ path: "/oauth/token", as: "" });
    expect(status).toBe(405);
  });
});

describe("which rule applies", () => {
  test("several that take the token are an error, and the name of one decides", async () => {
    const claims = [{ claim: "repository_id", values: ["501"] }];
    await rule("first", { claims });
    await rule("second", { claims });
    const token = signed({ repository_id: "501" });
    const { status, body } = await exchange(token, {});
    expect([status, body.error, body.error_description]).toEqual([
      400,
      "invalid_target",
      expect.stringContaining("first, second"),
    ]);
    expect((await exchange(token, { rule: "second" })).status).toBe(200);
  });

  test("the only one is found by itself, and no project draws a job to itself", async () => {
    const claims = [{ claim: "repository_id", values: ["502"] }];
    await rule("lone", { claims });
    const trap = { claims, scope: undefined };
    await rule("trap", trap, "namespaces/p-default/trustrules");
    const token = signed({ repository_id: "502" });
    expect((await exchange(token, {})).status).toBe(200);
    await expect.poll(async () => (await exchange(token, { audience: "default/*" })).status).toBe(200);
    await server.must({ method: "DELETE", path: "clustertrustrules/lone" });
    expect((await exchange(token, {})).status).toBe(400);
  });
});

test("a rule that was written with a key of ten minutes issues nothing after it, nor does what it issued stay (security book 2, 14)", async () => {
  const brief = await server.key("brief", { ttl: 600 });
  const { spec } = await server.must({ path: "clustertrustrules/main" });
  const claims = [{ claim: "repository_id", values: ["550"] }];
  const body = { metadata: { name: "brief" }, spec: { ...spec, claims } };
  const written = await server.send({ path: "clustertrustrules", as: brief, body });
  expect(written.status, written.text).toBe(201);
  const token = signed({ repository_id: "550" });
  const issued = await exchange(token, { rule: "brief" });
  expect(issued.status, issued.text).toBe(200);
  expect(await server.isAccepted(issued.body.access_token)).toBe(true);
  await server.must({ method: "DELETE", path: "ownedaccesskeys/brief" });
  expect(await server.isAccepted(issued.body.access_token)).toBe(false);
  expect((await exchange(token, { rule: "brief" })).status).toBe(400);
});

describe("a token that is taken once (security book 18)", () => {
  test("is taken once by many requests at the same moment, and never again", async () => {
    const claims = [{ claim: "repository_id", values: ["601"] }];
    await rule("once", { claims, singleUse: true });
    const token = signed({ repository_id: "601" });
    const answers = await Promise.all(Array.from({ length: 20 }, () => exchange(token, { rule: "once" })));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(19).fill(400)]);
    expect((await exchange(token, { rule: "once" })).body.error_description).toBe("the token was used before");
    expect((await exchange(signed({ repository_id: "601", jti: undefined }), { rule: "once" })).status).toBe(400);
    expect((await exchange(signed({ repository_id: "601", exp: now() + 40 * 86_400 }), { rule: "once" })).status).toBe(
      400,
    );
    expect((await exchange(signed({ repository_id: "601", jti: randomUUID() }), { rule: "once" })).status).toBe(200);
  });
});

describe("conditions that cost too much (security book 51)", () => {
  test("are refused without delaying others", async () => {
    const claims = [{ claim: "repository_id", values: ["701"] }];
    const loop = "claims.list.all(a, claims.list.all(b, claims.list.all(c, a + b + c != 'x')))";
    await rule("dear", { claims, conditions: [{ expression: loop }] });
    const list = Array.from({ length: 600 }, (_, at) => `${at}`);
    const began = process.hrtime.bigint();
    const { status } = await exchange(signed({ repository_id: "701", list }), { rule: "dear" });
    expect(status).toBe(400);
    const test = await server.must({
      path: "clustertrustrules/dear/test",
      body: { spec: { token: signed({ repository_id: "701", list }) } },
    });
    const condition = test.status.checks.find(({ type }: any) => type === "Condition");
    expect(condition).toMatchObject({ status: "False", message: expect.stringContaining("costs too much") });
    // 600³ steps would take minutes; no bound on the clock is meant by this one.
    expect(Number(process.hrtime.bigint() - began) / 1e9).toBeLessThan(50);
  });
});

describe("only failing clients are delayed (security book 26)", () => {
  test("by address and issuer", async () => {
    // They are held back for seconds: where failures come slower than that, more follow. Of several threads, each has a share of the limit, and gets the
    // connections that the kernel draws for it.
    let held: Awaited<ReturnType<typeof exchange>> | undefined;
    for (let times = 0; times < 60 && held?.status !== 429; times++) {
      // Of more handshakes at once from a new address, the slow ones are ended.
      await Promise.all(Array.from({ length: 12 }, () => exchange(forged({}), { rule: "main" }, "127.9.9.1")));
      const [own, elsewhere, ofOthers] = await Promise.all([
        exchange(signed({}), { rule: "main" }, "127.9.9.1"),
        exchange(signed({}), { rule: "main" }, "127.9.9.2"),
        // Another issuer's tokens from the same address are good.
        exchange(await other.sign(githubClaims()), { rule: "others" }, "127.9.9.1"),
      ]);
      expect([elsewhere.status, ofOthers.status]).toEqual([200, 200]);
      held = own;
    }
    expect(held?.status).toBe(429);
    expect(Number(held?.retryAfter)).toBeGreaterThan(0);
  });
});

test("no token is in the audit log or the log (security book 38)", async () => {
  const audit = await readFile(`${server.directory}/audit.log`, "utf8");
  const log = server.process.output();
  expect(audit).toContain("/oauth/token");
  expect(audit).toContain("clustertrustrules/main/test");
  expect(server.sent.size).toBeGreaterThan(30);
  for (const text of server.sent) {
    const part = text.slice(0, 60);
    if (part.length < 20) continue;
    expect(audit.includes(part)).toBe(false);
    expect(log.includes(part)).toBe(false);
  }
});
