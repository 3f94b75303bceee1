// People sign in: a certified OpenID provider, a real browser, and this server.

import { readFile } from "node:fs/promises";
import { type RunningPlatform, startPlatform } from "@postern/platform/testing/running-platform";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newPerson, signInAtProvider, startBrowser } from "./testing/browser.ts";
import { type ServedProvider, serveProvider } from "./testing/identity-provider.ts";

let platform: RunningPlatform;
let idp: ServedProvider;
let browser: Browser;

beforeAll(async () => {
  platform = await startPlatform({ "proxy-allowed-addresses": ["127.0.0.1/32"] });
  idp = await serveProvider({ url: platform.server.url, ca: await readFile(platform.server.caPath) });
  browser = await startBrowser();
  const { clientSecret } = idp;
  await platform.create("/api/v1/namespaces/p-default/secrets", {
    metadata: { name: "idp" },
    stringData: { clientSecret },
  });
  await platform.create("teams", { metadata: { name: "newcomers" }, spec: {} });
  await platform.create("identityproviders", {
    metadata: { name: "idp" },
    spec: {
      displayName: "Example",
      issuer: { url: idp.url, certificateAuthority: idp.certificateAuthorityPem },
      clientId: idp.clientId,
      clientSecretRef: { secretNamespace: "p-default", secretName: "idp" },
      claimMappings: {
        username: { claim: "preferred_username" },
        groups: { expression: "has(claims.groups) ? claims.groups.map(g, 'idp:' + g) : []" },
        extra: [{ key: "mail", valueExpression: "claims.email" }],
      },
      createUsers: true,
      teams: ["newcomers"],
      refreshInterval: 10,
    },
  });
});
afterAll(async () => {
  await browser?.close();
  await platform?.[Symbol.asyncDispose]();
  await idp?.[Symbol.asyncDispose]();
});

let count = 0;
const newcomer = (claims: object = {}): string => {
  const sub = `person-${++count}`;
  idp.people.set(sub, { preferred_username: sub, name: `Person ${count}`, email: `${sub}@example.com`, ...claims });
  return sub;
};

const openLogin = async (path = "/login"): Promise<Page> => {
  const page = await (await newPerson(browser)).newPage();
  await page.goto(`${platform.server.url}${path}`);
  return page;
};

test("a person signs in, agrees at the provider, and sees the session", async () => {
  const sub = newcomer({ groups: ["devs"] });
  const page = await openLogin();
  await page.click("text=Sign in with Example");
  await signInAtProvider(page, sub);
  await page.waitForURL("**/profile/access-keys");
  expect(await page.textContent("main")).toContain(`You are signed in as ${sub}`);
  const { body: user } = await platform.send({ path: `users/${sub}` });
  expect(user.spec).toMatchObject({
    displayName: `Person ${count}`,
    identities: [{ provider: "idp", subject: sub, groups: ["idp:devs"] }],
  });
  expect(user.status.teams).toEqual(["newcomers"]);
  const { body: keys } = await platform.send({ path: "ownedaccesskeys" });
  const [login] = keys.items.filter((item: any) => item.spec.user === sub);
  expect(login.spec).toMatchObject({
    type: "Login",
    identity: {
      userId: sub,
      username: sub,
      connector: "idp",
      groups: ["idp:devs"],
      extraClaims: { mail: `${sub}@example.com` },
    },
  });
  expect(JSON.stringify(login)).not.toContain("connectorData");
  const [cookie] = await page
    .context()
    .cookies()
    .then((all) => all.filter(({ name }) => name === "__Host-session"));
  expect(cookie).toMatchObject({ httpOnly: true, secure: true, sameSite: "Strict", path: "/" });
  await page.click("text=Sign out");
  await page.waitForSelector("text=You are signed out");
  expect((await platform.send({ path: `ownedaccesskeys/${login.metadata.name}` })).status).toBe(404);
});
