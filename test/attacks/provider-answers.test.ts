// Answers of providers, beyond a plain yes: errors, too many groups, groups elsewhere, drops of a response, and secrets with a line end.

import { randomBytes, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { RequestListener } from "node:http";
import { join } from "node:path";
import {
  newSigningKey,
  type ServedIssuer,
  serveIssuer,
} from "@postern/platform/foundation/issuers/testing/serve-issuer";
import { type RunningPlatform, startPlatform } from "@postern/platform/testing/running-platform";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { serveProvider } from "../e2e/testing/identity-provider.ts";
import { browserOf, type PageAnswer, provideSignIn, SESSION } from "./testing/signing-in.ts";

const CLIENT = "client-of-ours";

let platform: RunningPlatform;
let ca: Buffer;
let issuer: ServedIssuer;
let count = 0;
let claims: object = {};
let nonce = "";
/** Answers before the provider, where it returns true. */
let elsewhere: (...asked: Parameters<RequestListener>) => boolean = () => false;

const provider = (name: string, spec: object = {}) =>
  platform.create("identityproviders", {
    metadata: { name },
    spec: {
      issuer: { url: issuer.url, certificateAuthority: issuer.certificateAuthorityPem },
      clientId: CLIENT,
      claimMappings: { username: { claim: "name_here" }, groups: { claim: "groups" } },
      createUsers: true,
      ...spec,
    },
  });

beforeAll(async () => {
  platform = await startPlatform({ "proxy-allowed-addresses": ["127.0.0.1/32"], "audit-log-mode": "blocking" });
  ca = await readFile(platform.server.caPath);
  issuer = await serveIssuer();
  provideSignIn(issuer, () =>
    issuer.sign({ sub: `sub-${count}`, name_here: `person-${count}`, aud: CLIENT, nonce, ...claims }),
  );
  const own = issuer.intercept;
  issuer.intercept = (request, response) => {
    if (!elsewhere(request, response)) own?.(request, response);
  };
  await provider("idp");
});
beforeEach(() => {
  count++;
  claims = {};
  elsewhere = () => false;
});
afterAll(async () => {
  await platform?.[Symbol.asyncDispose]();
  await issuer?.[Symbol.asyncDispose]();
});

const browse = (...asked: Parameters<ReturnType<typeof browserOf>>) =>
  browserOf(platform.server.url, ca, `127.0.2.${count}`)(...asked);

async function away(name = "idp") {
  const chosen = await browse("/login");
  const left = await browse(`/login/start?provider=${name}`, chosen.cookies);
  const { searchParams } = new URL(left.location === "" ? "https://none.invalid" : left.location);
  nonce = searchParams.get("nonce") ?? "";
  return { left, state: searchParams.get("state") ?? "" };
}
const back = (cookies: ReadonlyMap<string, string>, query: object, name = "idp"): Promise<PageAnswer> =>
  browse(`/login/callback/${name}?${new URLSearchParams({ ...query })}`, cookies);
const newCode = (): string => randomBytes(8).toString("hex");

async function signIn(query: object = {}, name = "idp"): Promise<PageAnswer> {
  const { left, state } = await away(name);
  return left.status === 303
    ? await back(left.cookies, { code: newCode(), state, iss: issuer.url, ...query }, name)
    : left;
}
const lastRefusal = async (): Promise<string> => {
  const lines = (await readFile(join(platform.directory, "audit.log"), "utf8")).trim().split("\n");
  const events = lines.map((line) => JSON.parse(line).annotations ?? {});
  return events.findLast((notes) => notes["postern/sign-in-refusal"] !== undefined)?.["postern/sign-in-refusal"] ?? "";
};
const serverLog = (): Promise<string> => readFile(join(platform.directory, "server.log"), "utf8");
const expectLogged = async (text: string): Promise<void> => {
  expect(await serverLog()).toContain(text);
};
const groupsOf = async (): Promise<readonly string[]> =>
  (await platform.send({ path: `users/person-${count}` })).body.spec?.identities?.[0]?.groups ?? [];
const guids = (length: number): readonly string[] => Array.from({ length }, () => randomUUID());

describe("groups", () => {
  it.each([310, 311, 500])("of a person in %i of them are taken", async (length) => {
    claims = { groups: guids(length) };
    expect((await signIn()).cookies.has(SESSION)).toBe(true);
    expect(await groupsOf()).toHaveLength(length);
  });

  it("with long names are taken up to the length of a token", async () => {
    claims = { groups: guids(500).map((group) => `${group}-${"x".repeat(80)}`) };
    expect((await signIn()).cookies.has(SESSION)).toBe(true);
  });

  it.each<[string, () => object, string]>([
    ["more than 500", () => ({ groups: guids(501) }), "you are in 501 groups, and at most 500 are accepted"],
    [
      "a token that is too long",
      () => ({ groups: guids(500).map((id) => id.repeat(4)) }),
      "at most 98304 are accepted",
    ],
    ["another long claim", () => ({ roles: "x".repeat(120_000) }), "at most 98304 are accepted"],
  ])("are refused with the figure: %s", async (_, more, why) => {
    claims = more();
    const { status, text, cookies } = await signIn();
    expect([status, cookies.has(SESSION)]).toEqual([403, false]);
    expect([text, await lastRefusal()]).toEqual([expect.stringContaining(why), expect.stringContaining(why)]);
  });

  it.each<[string, object]>([
    [
      "named elsewhere",
      { _claim_names: { groups: "src1" }, _claim_sources: { src1: { endpoint: "https://203.0.113.1/x" } } },
    ],
    ["named without a source", { _claim_names: { groups: "src1" } }],
    [
      "named by an object",
      { _claim_names: { groups: { toString: 1, valueOf: 1 } }, _claim_sources: { src1: { JWT: "x" } } },
    ],
    ["hasgroups", { hasgroups: true }],
  ])("that are missing are reported to the person and the administrator: %s", async (_, more) => {
    claims = more;
    const { text, cookies } = await signIn();
    expect([cookies.has(SESSION), await groupsOf()]).toEqual([true, []]);
    expect(text).toContain("did not send your groups, because you are in too many");
    expect(text).not.toContain("http-equiv");
    await expectLogged(`sign-in of person-${count}: your provider did not send your groups`);
    expect(await readFile(join(platform.directory, "audit.log"), "utf8")).toContain("postern/sign-in-warning");
  });

  it("that are missing are the reason of a refusal where they decide", async () => {
    await provider("only", { allowedGroups: ["devs"] });
    claims = { hasgroups: true };
    const { status, text } = await signIn({}, "only");
    expect([status, text]).toEqual([403, expect.stringContaining("it is unknown whether you may sign in")]);
  });

  it.each<[string, string, (groups: readonly string[]) => Promise<readonly [type: string, body: string]>]>([
    [
      "as Entra ID answers",
      "/v1.0/users/x/getMemberObjects",
      async (value) => ["application/json", JSON.stringify({ value })],
    ],
    ["as JSON", "/claims", async (groups) => ["application/json", JSON.stringify({ groups })]],
  ])("are fetched where the provider says, %s", async (_, path, answer) => {
    const groups = guids(400);
    const asked: string[] = [];
    elsewhere = (request, response) => {
      if (request.url !== path) return false;
      asked.push(`${request.method} ${String(request.headers.authorization).split(" ")[0]}`);
      void answer(groups).then(([type, body]) => response.writeHead(200, { "content-type": type }).end(body));
      return true;
    };
    claims = { _claim_names: { groups: "s" }, _claim_sources: { s: { endpoint: `${issuer.url}${path}` } } };
    expect((await signIn()).text).not.toContain("too many");
    expect(await groupsOf()).toEqual(groups);
    expect(asked).toEqual([path === "/claims" ? "GET Bearer" : "POST Bearer"]);
  });

  it("are taken from a claim that another signed token has, if the provider signed it", async () => {
    const groups = guids(3);
    const other = { key: await newSigningKey() };
    for (const [options, expected] of [
      [{}, groups],
      [other, []],
    ] as const) {
      const token = await issuer.sign({ groups, aud: CLIENT }, options);
      claims = { _claim_names: { groups: "s" }, _claim_sources: { s: { JWT: token } } };
      expect((await signIn()).cookies.has(SESSION)).toBe(true);
      expect(await groupsOf()).toEqual(expected);
    }
  });

  it("are not fetched from an address that nobody may name, and no token goes to another host", async () => {
    const other = await serveIssuer();
    const seen: (string | undefined)[] = [];
    other.intercept = (request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ groups: ["stolen"] }));
    };
    for (const endpoint of ["https://169.254.169.254/x", "http://127.0.0.1/x", `${other.url}/claims`]) {
      claims = { _claim_names: { groups: "s" }, _claim_sources: { s: { endpoint } } };
      expect((await signIn()).text).toContain("too many");
    }
    expect(seen.filter((header) => header !== undefined)).toEqual([]);
    await other[Symbol.asyncDispose]();
  });
});

describe("an error", () => {
  it("of the provider is shown and recorded in its words, as text", async () => {
    const query = { error: "access_denied", error_description: "<script>alert(1)</script> Device not\u202e compliant" };
    const { status, text } = await signIn(query);
    expect(status).toBe(403);
    expect(text).toContain("access_denied (&lt;script&gt;alert(1)&lt;/script&gt; Device not compliant)");
    expect(await lastRefusal()).toContain("Device not compliant");
    await expectLogged("Device not compliant");
  });

  it("of the token endpoint is shown and recorded, without secrets that it repeats", async () => {
    const code = newCode();
    elsewhere = (request, response) => {
      if (request.url !== "/token") return false;
      const body = { error: "invalid_grant", error_description: `AADSTS50105: code ${code} is not for you` };
      response.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify(body));
      return true;
    };
    const { status, text } = await signIn({ code });
    expect([status, text]).toEqual([400, expect.stringContaining("AADSTS50105: code [redacted] is not for you")]);
    expect(await lastRefusal()).toContain("AADSTS50105");
    for (const told of [text, await serverLog(), await lastRefusal()]) expect(told).not.toContain(code);
  });

  it.each<[string, object, string]>([
    ["another issuer", { iss: "https://other.example" }, "the ID token is from the issuer https://other.example"],
  ])("of the ID token names what was found: %s", async (_, more, why) => {
    claims = more;
    const { status, text } = await signIn();
    expect([status, text]).toEqual([502, expect.stringContaining(why)]);
    expect(await lastRefusal()).toContain(why);
  });

  const conditionOf = async (name: string, reason: string): Promise<string> => {
    const isThere = ({ reason: is }: any): boolean => is === reason;
    await platform.until({ path: `identityproviders/${name}` }, ({ body: object }) =>
      object.status?.conditions?.some(isThere),
    );
    return (await platform.send({ path: `identityproviders/${name}` })).body.status.conditions.find(isThere).message;
  };

  it.each<[string, () => object, string]>([
    ["an issuer that differs", () => ({ url: `${issuer.url}/` }), "is for the issuer https://127.0.0.1"],
    ["a blocked address", () => ({ url: "https://169.254.169.254" }), "its address is not allowed"],
  ])("of discovery is in the condition, on the page and in the log: %s", async (_, where, why) => {
    const name = `faulty-${count}`;
    await provider(name, { issuer: { ...where(), certificateAuthority: issuer.certificateAuthorityPem } });
    expect(await conditionOf(name, "DiscoveryFailed")).toContain(why);
    const { status, text } = await signIn({}, name);
    expect([status, text]).toEqual([503, expect.stringContaining(why)]);
    expect(await lastRefusal()).toContain(why);
    await expectLogged(why);
  });

  it("about the client is in the condition until it is mended; a line end of a secret does no harm", async () => {
    await using idp = await serveProvider({ url: platform.server.url, ca }, "certified");
    const secret = async (clientSecret: string) => {
      const path = "/api/v1/namespaces/p-default/secrets";
      const body = { metadata: { name: "certified" }, stringData: { clientSecret } };
      const made = await platform.send({ path, body });
      if (made.status !== 201) await platform.send({ method: "PUT", path: `${path}/certified`, body });
    };
    await secret("wrong-secret-of-the-client");
    await provider("certified", {
      issuer: { url: idp.url, certificateAuthority: idp.certificateAuthorityPem },
      clientId: idp.clientId,
      clientSecretRef: { secretNamespace: "p-default", secretName: "certified" },
    });
    const refused = await signIn({ iss: idp.url }, "certified");
    expect([refused.status, refused.text]).toEqual([502, expect.stringContaining("it answers invalid_client")]);
    expect(await conditionOf("certified", "ClientRefused")).toContain("invalid_client");
    for (const told of [refused.text, await serverLog()]) expect(told).not.toContain("wrong-secret-of-the-client");
    for (const ending of ["\n", "\r\n", " \n", "\t"]) {
      await secret(`${idp.clientSecret}${ending}`);
      // The code is unknown, and the client is not.
      const { status, text } = await signIn({ iss: idp.url }, "certified");
      expect([status, text]).toEqual([400, expect.stringContaining("invalid_grant")]);
    }
  });
});

describe("the state of a sign-in", () => {
  it("is used once, whatever the first answer was", async () => {
    for (const first of [
      { code: newCode(), iss: issuer.url },
      { error: "access_denied" },
      { code: newCode(), iss: "x" },
    ]) {
      const { left, state } = await away();
      await back(left.cookies, { state, ...first });
      const again = await back(left.cookies, { state, code: newCode(), iss: issuer.url });
      expect([again.status, again.cookies.has(SESSION)]).toEqual([400, false]);
      expect(await lastRefusal()).toBe("the state was used before");
    }
  });

  it("is used once by many at a time", async () => {
    const { left, state } = await away();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => back(left.cookies, { state, code: newCode(), iss: issuer.url })),
    );
    expect(answers.filter(({ cookies }) => cookies.has(SESSION))).toHaveLength(1);
  });
});
