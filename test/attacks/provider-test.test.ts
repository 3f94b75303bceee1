// The test of an identity provider says what a sign-in would do, and does nothing: no user, no session, no token that stays anywhere.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  newSigningKey,
  type ServedIssuer,
  serveIssuer,
} from "@postern/platform/foundation/issuers/testing/serve-issuer";
import { type RunningPlatform, startPlatform } from "@postern/platform/testing/running-platform";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ServedProvider, serveProvider } from "../e2e/testing/identity-provider.ts";
import { ENTRY, NODE, tool } from "../e2e/testing/postern-process.ts";
import { provideSignIn } from "./testing/signing-in.ts";

const CLIENT = "client-of-ours";
const SECRET = "the-secret-of-the-client";

let platform: RunningPlatform;
let issuer: ServedIssuer;
let certified: ServedProvider;

const define = (name: string, spec: object) =>
  platform.create("identityproviders", {
    metadata: { name },
    spec: {
      clientId: CLIENT,
      claimMappings: { username: { claim: "name_here" }, groups: { claim: "groups", prefix: "idp:" } },
      ...spec,
    },
  });
const place = ({
  url,
  certificateAuthorityPem,
}: {
  readonly url: string;
  readonly certificateAuthorityPem: string;
}) => ({
  issuer: { url, certificateAuthority: certificateAuthorityPem },
});
const ask = (name: string, spec: object = {}, key?: string) =>
  platform.send({ path: `identityproviders/${name}/test`, body: { spec }, ...(key === undefined ? {} : { key }) });
const test = async (name: string, spec: object = {}): Promise<any> => {
  const { status, body, text } = (await ask(name, spec)) as any;
  expect(status, text).toBe(201);
  return body.status;
};
const failed = ({ checks }: any): readonly string[] =>
  checks.filter(({ status }: any) => status !== "True").map(({ type, status }: any) => `${type} ${status}`);
const counts = async () => {
  const of = async (path: string) => (await platform.send({ path })).body.items.length;
  return { users: await of("users"), keys: await of("ownedaccesskeys") };
};

beforeAll(async () => {
  platform = await startPlatform({ "proxy-allowed-addresses": ["127.0.0.1/32"], "audit-log-mode": "blocking" });
  issuer = await serveIssuer();
  provideSignIn(issuer, () => issuer.sign({}));
  certified = await serveProvider({ url: platform.server.url, ca: await readFile(platform.server.caPath) });
  await platform.create("/api/v1/namespaces/p-default/secrets", {
    metadata: { name: "idp" },
    stringData: { clientSecret: SECRET },
  });
  await platform.create("teams", { metadata: { name: "newcomers" }, spec: {} });
  const clientSecretRef = { secretNamespace: "p-default", secretName: "idp" };
  await define("idp", { ...place(issuer), clientSecretRef, createUsers: true, teams: ["newcomers"] });
  await define("strict", { ...place(issuer), allowedGroups: ["idp:devs"] });
  await define("certified", { ...place(certified), clientId: certified.clientId });
  await define("gone", { issuer: { url: "https://127.0.0.1:1" } });
  await define("metadata", { issuer: { url: "https://169.254.169.254" } });
});
afterAll(async () => {
  await platform?.[Symbol.asyncDispose]();
  await issuer?.[Symbol.asyncDispose]();
  await certified?.[Symbol.asyncDispose]();
});

describe("the test of an identity provider", () => {
  it("names the Secret that has no client secret, and does not claim that the provider answers", async () => {
    const clientSecretRef = { secretNamespace: "p-default", secretName: "idp", key: "absent" };
    await define("no-secret", { ...place(issuer), clientSecretRef });
    const message = 'the Secret p-default/idp does not exist, or has no value at the key "absent"';
    expect((await test("no-secret")).checks).toEqual([
      expect.objectContaining({ type: "Enabled", status: "True" }),
      expect.objectContaining({ type: "Client", status: "False", field: "spec.clientSecretRef", message }),
    ]);
    await expect
      .poll(async () => (await platform.send({ path: "identityproviders/no-secret" })).body.status?.conditions)
      .toContainEqual(expect.objectContaining({ type: "Ready", reason: "NoClientCredential", message }));
  });

  it("says what a certified provider says of itself", async () => {
    const { accepted, provider, identity, checks } = await test("certified");
    expect([accepted, identity], JSON.stringify(checks)).toEqual([true, undefined]);
    expect(provider).toMatchObject({
      authorizationEndpoint: `${certified.url}/auth`,
      tokenEndpoint: `${certified.url}/token`,
      jwksURI: `${certified.url}/jwks`,
      scopes: expect.arrayContaining(["openid", "offline_access"]),
      clientAuthentication: expect.arrayContaining(["client_secret_basic"]),
      keyIDs: [expect.any(String)],
    });
  });

  it("maps a token to the user that would be created, and creates none", async () => {
    const before = await counts();
    const idToken = await issuer.sign({
      sub: "sub-1",
      name_here: "nina",
      aud: CLIENT,
      groups: ["devs"],
      email: "n@example.com",
    });
    const status = await test("idp", { idToken });
    expect([status.accepted, failed(status)]).toEqual([true, []]);
    expect(status.identity).toMatchObject({
      subject: "sub-1",
      username: "nina",
      groups: ["idp:devs"],
      email: "n@example.com",
    });
    expect(status.user).toEqual({ name: "nina", how: "Created", teams: ["newcomers"] });
    expect(status.claims).toMatchObject({ name_here: "nina" });
    expect(await counts()).toEqual(before);
  });

  it("maps claims without a token, and knows users that have the identity", async () => {
    await platform.create("users", {
      metadata: { name: "otto" },
      spec: { identities: [{ provider: "idp", subject: "sub-2" }] },
    });
    const claims = { sub: "sub-2", name_here: "otto" };
    expect((await test("idp", { claims })).user).toEqual({ name: "otto", how: "Known", teams: [] });
    const other = await test("idp", { claims: { ...claims, sub: "sub-3" } });
    expect([other.accepted, failed(other), other.identity.username]).toEqual([false, ["User False"], "otto"]);
    expect(failed(await test("strict", { claims: { ...claims, groups: ["ops"] } }))).toEqual(["Claims False"]);
    expect(failed(await test("idp", { claims: { sub: "x", name_here: "system:masters" } }))).toEqual(["Claims False"]);
  });

  it("finds each fault of a token", async () => {
    const claims = { sub: "sub-1", name_here: "nina", aud: CLIENT };
    const tokens: readonly (readonly [Promise<string> | string, readonly string[]])[] = [
      [issuer.sign({ ...claims, aud: "another" }), ["Audience False"]],
      [issuer.sign({ ...claims, iss: "https://elsewhere.example" }), ["Issuer False", "Signature Unknown"]],
      [issuer.sign(claims, { expiresIn: -120 }), ["Time False"]],
      [issuer.sign(claims, { key: await newSigningKey() }), ["Signature False"]],
      ["no token", ["Token False"]],
    ];
    for (const [token, expected] of tokens)
      expect(failed(await test("idp", { idToken: await token }))).toEqual(expected);
  });

  it("says why a provider cannot be reached, and reaches no address that is not allowed", async () => {
    const gone = await test("gone");
    expect([gone.accepted, failed(gone), gone.provider]).toEqual([false, ["Discovery False"], undefined]);
    expect(failed(await test("metadata"))).toEqual(["Discovery False"]);
    // Whatever a caller sends, only the provider that the object names is asked.
    const asked = issuer.requests.length;
    const idToken = await issuer.sign({
      sub: "s",
      name_here: "n",
      aud: CLIENT,
      iss: "https://elsewhere.example",
      jku: "https://127.0.0.1:1/keys",
    });
    await test("idp", { idToken });
    expect(issuer.requests.length - asked).toBeLessThanOrEqual(1);
  });

  it("returns neither the token, nor the claims that were sent, nor a secret", async () => {
    const idToken = await issuer.sign({ sub: "sub-1", name_here: "nina", aud: CLIENT });
    for (const spec of [{ idToken }, { claims: { sub: "a", name_here: "b", note: "SENT-BY-ME" } }]) {
      const { body } = await ask("idp", spec);
      const text = JSON.stringify(body);
      expect(body.spec).toEqual({});
      for (const secret of [SECRET, idToken, "SENT-BY-ME"]) expect(text).not.toContain(secret);
    }
  });

  it("is printed by the command line, which fails where users cannot sign in", async () => {
    const claimsFile = join(platform.directory, "claims.json");
    await writeFile(claimsFile, JSON.stringify({ sub: "sub-9", name_here: "petra", groups: ["devs"] }));
    const run = (...args: readonly string[]) =>
      tool(NODE, [ENTRY, "provider", "test", ...args, "--kubeconfig", platform.server.adminKubeconfigPath]);
    const good = await run("idp", "--claims-file", claimsFile);
    expect([good.code, good.stderr]).toEqual([0, ""]);
    for (const part of [
      /^Discovery +True/m,
      /^User +True/m,
      /user: +petra Created/,
      /groups: +idp:devs/,
      /teams: +newcomers/,
    ])
      expect(good.stdout).toMatch(part);
    const refused = await run("strict", "--claims-file", claimsFile, "-o", "json");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("users cannot sign in with strict by these claims");
    expect(failed(JSON.parse(refused.stdout))).toEqual(["User False"]);
    const gone = await run("gone");
    expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining("users cannot sign in with gone")]);
    await writeFile(claimsFile, "[]");
    expect((await run("idp", "--claims-file", claimsFile)).stderr).toContain("must have claims as a JSON object");
  });

  it("is asked by those that may, with one question, about a provider that there is", async () => {
    await platform.create("users", { metadata: { name: "nobody-much" } });
    const { spec } = await platform.create("ownedaccesskeys", {
      metadata: { name: "much" },
      spec: { user: "nobody-much" },
    });
    expect((await ask("idp", {}, spec.key)).status).toBe(403);
    expect((await ask("none")).status).toBe(404);
    expect((await ask("idp", { idToken: "a", claims: {} })).status).toBe(400);
    expect((await ask("idp", { idToken: "a".repeat(200_000) })).status).toBe(201);
    expect((await ask("idp", { claims: "text" })).status).toBeGreaterThanOrEqual(400);
  });
});
