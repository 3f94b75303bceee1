// spec.oidcProvider of keys with a refresh token that clients create.

import { afterAll, beforeAll, expect, it } from "vitest";
import { type RunningPlatform, startPlatform } from "../../../../testing/running-platform.ts";

let platform: RunningPlatform;
let count = 0;
const provider = (name: string, more: object = {}) =>
  platform.create("identityproviders", {
    metadata: { name },
    spec: {
      issuer: { url: `https://${name}.example.com` },
      clientId: `client-of-${name}`,
      claimMappings: { username: { claim: "sub" } },
      ...more,
    },
  });
const created = async (spec: object, kind = "ownedaccesskeys"): Promise<any> =>
  (await platform.create(kind, { metadata: { name: `k${++count}` }, spec })).spec.oidcProvider;
const REFRESH = { type: "OIDCRefreshToken", oidcLogin: { refreshToken: "dG9rZW4=" } };

beforeAll(async () => {
  platform = await startPlatform();
});
afterAll(() => platform?.[Symbol.asyncDispose]());

it("is absent while there is no provider, and kept as a client wrote it", async () => {
  expect(await created(REFRESH)).toBeUndefined();
  const own = { clientId: "other", nonce: "n", redirectUri: "https://other.example.com/cb", scopes: "openid" };
  expect(await created({ ...REFRESH, oidcProvider: own })).toEqual(own);
});

it("names the client of the only provider, and no other key's", async () => {
  await provider("one");
  const filled = await created(REFRESH);
  expect(filled).toEqual({
    clientId: "client-of-one",
    redirectUri: expect.stringMatching(/^https:\/\/.*\/login\/callback\/one$/),
    scopes: expect.stringContaining("openid"),
  });
  expect(await created({ oidcLogin: REFRESH.oidcLogin })).toEqual(filled);
  expect(await created({ type: "OIDCRefreshToken" })).toEqual(filled);
  expect(await created({ ...REFRESH, oidcProvider: { clientId: "mine" } })).toEqual({ clientId: "mine" });
  for (const spec of [{}, { type: "User" }, { type: "Login" }, { oidcLogin: { idToken: "dG9rZW4=" } }])
    expect(await created(spec)).toBeUndefined();
});

it("names the provider of spec.identity.connector among several", async () => {
  await provider("two", { scopes: ["openid", "offline_access"] });
  expect(await created(REFRESH)).toBeUndefined();
  expect(await created({ ...REFRESH, identity: { connector: "two" } })).toMatchObject({
    clientId: "client-of-two",
    scopes: "openid offline_access",
  });
  expect(await created({ ...REFRESH, identity: { connector: "gone" } })).toBeUndefined();
  // A provider that is off is none to choose from.
  await platform.send({
    method: "PATCH",
    path: "identityproviders/two",
    headers: { "content-type": "application/merge-patch+json" },
    body: JSON.stringify({ spec: { disabled: true } }),
  });
  expect(await created(REFRESH)).toMatchObject({ clientId: "client-of-one" });
});
