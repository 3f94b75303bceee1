import { createPublicKey, verify } from "node:crypto";
import { createTestContext } from "@postern/apiserver/testing/test-context";
import { describe, expect, it } from "vitest";
import { createEmbeddedHost, type EmbeddedHost } from "./testing/embedded-host.ts";

const ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts";
const SECRETS = "/api/v1/namespaces/default/secrets";
const MERGE = { "content-type": "application/merge-patch+json" };

const get = async (host: EmbeddedHost, url: string) => (await host.request("one", { url })).body;
const decoded = (text: string) => Buffer.from(text, "base64").toString();
const authenticate = (host: EmbeddedHost, token: string, uid = "one") => {
  const { request } = createTestContext({ url: "/api", headers: { authorization: `Bearer ${token}` } });
  return host.backend(uid).authenticateServiceAccount?.(request);
};

async function send(host: EmbeddedHost, method: string, url: string, body?: object) {
  const headers = method === "PATCH" ? MERGE : {};
  const answer = await host.request("one", { method, url, headers, ...(body === undefined ? {} : { body }) });
  await host.settled("one");
  return answer.body;
}

/** With a ServiceAccount `robot`, and a Secret `robot-token` for it. */
async function createHost() {
  const host = await createEmbeddedHost();
  await host.setUp("one");
  await send(host, "POST", ACCOUNTS, { metadata: { name: "robot" } });
  await send(host, "POST", SECRETS, tokenSecret("robot-token", "robot"));
  return host;
}

const tokenSecret = (name: string, account: string) => ({
  metadata: { name, annotations: { "kubernetes.io/service-account.name": account } },
  type: "kubernetes.io/service-account-token",
});

const tokenOf = async (host: EmbeddedHost): Promise<string> =>
  decoded((await get(host, `${SECRETS}/robot-token`)).data.token);

describe("a Secret for the token of a ServiceAccount", () => {
  it("gets the token, what verifies the server, and its namespace", async () => {
    await using host = await createHost();
    const { metadata, data } = await get(host, `${SECRETS}/robot-token`);
    const { uid } = (await get(host, `${ACCOUNTS}/robot`)).metadata;
    expect(metadata.annotations["kubernetes.io/service-account.uid"]).toBe(uid);
    expect([decoded(data["ca.crt"]), decoded(data.namespace)]).toEqual(["the authority\n", "default"]);
    const claims = JSON.parse(Buffer.from(decoded(data.token).split(".")[1] ?? "", "base64url").toString());
    expect(claims).toEqual({
      iss: "kubernetes/serviceaccount",
      "kubernetes.io/serviceaccount/namespace": "default",
      "kubernetes.io/serviceaccount/secret.name": "robot-token",
      "kubernetes.io/serviceaccount/service-account.name": "robot",
      "kubernetes.io/serviceaccount/service-account.uid": uid,
      sub: "system:serviceaccount:default:robot",
    });
    expect(host.errors).toEqual([]);
  });

  it("holds a token that makes its bearer the ServiceAccount in this cluster, at any time", async () => {
    await using host = await createHost();
    const token = await tokenOf(host);
    host.moveTime(10 * 365 * 86_400_000);
    expect((await authenticate(host, token))?.user).toMatchObject({
      name: "system:serviceaccount:default:robot",
      groups: ["system:serviceaccounts", "system:serviceaccounts:default"],
    });
    await host.setUp("two");
    expect(await authenticate(host, token, "two")).toBeUndefined();
  });

  it.each([
    ["its Secret goes", (host: EmbeddedHost) => send(host, "DELETE", `${SECRETS}/robot-token`)],
    [
      "its Secret holds another",
      (host: EmbeddedHost) => send(host, "PATCH", `${SECRETS}/robot-token`, { data: { token: "eA==" } }),
    ],
    ["its ServiceAccount goes", (host: EmbeddedHost) => send(host, "DELETE", `${ACCOUNTS}/robot`)],
  ])("the token becomes invalid and its connections are closed when %s (security book 13)", async (_what, change) => {
    await using host = await createHost();
    const token = await tokenOf(host);
    let cuts = 0;
    const handle = (await authenticate(host, token))?.credential?.onRevoked?.(() => cuts++);
    await change(host);
    expect(cuts).toBe(1);
    handle?.[Symbol.dispose]();
    await expect(authenticate(host, token)).rejects.toMatchObject({ code: 401 });
  });

  it("gets another token where its own is taken out", async () => {
    await using host = await createHost();
    await send(host, "PATCH", `${SECRETS}/robot-token`, { data: { token: null, "ca.crt": "eA==" } });
    expect(await authenticate(host, await tokenOf(host))).toBeDefined();
    expect(decoded((await get(host, `${SECRETS}/robot-token`)).data["ca.crt"])).toBe("the authority\n");
  });

  it("goes with its ServiceAccount, is not made for one that is not there, and not taken over by one of its name (security book 11)", async () => {
    await using host = await createHost();
    const left = async () => (await get(host, SECRETS)).items.map(({ metadata }: any) => metadata.name);
    await send(host, "POST", SECRETS, tokenSecret("nobodys", "nobody"));
    expect(await left()).toEqual(["robot-token"]);
    const { uid } = (await get(host, `${ACCOUNTS}/robot`)).metadata;
    await send(host, "DELETE", `${ACCOUNTS}/robot`);
    expect(await left()).toEqual([]);
    await send(host, "POST", ACCOUNTS, { metadata: { name: "robot" } });
    const stale = tokenSecret("stale", "robot");
    const annotations = { ...stale.metadata.annotations, "kubernetes.io/service-account.uid": uid };
    await send(host, "POST", SECRETS, { ...stale, metadata: { name: "stale", annotations } });
    expect(await left()).toEqual([]);
    expect(host.errors).toEqual([]);
  });
});

describe("the issuer of tokens", () => {
  it("publishes the key that verifies them", async () => {
    await using host = await createHost();
    const configuration = await get(host, "/.well-known/openid-configuration");
    expect(configuration).toMatchObject({
      issuer: "https://kubernetes.default.svc.cluster.local",
      jwks_uri: expect.stringMatching(/^https:\/\/.*\/openid\/v1\/jwks$/),
      id_token_signing_alg_values_supported: ["ES256"],
    });
    const { keys } = await get(host, "/openid/v1/jwks");
    const { token } = (await send(host, "POST", `${ACCOUNTS}/robot/token`, { spec: {} })).status;
    const [header = "", payload = "", signature = ""] = token.split(".");
    const { kid } = JSON.parse(Buffer.from(header, "base64url").toString());
    const jwk = keys.find((key: { kid: string }) => key.kid === kid);
    expect(Object.keys(jwk).sort()).toEqual(["alg", "crv", "kid", "kty", "use", "x", "y"]);
    const key = { key: createPublicKey({ key: jwk, format: "jwk" }), dsaEncoding: "ieee-p1363" } as const;
    const isOurs = verify("sha256", Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, "base64url"));
    expect(isOurs).toBe(true);
  });

  it("is sent by ServiceAccounts, and by users with permission", async () => {
    await using host = await createHost();
    const robot = await authenticate(host, await tokenOf(host));
    const call = { url: "/openid/v1/jwks", ...robot };
    expect((await host.requestAs("one", call)).status).toBe(200);
    const stranger = { name: "stranger", groups: ["system:authenticated"] };
    await expect(host.request("one", { url: "/openid/v1/jwks", user: stranger })).rejects.toMatchObject({ code: 403 });
    await expect(host.request("one", { method: "POST", url: "/openid/v1/jwks" })).rejects.toMatchObject({ code: 405 });
  });
});
