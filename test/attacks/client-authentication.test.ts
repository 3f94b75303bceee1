// Sign-in without a client secret, with a certified provider: by an assertion that the server signs, and by a token that it reads from a file.

import { generateKeyPairSync, randomUUID } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTestCertificate } from "@postern/apiserver/transport/testing/test-certificates";
import {
  type IssuerSigningKey,
  newSigningKey,
  signClaims,
} from "@postern/platform/foundation/issuers/testing/serve-issuer";
import { type RunningPlatform, startPlatform } from "@postern/platform/testing/running-platform";
import { temporaryDirectory } from "@postern/platform/testing/temporary-directory";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ServedProvider, serveProvider } from "../e2e/testing/identity-provider.ts";
import { type Browse, browserOf, type PageAnswer, SESSION } from "./testing/signing-in.ts";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let platform: RunningPlatform;
let signed: ServedProvider;
let federated: ServedProvider;
let tokenKey: IssuerSigningKey;
let tokenFile: string;
let browse: Browse;

const KEYS = "/oauth/client-keys";
const define = (name: string, idp: ServedProvider, spec: object) =>
  platform.send({
    path: "identityproviders",
    body: {
      metadata: { name },
      spec: {
        issuer: { url: idp.url, certificateAuthority: idp.certificateAuthorityPem },
        clientId: idp.clientId,
        claimMappings: { username: { claim: "preferred_username" } },
        createUsers: true,
        ...spec,
      },
    },
  });
const test = async (name: string): Promise<any> =>
  (await platform.send({ path: `identityproviders/${name}/test`, body: { spec: {} } })).body.status;
const failed = ({ checks }: any): readonly string[] =>
  checks.filter(({ status }: any) => status !== "True").map(({ type, message }: any) => `${type}: ${message}`);

/** Writes the file anew, with a token of the issuer whose keys the client has. */
const project = async (claims: object = {}, options: object = {}): Promise<string> => {
  const own = { sub: federated.clientId, aud: federated.url, jti: randomUUID(), ...claims };
  const token = await signClaims(federated.clientId, own, tokenKey, options);
  await writeFile(tokenFile, `${token}\n`, { mode: 0o600 });
  return token;
};

/** Signs a person in as a browser does, without its window. */
async function signIn(name: string, idp: ServedProvider, sub: string): Promise<PageAnswer> {
  idp.people.set(sub, { preferred_username: sub });
  const chosen = await browse("/login");
  const left = await browse(`/login/start?provider=${name}`, chosen.cookies);
  const visit = browserOf(idp.url, Buffer.from(idp.certificateAuthorityPem));
  const own = (location: string): string => {
    const { pathname, search } = new URL(location, idp.url);
    return `${pathname}${search}`;
  };
  let answer = await visit(own(left.location));
  for (let step = 0; step < 12; step++) {
    if (answer.location.startsWith(platform.server.url))
      return await browse(answer.location.slice(platform.server.url.length), left.cookies);
    if (answer.location !== "") answer = await visit(own(answer.location), answer.cookies);
    else {
      const prompt = /name="prompt" value="(\w+)"/.exec(answer.text)?.[1] ?? "";
      const action = /action="([^"]+)"/.exec(answer.text)?.[1] ?? "";
      answer = await visit(own(action), answer.cookies, { prompt, login: sub, password: "any" });
    }
  }
  throw new Error(`the provider ends with ${answer.status} ${answer.text}`);
}
const isSignedIn = ({ cookies }: PageAnswer): boolean => cookies.has(SESSION);

beforeAll(async () => {
  directory = await temporaryDirectory();
  tokenFile = join(directory.path, "token");
  tokenKey = await newSigningKey("RS256");
  // Its address is an option of the server, and the server's address is in its client: one of them comes first.
  const certificate = createTestCertificate();
  const place = { url: "https://127.0.0.1:1", ca: certificate.cert };
  federated = await serveProvider(place, "federated", certificate, {
    token_endpoint_auth_method: "private_key_jwt",
    jwks: { keys: [tokenKey.jwk] },
  });
  platform = await startPlatform({
    "proxy-allowed-addresses": ["127.0.0.1/32"],
    "federated-token-file": [`${federated.url}=${tokenFile}`, `https://missing.example=${tokenFile}-none`],
    "audit-log-mode": "blocking",
  });
  place.url = platform.server.url;
  await federated.rollOver();
  const ca = await readFile(platform.server.caPath);
  browse = browserOf(platform.server.url, ca);
  signed = await serveProvider({ url: platform.server.url, ca }, "signed", createTestCertificate(), {
    token_endpoint_auth_method: "private_key_jwt",
    jwks_uri: `${platform.server.url}${KEYS}`,
  });
});
afterAll(async () => {
  await platform?.[Symbol.asyncDispose]();
  await signed?.[Symbol.asyncDispose]();
  await federated?.[Symbol.asyncDispose]();
  await directory?.[Symbol.asyncDispose]();
});

describe("a client that signs with a key of the server", () => {
  it("has no keys before a provider needs one, and then publishes the public half to anyone", async () => {
    const empty = await platform.send({ path: KEYS, key: "" });
    expect([empty.status, empty.body, empty.headers["cache-control"]]).toEqual([200, { keys: [] }, "no-store"]);
    expect((await define("signed", signed, { clientAuthentication: "PrivateKeyJWT" })).status).toBe(201);
    expect(failed(await test("signed"))).toEqual([]);
    const { body, headers } = await platform.send({ path: KEYS, key: "" });
    expect(headers["content-type"]).toContain("application/jwk-set+json");
    expect(body.keys).toEqual([
      {
        kty: "EC",
        crv: "P-256",
        use: "sig",
        alg: "ES256",
        x: expect.any(String),
        y: expect.any(String),
        kid: expect.any(String),
      },
    ]);
    await platform.until(
      { path: "identityproviders/signed" },
      ({ body: provider }) => provider.status?.clientKeysURI === `${platform.server.url}${KEYS}`,
    );
    expect((await platform.send({ path: KEYS, key: "", method: "DELETE" })).status).toBe(405);
  });

  it("signs people in at a certified provider, which reads the keys there", async () => {
    expect(isSignedIn(await signIn("signed", signed, "nina"))).toBe(true);
    expect((await platform.send({ path: "users/nina" })).body.spec.identities).toEqual([
      expect.objectContaining({ provider: "signed", subject: "nina" }),
    ]);
  });

  it("sends an assertion of a minute for the provider, with an id of its own each time", async () => {
    const sent: URLSearchParams[] = [];
    signed.intercept = (request, response) => {
      let form = "";
      request.on("data", (part) => (form += part));
      request.on("end", () => {
        sent.push(new URLSearchParams(form));
        response.writeHead(401, { "content-type": "application/json" });
        const [last] = sent.slice(-1);
        response.end(JSON.stringify({ error: "invalid_client", error_description: last?.get("client_assertion") }));
      });
    };
    try {
      const answers: PageAnswer[] = [];
      for (const _ of [1, 2]) {
        const left = await browse("/login/start?provider=signed", (await browse("/login")).cookies);
        const state = new URL(left.location).searchParams.get("state") ?? "";
        const query = new URLSearchParams({ code: "a-code-of-nobody", state, iss: signed.url });
        answers.push(await browse(`/login/callback/signed?${query}`, left.cookies));
      }
      const claims = sent.map((form) => {
        expect(form.get("client_assertion_type")).toBe("urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
        expect(form.get("client_secret")).toBe(null);
        return JSON.parse(Buffer.from(form.get("client_assertion")?.split(".")[1] ?? "", "base64url").toString());
      });
      for (const { iss, sub, aud, iat, exp } of claims)
        expect([iss, sub, aud, exp - iat]).toEqual([signed.clientId, signed.clientId, signed.url, 60]);
      expect(new Set(claims.map(({ jti }) => jti)).size).toBe(2);
      // The provider repeats it, and it is shown to nobody.
      const { body } = await platform.send({ path: "identityproviders/signed" });
      const shown = JSON.stringify([answers.map(({ text }) => text), body, (await test("signed")).checks]);
      for (const form of sent) expect(shown).not.toContain(form.get("client_assertion")?.split(".")[2]);
      expect(failed(await test("signed"))[0]).toContain("Client: it answers invalid_client");
    } finally {
      signed.intercept = undefined;
    }
    expect(isSignedIn(await signIn("signed", signed, "otto"))).toBe(true);
    expect(failed(await test("signed"))).toEqual([]);
  });

  it("sends nothing that is for the issuer to another place", async () => {
    const elsewhere = await serveProvider(
      { url: platform.server.url, ca: await readFile(platform.server.caPath) },
      "x",
    );
    try {
      // The issuer's own document, but for where tokens come from.
      elsewhere.intercept = (_, response) => {
        response.writeHead(200, { "content-type": "application/json" });
        const at = { authorization_endpoint: `${signed.url}/auth`, jwks_uri: `${signed.url}/jwks` };
        response.end(JSON.stringify({ issuer: signed.url, ...at, token_endpoint: `${elsewhere.url}/token` }));
      };
      const issuer = {
        url: signed.url,
        discoveryURL: `${elsewhere.url}/.well-known/openid-configuration`,
        certificateAuthority: elsewhere.certificateAuthorityPem,
      };
      expect((await define("moved", signed, { issuer, clientAuthentication: "PrivateKeyJWT" })).status).toBe(201);
      const fault =
        "its token endpoint is not at the address of the issuer: set spec.clientAssertion.audience to TokenEndpoint";
      expect(failed(await test("moved"))).toContain(`Client: ${fault}`);
      const there = { audience: "TokenEndpoint", algorithm: "RS256" };
      await platform.send({
        method: "PATCH",
        path: "identityproviders/moved",
        body: { spec: { clientAssertion: there } },
      });
      expect(failed(await test("moved")).filter((check) => check.startsWith("Client"))).toEqual([]);
      const { body } = await platform.send({ path: KEYS, key: "" });
      expect(body.keys.map(({ alg }: any) => alg).sort()).toEqual(["ES256", "RS256"]);
    } finally {
      await elsewhere[Symbol.asyncDispose]();
    }
  });
});

describe("a client with a federated token", () => {
  it("signs people in with the token that the file has at the moment", async () => {
    const token = await project();
    expect((await define("federated", federated, { clientAuthentication: "FederatedToken" })).status).toBe(201);
    expect(failed(await test("federated"))).toEqual([]);
    expect(isSignedIn(await signIn("federated", federated, "paul"))).toBe(true);
    // The provider takes each once: the same again would be refused.
    expect(isSignedIn(await signIn("federated", federated, "paul"))).toBe(false);
    expect(await project()).not.toBe(token);
    expect(isSignedIn(await signIn("federated", federated, "paul"))).toBe(true);
  });

  it("says why there is none, and not where the file is", async () => {
    await project({}, { expiresIn: -10 });
    const expired = failed(await test("federated"));
    await writeFile(
      tokenFile,
      generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" }),
    );
    const key = failed(await test("federated"));
    await writeFile(tokenFile, "a".repeat(70_000));
    const long = failed(await test("federated"));
    expect([expired, key, long]).toEqual([
      ["Client: the federated token of this server has expired"],
      ["Client: the federated token of this server is none: the token is not a signed JWT"],
      ["Client: the federated token of this server is none: the token has more than 65536 characters"],
    ]);
    expect((await define("unknown", signed, { clientAuthentication: "FederatedToken" })).status).toBe(201);
    const [unknown = ""] = failed(await test("unknown"));
    expect(unknown).toContain("this server has no federated token for this issuer");
    expect(JSON.stringify([expired, key, long, unknown])).not.toContain(directory.path);
    await project();
  });

  it.each([
    [
      "a secret beside a key",
      { clientAuthentication: "PrivateKeyJWT", clientSecretRef: { secretNamespace: "a", secretName: "b" } },
      "spec.clientSecretRef",
    ],
    [
      "a secret beside a token",
      { clientAuthentication: "FederatedToken", clientSecretRef: { secretNamespace: "a", secretName: "b" } },
      "spec.clientSecretRef",
    ],
    [
      "an assertion beside a token",
      { clientAuthentication: "FederatedToken", clientAssertion: {} },
      "spec.clientAssertion",
    ],
    ["an assertion beside a secret", { clientAssertion: { algorithm: "RS256" } }, "spec.clientAssertion"],
  ])("is refused with %s", async (_what, spec, field) => {
    const { status, body } = await define("refused", signed, spec);
    expect([status, body.details.causes[0].field]).toEqual([422, field]);
  });
});
