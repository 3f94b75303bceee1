// People sign in: a certified OpenID provider, a real browser, and this server.

import { type ChildProcess, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type RunningPlatform, startPlatform } from "@postern/platform/testing/running-platform";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { byNight } from "../../tools/test-cost/by-night.ts";
import { newPerson, signInAtProvider, startBrowser } from "./testing/browser.ts";
import { type ServedProvider, serveProvider } from "./testing/identity-provider.ts";
import { ENTRY, NODE, succeed, tool } from "./testing/postern-process.ts";

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
  await expect.poll(() => page.textContent("main")).toContain(`You are signed in as ${sub}`);
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
    oidcProvider: {
      clientId: idp.clientId,
      nonce: expect.stringMatching(/^\S{16,}$/),
      redirectUri: expect.stringMatching(/^https:\/\/\S+\/login\/callback\/idp$/),
      scopes: expect.stringContaining("openid"),
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

const signIn = async (sub: string): Promise<Page> => {
  const page = await openLogin();
  await page.click("text=Sign in with Example");
  await signInAtProvider(page, sub);
  await page.waitForURL("**/profile/access-keys");
  return page;
};
const loginsOf = async (sub: string): Promise<readonly any[]> =>
  (await platform.send({ path: "ownedaccesskeys" })).body.items.filter((item: any) => item.spec.user === sub);

test("a provider has to say by what, and how long ago, a person authenticated", async () => {
  const require = async (requiredAuthentication: object | null): Promise<void> => {
    const headers = { "content-type": "application/merge-patch+json" };
    const body = { spec: { requiredAuthentication } };
    expect((await platform.send({ method: "PATCH", path: "identityproviders/idp", headers, body })).status).toBe(200);
  };
  const { prototype } = idp.provider.Session;
  const { loginAccount } = prototype;
  let acr: string | undefined;
  prototype.loginAccount = function (details: object) {
    return loginAccount.call(this, { ...details, acr });
  };
  /** The page of the platform that a person returns to, who authenticated by these means. */
  const comeBack = async (means: string | undefined): Promise<Page> => {
    acr = means;
    const page = await openLogin();
    const asked = page.waitForRequest((request) => new URL(request.url()).searchParams.get("acr_values") === "mfa");
    await page.click("text=Sign in with Example");
    expect(new URL((await asked).url()).searchParams.get("max_age")).toBe("60");
    await signInAtProvider(page, newcomer());
    return page;
  };
  await require({ acrValues: ["mfa"], maxAge: 60 });
  try {
    const [without, weak] = [await comeBack(undefined), await comeBack("pwd")];
    await expect.poll(() => without.textContent("main")).toContain("does not say how you authenticated");
    await expect.poll(() => weak.textContent("main")).toContain("you authenticated by pwd (acr)");
    await (await comeBack("mfa")).waitForURL("**/profile/access-keys");
  } finally {
    prototype.loginAccount = loginAccount;
    await require(null);
  }
});

type Running = {
  readonly child: ChildProcess;
  printed(text: RegExp): Promise<string>;
  readonly ended: Promise<number>;
};

function startCli(home: string, ...args: readonly string[]): Running {
  const child = spawn(NODE, [ENTRY, ...args], {
    env: { PATH: process.env["PATH"], HOME: home, BROWSER: "none" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  const waiting = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (part: string) => {
      text += part;
      for (const look of [...waiting]) look();
    });
  const ended = new Promise<number>((resolve) => child.once("exit", (code) => resolve(code ?? 1)));
  return {
    child,
    ended,
    printed: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = pattern.exec(text)?.[0];
          if (found !== undefined) resolve(found);
        };
        waiting.add(look);
        look();
        void ended.then((code) => reject(new Error(`ended with ${code}: ${text}`)));
      }),
  };
}
const whoAmI = async (home: string): Promise<any> =>
  JSON.parse(await succeed(tool("env", [`HOME=${home}`, NODE, ENTRY, "whoami", "-o", "json"])));

test("a command line signs in with the browser of its machine", async () => {
  const sub = newcomer();
  const home = join(platform.directory, "home-loopback");
  const cli = startCli(home, "login", platform.server.url, "--ca", platform.server.caPath, "--browser");
  const url = await cli.printed(/https:\S+code_challenge_method=S256/);
  const page = await (await newPerson(browser)).newPage();
  await page.goto(url);
  await page.click("text=Sign in with Example");
  await signInAtProvider(page, sub);
  await page.waitForURL("**/login/confirm");
  await expect.poll(() => page.textContent("main")).toContain("A command line on this computer (127.0.0.1:");
  // Nothing is issued before the user agrees.
  expect(await loginsOf(sub)).toEqual([]);
  await page.click("button:has-text('Allow')");
  await page.waitForSelector("text=You are signed in on the command line");
  expect(await cli.ended).toBe(0);
  expect(await whoAmI(home)).toMatchObject({ user: { name: sub }, accessKeyType: "Login" });
  await succeed(tool("env", [`HOME=${home}`, NODE, ENTRY, "logout"]));
  expect(await loginsOf(sub)).toEqual([]);
});

byNight("a command line that is refused gets nothing", async () => {
  const sub = newcomer();
  const home = join(platform.directory, "home-refused");
  const cli = startCli(home, "login", platform.server.url, "--ca", platform.server.caPath, "--browser");
  const url = await cli.printed(/https:\S+code_challenge_method=S256/);
  const page = await (await newPerson(browser)).newPage();
  await page.goto(url);
  await page.click("text=Sign in with Example");
  await signInAtProvider(page, sub);
  await page.click("text=Refuse");
  await cli.printed(/refused in the browser/);
  expect(await cli.ended).not.toBe(0);
  expect(await loginsOf(sub)).toEqual([]);
});

byNight("a command line signs in with a code on another device", async () => {
  const sub = newcomer();
  const home = join(platform.directory, "home-device");
  const cli = startCli(home, "login", platform.server.url, "--ca", platform.server.caPath, "--device");
  const code = await cli.printed(/[B-Z]{4}-[B-Z]{4}/);
  const page = await openLogin("/device");
  // As people type it.
  await page.fill("#code", code.toLowerCase().replace("-", " "));
  await page.click("text=Continue");
  await page.click("text=Sign in with Example");
  await signInAtProvider(page, sub);
  await page.waitForURL("**/login/confirm");
  await expect.poll(() => page.textContent("main")).toContain(`It shows the code ${code}`);
  await page.click("button:has-text('Allow')");
  await page.waitForSelector("text=You are signed in on the command line");
  expect(await cli.ended).toBe(0);
  expect(await whoAmI(home)).toMatchObject({ user: { name: sub }, accessKeyType: "Login" });
});

byNight("the original command line gets the key on its port", async () => {
  const sub = newcomer();
  const page = await openLogin("/login?cli=true");
  const got: string[] = [];
  await page.route("http://localhost:25843/**", (route) => {
    got.push(route.request().url());
    return route.fulfill({ body: "done" });
  });
  await page.click("text=Sign in with Example");
  await signInAtProvider(page, sub);
  await page.waitForURL("**/login/confirm");
  await page.click("button:has-text('Allow')");
  await page.waitForURL("http://localhost:25843/**");
  const key = new URL(got[0] ?? "").searchParams.get("key") ?? "";
  const self = await platform.send({ path: "selves", key, body: { spec: {} } });
  expect(self.body.status).toMatchObject({ accessKeyType: "Login", user: { name: sub } });
});

byNight("groups follow the provider, and a session ends when it refuses, with what hangs on it", async () => {
  const [stays, leaves] = [newcomer({ groups: ["a"] }), newcomer()];
  await platform.send({
    method: "PATCH",
    path: "projects/default",
    body: { spec: { members: [{ kind: "User", name: leaves, clusterRole: "postern:project-admin" }] } },
  });
  await signIn(stays);
  const page = await signIn(leaves);
  const cookies = await page.context().cookies();
  const key = cookies.find(({ name }) => name === "__Host-session")?.value ?? "";
  const kubeconfig = await platform.send({
    path: "namespaces/p-default/virtualclusterinstances/demo/kubeconfig",
    key,
    body: { spec: {} },
  });
  expect(kubeconfig.text).toContain("token:");
  const child = /token: "?([\w.-]+)/.exec(kubeconfig.body.status.kubeConfig)?.[1] ?? "";
  const ask = (value: string) => platform.send({ path: "selves", key: value, body: { spec: {} } });
  expect([(await ask(key)).status, (await ask(child)).status]).toEqual([201, 201]);
  const watch = await platform.open({ path: "/apis/management.postern/v1/ownedaccesskeys?watch=true", key });
  const [own] = await loginsOf(leaves);
  idp.people.set(stays, { ...idp.people.get(stays), groups: ["b", "c"] });
  idp.refuse(leaves);
  await platform.until(
    { path: `users/${stays}` },
    ({ body }) => body.spec.identities[0].groups.join() === "idp:b,idp:c",
  );
  await platform.until({ path: `ownedaccesskeys/${own.metadata.name}` }, ({ status }) => status === 404);
  await watch.ended;
  expect([(await ask(key)).status, (await ask(child)).status]).toEqual([401, 401]);
  const [session] = await loginsOf(stays);
  expect(session.spec.identity.groups).toEqual(["idp:b", "idp:c"]);
});

byNight("a temporarily unavailable provider ends no session, and allows no sign-in", async () => {
  const sub = newcomer();
  await signIn(sub);
  const before = idp.requests.length;
  idp.intercept = (_, response) => response.writeHead(503).end();
  const page = await openLogin();
  await platform.until({ path: "/healthz" }, () => idp.requests.slice(before).includes("POST /token"));
  idp.intercept = undefined;
  expect((await loginsOf(sub)).length).toBe(1);
  const { body } = await platform.send({ path: "identityproviders/idp" });
  expect(body.status.conditions[0]).toMatchObject({ type: "Ready", status: "True" });
  await page.close();
});

byNight("a new signing key of the provider is taken", async () => {
  await idp.rollOver();
  const sub = newcomer();
  await signIn(sub);
  expect((await loginsOf(sub)).length).toBe(1);
});

byNight("signing out at the provider signs the user out here", async () => {
  const sub = newcomer();
  const page = await signIn(sub);
  const [login] = await loginsOf(sub);
  await page.goto(`${idp.url}/session/end`);
  await page.click('button[name="logout"], button[value="yes"], button[autofocus]');
  await platform.until({ path: `ownedaccesskeys/${login.metadata.name}` }, ({ status }) => status === 404);
  await page.goto(`${platform.server.url}/profile/access-keys`);
  await page.waitForURL("**/login?return=*");
});
