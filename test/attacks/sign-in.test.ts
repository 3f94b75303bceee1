// Attacks where people sign in: at the provider's answers, in the victim's browser, and beside the command line.

import { createHash, createHmac, createPublicKey, KeyObject, randomBytes, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  encode,
  newSigningKey,
  type ServedIssuer,
  serveIssuer,
} from "@postern/platform/foundation/issuers/testing/serve-issuer";
import { type RunningPlatform, startPlatform } from "@postern/platform/testing/running-platform";
import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Browse, browserOf, csrfIn, OWN, type PageAnswer, provideSignIn, SESSION } from "./testing/signing-in.ts";

const CLIENT = "client-of-ours";

let platform: RunningPlatform;
let ca: Buffer;
let good: ServedIssuer;
let evil: ServedIssuer;
let count = 0;
/** Answer of each issuer's token endpoint, made of the nonce that the browser was sent away with. */
let idToken: (issuer: ServedIssuer, claims: object) => Promise<string>;
const nonces = new Map<ServedIssuer, string>();

const provide = (issuer: ServedIssuer): void =>
  provideSignIn(issuer, () => {
    const claims = { sub: `sub-${count}`, name_here: `person-${count}`, aud: CLIENT, nonce: nonces.get(issuer) };
    return idToken(issuer, claims);
  });

beforeAll(async () => {
  platform = await startPlatform({ "proxy-allowed-addresses": ["127.0.0.1/32"], "audit-log-mode": "blocking" });
  ca = await readFile(platform.server.caPath);
  [good, evil] = await Promise.all([serveIssuer(), serveIssuer()]);
  for (const [name, issuer] of [
    ["good", good],
    ["evil", evil],
  ] as const) {
    provide(issuer);
    await platform.create("identityproviders", {
      metadata: { name },
      spec: {
        issuer: { url: issuer.url, certificateAuthority: issuer.certificateAuthorityPem },
        clientId: CLIENT,
        claimMappings: { username: { claim: "name_here" } },
        createUsers: true,
      },
    });
  }
});
beforeEach(() => {
  count++;
  address = `127.0.1.${count}`;
  idToken = (issuer, claims) => issuer.sign(claims);
});
afterAll(async () => {
  await platform?.[Symbol.asyncDispose]();
  await Promise.all([good, evil].map((each) => each?.[Symbol.asyncDispose]()));
});

/** Each test comes from an address of its own: one address may not ask as often as all of them together. */
let address = "";
const browse: Browse = (...asked) => browserOf(platform.server.url, ca, address)(...asked);

/** As far as the provider's page. */
async function away(provider: "good" | "evil" = "good", start = "/login") {
  const chosen = await browse(start);
  const left = await browse(`/login/start?provider=${provider}`, chosen.cookies);
  const url = new URL(left.location);
  nonces.set(provider === "good" ? good : evil, url.searchParams.get("nonce") ?? "");
  return { url, cookies: left.cookies, state: url.searchParams.get("state") ?? "" };
}
const back = (provider: string, query: object, cookies: ReadonlyMap<string, string>): Promise<PageAnswer> =>
  browse(`/login/callback/${provider}?${new URLSearchParams({ ...query })}`, cookies);
const newCode = (): string => randomBytes(8).toString("hex");

/** The answer to the return of a browser that was sent away in order. */
async function signInWith(query: object = {}): Promise<PageAnswer> {
  const { cookies, state } = await away();
  return await back("good", { code: newCode(), state, iss: good.url, ...query }, cookies);
}

/** Away by one address, and back: where the browser goes on then. */
async function throughStart(
  target: string,
): Promise<{ readonly path: string; readonly cookies: PageAnswer["cookies"] }> {
  const left = await browse(`/login/start?${new URLSearchParams({ provider: "good", return: target })}`);
  const { searchParams } = new URL(left.location);
  nonces.set(good, searchParams.get("nonce") ?? "");
  const query = { code: newCode(), state: searchParams.get("state") ?? "", iss: good.url };
  const { text, cookies } = await back("good", query, left.cookies);
  return { path: /url=([^"]*)"/.exec(text)?.[1] ?? "", cookies };
}

describe("the answers of providers", () => {
  it("start a session if everything is valid", async () => {
    const { status, cookies } = await signInWith();
    expect([status, cookies.has(SESSION)]).toEqual([200, true]);
  });

  it("are not taken for another provider's (mix-up)", async () => {
    const { cookies, state } = await away("evil");
    nonces.set(good, nonces.get(evil) ?? "");
    // The person began at the evil one, which sent the browser on to the good one.
    for (const [name, iss] of [
      ["good", good.url],
      ["evil", good.url],
      ["good", evil.url],
    ] as const) {
      const answer = await back(name, { code: newCode(), state, iss }, cookies);
      expect([answer.status >= 400, answer.cookies.has(SESSION)]).toEqual([true, false]);
    }
    // Without iss, from one that says that it always sends it.
    const own = await away();
    const answer = await back("good", { code: newCode(), state: own.state }, own.cookies);
    expect([answer.status, answer.cookies.has(SESSION)]).toEqual([502, false]);
  });

  it.each<[string, (issuer: ServedIssuer, claims: any) => Promise<string>]>([
    ["a token for another client", (issuer, claims) => issuer.sign({ ...claims, aud: "another" })],
    ["a token for several without azp", (issuer, claims) => issuer.sign({ ...claims, aud: [CLIENT, "another"] })],
    ["another nonce", (issuer, claims) => issuer.sign({ ...claims, nonce: "n" })],
    ["no nonce", (issuer, { nonce: _, ...claims }) => issuer.sign(claims)],
    ["another issuer", (issuer, claims) => issuer.sign({ ...claims, iss: evil.url })],
    [
      "another one's key",
      (issuer, claims) => issuer.sign(claims, { key: { ...(evil.keys[0] as any), kid: issuer.keys[0]?.kid } }),
    ],
    ["a key that it publishes nowhere", async (issuer, claims) => issuer.sign(claims, { key: await newSigningKey() })],
    ["a clock far behind", (issuer, claims) => issuer.sign({ ...claims, iat: seconds(-900) }, { expiresIn: -600 })],
    ["a clock far ahead", (issuer, claims) => issuer.sign({ ...claims, nbf: seconds(300), iat: seconds(300) })],
    ["no signature", async (issuer, claims) => unsigned({ alg: "none" }, issuer, claims)],
    ["HS256 with the public key", hmacWithPublicKey],
    ["no expiry", (issuer, claims) => issuer.sign({ ...claims, exp: undefined })],
  ])("with %s are refused", async (_, token) => {
    idToken = token;
    const { status, cookies } = await signInWith();
    expect([status, cookies.has(SESSION)]).toEqual([502, false]);
    expect((await platform.send({ path: `users/person-${count}` })).status).toBe(404);
  });

  it("with a clock far off are refused with the reason", async () => {
    for (const [at, expiresIn] of [
      [-900, -600],
      [300, 600],
    ] as const) {
      idToken = (issuer, claims) => issuer.sign({ ...claims, iat: seconds(at) }, { expiresIn });
      expect((await signInWith()).text).toContain("clocks of the identity provider and of this server differ");
    }
  });

  it("with a clock a little off are taken", async () => {
    idToken = (issuer, claims) => issuer.sign({ ...claims, nbf: seconds(20), iat: seconds(20) });
    expect((await signInWith()).cookies.has(SESSION)).toBe(true);
    count++;
    idToken = (issuer, claims) => issuer.sign({ ...claims, iat: seconds(-320) }, { expiresIn: -10 });
    expect((await signInWith()).cookies.has(SESSION)).toBe(true);
  });

  it("are taken once", async () => {
    const { cookies, state } = await away();
    const query = { code: newCode(), state, iss: good.url };
    expect((await back("good", query, cookies)).cookies.has(SESSION)).toBe(true);
    // With the cookie that a thief kept, and in the browser as it is now.
    const again = await back("good", query, cookies);
    expect([again.status, again.cookies.has(SESSION)]).toEqual([400, false]);
    expect((await back("good", query, again.cookies)).status).toBe(400);
  });

  it("do not take over existing users", async () => {
    await platform.create("users", { metadata: { name: `person-${count}` } });
    const { status, text, cookies } = await signInWith();
    expect([status, cookies.has(SESSION)]).toEqual([403, false]);
    expect(text).toContain("already exists");
  });
});

describe("the browser of a victim", () => {
  it("is not signed in as the attacker (login CSRF)", async () => {
    const attacker = await away();
    const query = { code: newCode(), state: attacker.state, iss: good.url };
    expect((await back("good", query, new Map())).status).toBe(400);
    const victim = await away();
    expect((await back("good", query, victim.cookies)).status).toBe(400);
    // Nor with a key of the attacker's, by a form on another site.
    const page = await browse("/login");
    const form = { key: platform.adminKey, csrf: csrfIn(page) };
    for (const headers of [
      {},
      { "sec-fetch-site": "cross-site" },
      { origin: "https://evil.test" },
      { "sec-fetch-site": "same-site" },
    ])
      expect((await browse("/login/key", page.cookies, form, headers)).status).toBe(403);
    expect((await browse("/login/key", page.cookies, { ...form, csrf: "x" }, OWN)).status).toBe(400);
    expect((await browse("/login/key", new Map(), form, OWN)).status).toBe(400);
    expect((await browse("/login/key", page.cookies, form, OWN)).cookies.has(SESSION)).toBe(true);
  });

  it("gets a new session, whatever it had before (fixation)", async () => {
    const { cookies, state } = await away();
    const fixed = new Map([...cookies, [SESSION, platform.adminKey]]);
    const answer = await back("good", { code: newCode(), state, iss: good.url }, fixed);
    expect(answer.cookies.get(SESSION)).not.toBe(platform.adminKey);
    const page = await browse("/profile/access-keys", answer.cookies);
    expect(page.text).toContain(`person-${count}`);
    // Two cookies of one name: one of them belongs to another user.
    const two = await browse("/profile/access-keys", new Map(), undefined, {
      cookie: `${SESSION}=${platform.adminKey}; ${SESSION}=${answer.cookies.get(SESSION)}`,
    });
    expect(two.status).toBe(303);
  });

  it("has one session: a new one ends the one before, whichever way it begins", async () => {
    const cookieOf = ({ cookies }: PageAnswer) => ({ cookie: `${SESSION}=${cookies.get(SESSION)}`, ...OWN });
    const shown = async (headers: object): Promise<number> =>
      (await platform.send({ path: "/login/session", key: "", headers: { ...headers } })).status;
    const begin = (headers: object) =>
      platform.send({ path: "/login/session", key: "", body: { key: platform.adminKey }, headers: { ...headers } });
    const first = await signInWith();
    expect(await shown(cookieOf(first))).toBe(200);
    // The provider sends the browser back without the cookie, which is for requests of this site alone.
    const chosen = await browse("/login", first.cookies);
    const left = await browse("/login/start?provider=good", new Map([...first.cookies, ...chosen.cookies]));
    const { searchParams } = new URL(left.location);
    nonces.set(good, searchParams.get("nonce") ?? "");
    expect(await shown(cookieOf(first))).toBe(200);
    const transaction = new Map([...left.cookies].filter(([name]) => name !== SESSION));
    const query = { code: newCode(), state: searchParams.get("state") ?? "", iss: good.url };
    const second = await back("good", query, transaction);
    expect([await shown(cookieOf(first)), await shown(cookieOf(second))]).toEqual([401, 200]);
    // By the form for access keys, and by the console's request.
    const page = await browse("/login", second.cookies);
    const form = { key: platform.adminKey, csrf: csrfIn(page) };
    const third = await browse("/login/key", new Map([...second.cookies, ...page.cookies]), form, OWN);
    expect([await shown(cookieOf(second)), await shown(cookieOf(third))]).toEqual([401, 200]);
    expect((await begin(cookieOf(third))).status).toBe(200);
    expect(await shown(cookieOf(third))).toBe(401);
    // An attempt that fails ends nothing.
    const last = await signInWith();
    const { status } = await platform.send({
      path: "/login/session",
      key: "",
      body: { key: "no key" },
      headers: cookieOf(last),
    });
    expect([status, await shown(cookieOf(last))]).toEqual([401, 200]);
    // A key that is no session is not ended, wherever it stands.
    await begin({ cookie: `${SESSION}=${platform.adminKey}`, ...OWN });
    expect((await platform.send({ path: "users" })).status).toBe(200);
  });

  it("is sent nowhere else (open redirect)", async () => {
    const bad = [
      ...["//evil.test", "https://evil.test", "/\\evil.test", "/\t/evil.test", "javascript:alert(1)", "/..//evil.test"],
      ...["/%2f/evil.test\r\nx:y", "\\\\evil.test", "/profile@evil.test", "/a/../..//evil.test", "/./\\evil.test"],
    ];
    for (const target of bad) {
      const { cookies, state } = await away("good", `/login?return=${encodeURIComponent(target)}`);
      const { status, text } = await back("good", { code: newCode(), state, iss: good.url }, cookies);
      const next = /url=([^"]*)"/.exec(text)?.[1] ?? "";
      expect([target, status, new URL(next, platform.server.url).origin]).toEqual([target, 200, platform.server.url]);
      count++;
      // The way that a page with scripts takes.
      const { path } = await throughStart(target);
      expect([target, path]).toEqual([target, "/"]);
      count++;
    }
  });

  it("comes back to the page that it left, with the session", async () => {
    const { path, cookies } = await throughStart("/keys?sort=name");
    expect([path, cookies.has(SESSION)]).toEqual(["/keys?sort=name", true]);
    const cookie = `${SESSION}=${cookies.get(SESSION)}`;
    const { body } = await platform.send({ path: "/login/session?return=/keys", key: "", headers: { cookie, ...OWN } });
    expect(body.user.name).toBe(`person-${count}`);
    expect(body.providers).toContainEqual({
      name: "good",
      displayName: "good",
      loginUrl: "/login/start?provider=good&return=%2Fkeys",
    });
  });

  it("gets restrictive headers with every page", async () => {
    const session = (await signInWith()).cookies;
    const { cookies, state } = await away();
    const asking = `/oauth/authorize?${new URLSearchParams({
      ...{
        response_type: "code",
        client_id: "postern-cli",
        redirect_uri: "http://127.0.0.1:4567/callback",
        state: "s",
      },
      ...{ code_challenge: randomBytes(32).toString("base64url"), code_challenge_method: "S256" },
    })}`;
    const answers: readonly [string, PageAnswer][] = [
      ["login", await browse("/login")],
      ["start", await browse("/login/start?provider=good", (await browse("/login")).cookies)],
      ["back", await back("good", { code: newCode(), state, iss: good.url }, cookies)],
      ["failure", await back("good", { code: newCode(), state, iss: good.url }, new Map())],
      ["authorize", await browse(asking)],
      ["confirm", await browse("/login/confirm")],
      ["device", await browse("/device")],
      ["profile", await browse("/profile/access-keys", session)],
    ];
    for (const [page, { headers, status, text }] of answers) {
      expect([page, headers["x-frame-options"], headers["x-content-type-options"]]).toEqual([page, "DENY", "nosniff"]);
      expect([page, headers["cache-control"]]).toEqual([page, "no-store"]);
      // The address of the page before may have a code in it.
      expect([page, headers["referrer-policy"]]).toEqual([page, status === 303 ? "no-referrer" : "same-origin"]);
      if (status === 303) continue;
      const policy = String(headers["content-security-policy"]).split("; ");
      expect([page, policy]).toEqual([
        page,
        expect.arrayContaining([
          "default-src 'none'",
          "base-uri 'none'",
          "frame-ancestors 'none'",
          "form-action 'self'",
        ]),
      ]);
      expect([page, policy.filter((rule) => rule.includes("unsafe") || rule.startsWith("script-src"))]).toEqual([
        page,
        [],
      ]);
      expect([page, /<script|javascript:|onclick|onload/i.test(text)]).toEqual([page, false]);
    }
  });

  it("shows its pages in no frame, runs no scripts, and escapes what it shows", async () => {
    const page = await browse(`/device?user_code=${encodeURIComponent('"><script>x</script>')}`);
    expect(page.text).not.toContain("<script");
    await platform.create("identityproviders", {
      metadata: { name: "quoted" },
      spec: {
        displayName: `<img src=x onerror="y">`,
        issuer: { url: good.url, certificateAuthority: good.certificateAuthorityPem },
        clientId: CLIENT,
        claimMappings: { username: { claim: "sub" } },
      },
    });
    const login = await browse("/login");
    expect(login.text).toContain("&lt;img src=x onerror=&quot;y&quot;&gt;");
  });

  it("does not sign users out for another site", async () => {
    const { cookies } = await signInWith();
    const page = await browse("/profile/access-keys", cookies);
    const name = /name="name" value="([^"]+)"/.exec(page.text)?.[1] ?? "";
    const form = { csrf: csrfIn(page), name };
    expect((await browse("/profile/sign-out", cookies, form, { "sec-fetch-site": "cross-site" })).status).toBe(403);
    expect((await browse("/profile/sign-out", cookies, { ...form, csrf: "x" }, OWN)).status).toBe(303);
    expect((await platform.send({ path: `ownedaccesskeys/${name}` })).status).toBe(200);
    expect((await browse("/profile/sign-out", cookies, form, OWN)).status).toBe(200);
    expect((await platform.send({ path: `ownedaccesskeys/${name}` })).status).toBe(404);
  });
});

describe("beside the command line", () => {
  const verifier = randomBytes(32).toString("base64url");
  const challenge = createHash("sha256").update(verifier).digest("base64url");
  const REDIRECT = "http://127.0.0.1:4567/callback";
  const asking = (more: object = {}): string =>
    `/oauth/authorize?${new URLSearchParams({
      ...{ response_type: "code", client_id: "postern-cli", redirect_uri: REDIRECT, state: "s" },
      ...{ code_challenge: challenge, code_challenge_method: "S256" },
      ...more,
    })}`;
  const redeem = (form: object, headers: { readonly [name: string]: string } = {}) =>
    browse(
      "/oauth/token",
      new Map(),
      {
        ...{
          grant_type: "authorization_code",
          client_id: "postern-cli",
          redirect_uri: REDIRECT,
          code_verifier: verifier,
        },
        ...form,
      },
      headers,
    );

  async function codeOf(): Promise<string> {
    count++;
    const { cookies, state } = await away("good", asking());
    const returned = await back("good", { code: newCode(), state, iss: good.url }, cookies);
    const page = await browse("/login/confirm", returned.cookies);
    const agreed = await browse("/login/confirm", returned.cookies, { csrf: csrfIn(page), decision: "allow" }, OWN);
    const target = new URL(agreed.location);
    expect([target.origin, target.searchParams.get("iss")]).toEqual(["http://127.0.0.1:4567", platform.server.url]);
    return target.searchParams.get("code") ?? "";
  }

  it.each([
    "https://evil.test/callback",
    "http://evil.test/callback",
    "http://localhost:4567/callback",
    "http://127.0.0.1.evil.test:4567/callback",
    "http://127.0.0.1:4567@evil.test/callback",
    "http://127.0.0.1:4567/other",
    "http://127.0.0.1:4567/callback?x=y",
    "http://127.0.0.1:99999/callback",
    "http://127.0.0.1/callback",
    "custom:/callback",
  ])("no code goes to %s", async (redirect) => {
    const { status, location } = await browse(asking({ redirect_uri: redirect }));
    expect([status, location]).toEqual([400, ""]);
  });

  it("a request without PKCE, or with the plain method, is refused", async () => {
    for (const more of [{ code_challenge: "" }, { code_challenge_method: "plain" }, { code_challenge_method: "" }])
      expect((await browse(asking(more))).location).toContain("error=invalid_request");
  });

  it("a code is redeemed once, and only with its verifier and address", async () => {
    expect((await redeem({ code: await codeOf() })).status).toBe(200);
    for (const wrong of [
      { code_verifier: randomBytes(32).toString("base64url") },
      { code_verifier: "" },
      { code_verifier: challenge },
      { redirect_uri: "http://127.0.0.1:4568/callback" },
    ]) {
      const code = await codeOf();
      expect((await redeem({ code, ...wrong })).status).toBe(400);
      // A wrong guess uses up the code.
      expect((await redeem({ code })).status).toBe(400);
    }
    const code = await codeOf();
    const answers = await Promise.all([1, 2, 3, 4].map(() => redeem({ code })));
    expect(answers.filter(({ status }) => status === 200).length).toBe(1);
  });

  describe("with a DPoP proof", () => {
    const TOKEN = "/oauth/token";
    const SELVES = "/apis/management.postern/v1/selves";
    const newPair = async () => {
      const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
      return { jwk: await exportJWK(publicKey), privateKey };
    };
    type Pair = Awaited<ReturnType<typeof newPair>>;
    const proofOf = ({ jwk, privateKey }: Pair, path: string, claims: object, as = jwk): Promise<string> =>
      new SignJWT({ htm: "POST", htu: platform.server.url + path, jti: randomUUID(), ...claims })
        .setProtectedHeader({ typ: "dpop+jwt", alg: "ES256", jwk: as })
        .setIssuedAt()
        .sign(privateKey);
    const nonceFor = async (pair: Pair): Promise<string> =>
      String((await redeem({ code: "x" }, { dpop: await proofOf(pair, TOKEN, {}) })).headers["dpop-nonce"]);

    it("the key of a code is bound to its pair, and a code outlasts the request for a nonce", async () => {
      const [pair, other] = await Promise.all([newPair(), newPair()]);
      const code = await codeOf();
      const asked = await redeem({ code }, { dpop: await proofOf(pair, TOKEN, {}) });
      expect([asked.status, JSON.parse(asked.text).error]).toEqual([400, "use_dpop_nonce"]);
      const nonce = String(asked.headers["dpop-nonce"]);
      const given = await redeem({ code }, { dpop: await proofOf(pair, TOKEN, { nonce }) });
      expect(given.status, given.text).toBe(200);
      const { access_token: key, token_type: type } = JSON.parse(given.text);
      expect(type).toBe("DPoP");
      const ask = async (by: Pair | undefined) => {
        const claims = { nonce, ath: createHash("sha256").update(key).digest("base64url") };
        const headers =
          by === undefined ? {} : { authorization: `DPoP ${key}`, dpop: await proofOf(by, SELVES, claims) };
        const body = { apiVersion: "management.postern/v1", kind: "Self", metadata: {}, spec: {} };
        return await platform.send({ path: SELVES, body, headers, key: by === undefined ? key : "" });
      };
      const self = await ask(pair);
      expect(self.status, self.text).toBe(201);
      expect((await ask(other)).status).toBe(401);
      expect((await ask(undefined)).status).toBe(401);
      const { items } = (await platform.send({ path: "ownedaccesskeys" })).body;
      const jwkThumbprint = await calculateJwkThumbprint(pair.jwk);
      expect(
        items
          .filter((item: any) => item.spec.confirmation?.jwkThumbprint === jwkThumbprint)
          .map((one: any) => one.spec.type),
      ).toEqual(["Login"]);
    });

    it("a proof by another pair than it names, one for another address and one that was used give no key", async () => {
      const [pair, other] = await Promise.all([newPair(), newPair()]);
      const nonce = await nonceFor(pair);
      const used = await proofOf(pair, TOKEN, { nonce });
      expect((await redeem({ code: await codeOf() }, { dpop: used })).status).toBe(200);
      for (const dpop of [
        used,
        await proofOf(other, TOKEN, { nonce }, pair.jwk),
        await proofOf(pair, "/oauth/other", { nonce }),
        "x",
      ]) {
        const { status, text } = await redeem({ code: await codeOf() }, { dpop });
        expect([status, JSON.parse(text).error]).toEqual([400, "invalid_dpop_proof"]);
      }
    });

    it("a device is asked for a nonce before it is answered", async () => {
      const { text } = await browse("/oauth/device_authorization", new Map(), { client_id: "postern-cli" });
      const pair = await newPair();
      const poll = async (claims: object): Promise<string> =>
        JSON.parse(
          (
            await browse(
              TOKEN,
              new Map(),
              {
                ...{ grant_type: "urn:ietf:params:oauth:grant-type:device_code", client_id: "postern-cli" },
                device_code: JSON.parse(text).device_code,
              },
              { dpop: await proofOf(pair, TOKEN, claims) },
            )
          ).text,
        ).error;
      expect(await poll({})).toBe("use_dpop_nonce");
      expect(await poll({ nonce: await nonceFor(pair) })).toBe("authorization_pending");
    });
  });

  it("no other site can approve for the victim", async () => {
    count++;
    const { cookies, state } = await away("good", asking());
    const returned = await back("good", { code: newCode(), state, iss: good.url }, cookies);
    const page = await browse("/login/confirm", returned.cookies);
    const form = { csrf: csrfIn(page), decision: "allow" };
    expect((await browse("/login/confirm", returned.cookies, form, { "sec-fetch-site": "cross-site" })).status).toBe(
      403,
    );
    expect((await browse("/login/confirm", returned.cookies, form)).status).toBe(403);
    expect((await browse("/login/confirm", returned.cookies, { ...form, csrf: "x" }, OWN)).status).toBe(400);
    expect((await browse("/login/confirm", cookies, form, OWN)).status).toBe(400);
  });

  it("a device code is redeemed only after approval, and is not guessed", async () => {
    const { text } = await browse("/oauth/device_authorization", new Map(), { client_id: "postern-cli" });
    const { device_code: code, user_code: userCode } = JSON.parse(text);
    const poll = (device: string) =>
      browse("/oauth/token", new Map(), {
        ...{
          grant_type: "urn:ietf:params:oauth:grant-type:device_code",
          client_id: "postern-cli",
          device_code: device,
        },
      });
    expect(JSON.parse((await poll(code)).text).error).toBe("authorization_pending");
    expect(JSON.parse((await poll(code)).text).error).toBe("slow_down");
    expect(JSON.parse((await poll(userCode)).text).error).toBe("expired_token");
    expect((await browse("/device", new Map(), { user_code: "BCDF-GHJK" }, OWN)).status).toBe(400);
  });

  it("one address gets few device codes at once, which leaves room for others", async () => {
    const ask = () => browse("/oauth/device_authorization", new Map(), { client_id: "postern-cli" });
    const answers = await Promise.all(Array.from({ length: 40 }, ask));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(10);
    expect(Number(refused[0]?.headers["retry-after"])).toBeGreaterThan(0);
    address = `127.0.2.${count}`;
    expect((await ask()).status).toBe(200);
  });
});

describe("a provider", () => {
  const provider = (name: string, spec: object) =>
    platform.create("identityproviders", {
      metadata: { name },
      spec: {
        issuer: { url: good.url, certificateAuthority: good.certificateAuthorityPem },
        clientId: CLIENT,
        claimMappings: { username: { claim: "name_here" } },
        ...spec,
      },
    });
  const signInAt = async (name: string): Promise<PageAnswer> => {
    const chosen = await browse("/login");
    const left = await browse(`/login/start?provider=${name}`, chosen.cookies);
    if (left.status !== 303) return left;
    const { searchParams } = new URL(left.location);
    nonces.set(good, searchParams.get("nonce") ?? "");
    return await back(name, { code: newCode(), state: searchParams.get("state") ?? "", iss: good.url }, left.cookies);
  };

  it.each<[string, () => object]>([
    ["no authority of its own", () => ({ url: good.url })],
    ["another authority", () => ({ url: good.url, certificateAuthority: evil.certificateAuthorityPem })],
  ])("whose certificate is not that of its authority is not spoken to: %s", async (_, issuer) => {
    const name = `untrusted-${count}`;
    await provider(name, { issuer: issuer() });
    const before = good.requests.length;
    const { status, text, cookies } = await signInAt(name);
    expect([status, cookies.has(SESSION), good.requests.length]).toEqual([503, false, before]);
    expect(text).toContain("cannot be reached");
    await platform.until({ path: `identityproviders/${name}` }, ({ body }) =>
      body.status?.conditions?.some(({ type, status: is }: any) => type === "Ready" && is === "False"),
    );
    await platform.send({ method: "DELETE", path: `identityproviders/${name}` });
  });

  it("with linkUsers links a person to the user with that username, once, and not to bots or locked users", async () => {
    await provider("linking", { linkUsers: true });
    const name = `person-${count}`;
    await platform.create("users", { metadata: { name } });
    expect((await signInAt("linking")).cookies.has(SESSION)).toBe(true);
    const identities = async () => (await platform.send({ path: `users/${name}` })).body.spec.identities;
    expect(await identities()).toEqual([{ provider: "linking", subject: `sub-${count}` }]);
    // A person who takes over the username at the provider is a different user.
    idToken = (issuer, claims) => issuer.sign({ ...claims, sub: "somebody-else" });
    expect((await signInAt("linking")).status).toBe(403);
    expect(await identities()).toEqual([{ provider: "linking", subject: `sub-${count}` }]);
    idToken = (issuer, claims) => issuer.sign(claims);
    for (const spec of [{ kind: "Bot" }, { disabled: true }]) {
      count++;
      await platform.create("users", { metadata: { name: `person-${count}` }, spec });
      const { status, cookies } = await signInAt("linking");
      expect([spec, status, cookies.has(SESSION)]).toEqual([spec, 403, false]);
    }
    // Without createUsers, no other user can sign in.
    count++;
    expect((await signInAt("linking")).status).toBe(403);
    await platform.send({ method: "DELETE", path: "identityproviders/linking" });
  });
});

describe("the audit log", () => {
  const lastEvent = async (path: string) => {
    const text = await readFile(join(platform.directory, "audit.log"), "utf8");
    const events = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    const event = events.findLast(({ requestURI, stage }) => requestURI === path && stage === "ResponseComplete");
    return { text, status: event?.responseStatus.code, notes: event?.annotations ?? {} };
  };

  it("records the user, the provider and the issued key", async () => {
    const { cookies } = await signInWith();
    const { body } = await platform.send({ path: "selves", key: cookies.get(SESSION) ?? "", body: { spec: {} } });
    const { notes } = await lastEvent("/login/callback/good");
    expect(notes).toMatchObject({
      "postern/sign-in-provider": "good",
      "postern/sign-in-user": `person-${count}`,
      "authentication.kubernetes.io/issued-credential-id": expect.stringMatching(/^\S{8,}$/),
    });
    const listed = await platform.send({ path: `users/person-${count}/credentials` });
    const [made] = listed.body.status.credentials.filter(({ name }: any) => name === body.status.accessKey);
    expect(made.id).toBe(notes["authentication.kubernetes.io/issued-credential-id"]);
  });

  it.each<[string, () => Promise<unknown>, string]>([
    ["another state", () => signInWith({ state: "wrong" }), "the state is not the expected one"],
    [
      "an error of the provider",
      () => signInWith({ error: "access_denied" }),
      "the identity provider responded: access_denied",
    ],
    [
      "a user who is there",
      async () => {
        await platform.create("users", { metadata: { name: `person-${count}` } });
        await signInWith();
      },
      "already exists",
    ],
    ["no beginning", () => back("good", { code: newCode(), state: "s" }, new Map()), "was started in this browser"],
  ])("records the reason of a refusal: %s", async (_, attempt, why) => {
    await attempt();
    const { status, notes } = await lastEvent("/login/callback/good");
    expect([status >= 400, notes["postern/sign-in-refusal"]]).toEqual([true, expect.stringContaining(why)]);
    expect(notes).not.toHaveProperty(["authentication.kubernetes.io/issued-credential-id"]);
  });

  it("has no code, state, token or key in it", async () => {
    const { cookies, state } = await away();
    const code = newCode();
    let token = "";
    idToken = async (issuer, claims) => {
      token = await issuer.sign(claims);
      return token;
    };
    const { cookies: signedIn } = await back("good", { code, state, iss: good.url }, cookies);
    const { text } = await lastEvent("/login/callback/good");
    const log = await readFile(join(platform.directory, "server.log"), "utf8");
    for (const secret of [code, state, token, signedIn.get(SESSION) ?? ""])
      expect([secret.length > 8, text.includes(secret), log.includes(secret)]).toEqual([true, false, false]);
  });
});

describe("back-channel logout", () => {
  const EVENT = "http://schemas.openid.net/event/backchannel-logout";
  const claims = (more: object = {}) => ({
    ...{ sub: `sub-${count}`, aud: CLIENT, jti: randomBytes(8).toString("hex"), events: { [EVENT]: {} }, ...more },
  });
  const logOut = async (token: string, provider = "good") =>
    (await browse(`/oauth/backchannel-logout/${provider}`, new Map(), { logout_token: token })).status;
  const isAlive = async (key: string) =>
    (await platform.send({ path: "selves", key, body: { spec: {} } })).status === 201;

  it("ends the sessions of a person, and nothing that is not its provider's to end", async () => {
    const key = (await signInWith()).cookies.get(SESSION) ?? "";
    const refused: readonly string[] = [
      await good.sign(claims({ aud: "another" })),
      await good.sign(claims({ nonce: "n" })),
      await good.sign(claims({ events: {} })),
      await good.sign(claims({ events: { [EVENT]: "text" } })),
      await good.sign(claims({ jti: undefined })),
      await good.sign(claims({ sub: undefined })),
      await good.sign(claims({ iat: seconds(-3600) })),
      await good.sign(claims(), { expiresIn: -600 }),
      await good.sign(claims({ iss: evil.url })),
      await evil.sign(claims()),
      await evil.sign(claims({ iss: good.url })),
      unsigned({ alg: "none" }, good, claims()),
      await hmacWithPublicKey(good, claims()),
      await good.sign(claims(), { header: { typ: "at+jwt" } }),
    ];
    for (const [at, token] of refused.entries()) expect([at, await logOut(token)]).toEqual([at, 400]);
    expect(await isAlive(key)).toBe(true);
    // At another provider, the subject is another user.
    expect(await logOut(await evil.sign(claims()), "evil")).toBe(200);
    expect(await isAlive(key)).toBe(true);
    const token = await good.sign(claims(), { header: { typ: "logout+jwt" } });
    expect(await logOut(token)).toBe(200);
    expect(await isAlive(key)).toBe(false);
    const next = (await signInWith()).cookies.get(SESSION) ?? "";
    expect(await logOut(token)).toBe(400);
    expect(await isAlive(next)).toBe(true);
  });
});

const seconds = (from: number): number => Math.floor(Date.now() / 1000) + from;

function unsigned(header: object, issuer: ServedIssuer, claims: object): string {
  const payload = { iss: issuer.url, iat: seconds(0), exp: seconds(300), ...claims };
  return `${encode(JSON.stringify(header))}.${encode(JSON.stringify(payload))}.`;
}

async function hmacWithPublicKey(issuer: ServedIssuer, claims: object): Promise<string> {
  const key = issuer.keys[0];
  if (key === undefined) throw new Error("the issuer has no key");
  const pem = createPublicKey(KeyObject.from(key.privateKey)).export({ type: "spki", format: "pem" });
  const header = encode(JSON.stringify({ alg: "HS256", kid: key.kid, typ: "JWT" }));
  const payload = { iss: issuer.url, iat: seconds(0), exp: seconds(300), ...claims };
  const content = `${header}.${encode(JSON.stringify(payload))}`;
  return `${content}.${createHmac("sha256", pem).update(content).digest("base64url")}`;
}
