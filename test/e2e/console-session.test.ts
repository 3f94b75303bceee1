// The session of the console, attacked: other pages, other browsers, scripts that were slipped in, a server that goes away.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ServedConsole, serveConsole } from "./testing/console.ts";

let served: ServedConsole;
let url: string;
let page: Page;
beforeAll(async () => {
  served = await serveConsole();
  url = served.platform.server.url;
  page = await served.openAs(served.platform.adminKey, "/");
});
afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
});

/** The answer's code, or the name of the error that the browser gives instead. */
const tryFrom = (where: Page, path: string, init: object = {}): Promise<number | string> =>
  where.evaluate(
    ([address, options]) =>
      fetch(address as string, options as RequestInit).then(
        ({ status }) => status,
        (error: Error) => error.name,
      ),
    [path, init] as const,
  );

const USERS = "/apis/management.postern/v1/users";
const manifest = (name: string): string =>
  JSON.stringify({ apiVersion: "management.postern/v1", kind: "User", metadata: { name } });
const exists = async (name: string): Promise<boolean> =>
  (await served.platform.send({ path: `users/${name}` })).status === 200;
const csrfToken = (where = page): Promise<string> =>
  where.evaluate("fetch('/login/session').then((answer) => answer.json()).then((body) => body.csrfToken)");

test("a write without the session's token is refused, even from the page itself", async () => {
  const write = (name: string, headers: object) =>
    tryFrom(page, USERS, {
      method: "POST",
      body: manifest(name),
      headers: { "content-type": "application/json", ...headers },
    });
  expect(await write("without", {})).toBe(403);
  const other = await served.openAs(served.platform.adminKey, "/");
  expect(await write("with-another", { "x-postern-csrf": await csrfToken(other) })).toBe(403);
  await other.context().close();
  expect(await write("with-it", { "x-postern-csrf": await csrfToken() })).toBe(201);
  expect([await exists("without"), await exists("with-another"), await exists("with-it")]).toEqual([
    false,
    false,
    true,
  ]);
});

test.each([
  ["/login", "/"],
  ["/login?return=/keys", "/keys"],
  ["/login?return=/profile/access-keys", "/profile/access-keys"],
  ["/login?return=//elsewhere.test", "/"],
])("signing in at %s leads to %s", async (from, to) => {
  const other = await served.open(from);
  await other.fill("input[name=key]", served.platform.adminKey);
  await other.click("button[type=submit]");
  await other.waitForURL(url + to);
  await other.context().close();
});

test("pages that the server makes have the theme of the console, and refusals have their form", async () => {
  const other = await served.openAs(served.platform.adminKey, "/", { colorScheme: "light" });
  const ground = (): Promise<string> => other.evaluate("getComputedStyle(document.body).backgroundColor");
  for (const name of ["Theme: system. Change", "Theme: light. Change"])
    await other.getByRole("button", { name }).click();
  await other.getByRole("button", { name: "Theme: dark. Change" }).waitFor();
  await other.goto(`${url}/login`);
  expect([await other.getAttribute("html", "data-theme"), await ground()]).toEqual(["dark", "rgb(13, 13, 17)"]);
  await other.goto(`${url}/device?user_code=nothing`);
  expect(await ground()).toBe("rgb(13, 13, 17)");
  // A form that the server cannot read.
  await other.goto(`${url}/login`);
  await other.evaluate("document.querySelector('form').enctype = 'text/plain'");
  await other.fill("input[name=key]", "any");
  await other.click("button[type=submit]");
  await other.getByRole("heading", { name: "Sign-in failed" }).waitFor();
  await other.getByText("The body must be application/x-www-form-urlencoded.").waitFor();
  expect(await ground()).toBe("rgb(13, 13, 17)");
  // A mistyped address is no JSON.
  const missing = await other.goto(`${url}/keyz`);
  expect(missing?.status()).toBe(404);
  await other.getByRole("heading", { name: "Page not found" }).waitFor();
  await other.context().close();
});

test("the profile has one's own sessions and keys, also where all others may be listed", async () => {
  const { platform } = served;
  await platform.create("users", { metadata: { name: "other" }, spec: { displayName: "Other" } });
  const made = await platform.create("ownedaccesskeys", { metadata: { name: "others-key" }, spec: { user: "other" } });
  const others = await served.openAs(made.spec.key, "/profile");
  await others.getByText("this one", { exact: true }).waitFor();
  const { body } = await platform.send({ path: "ownedaccesskeys" });
  const theirs = body.items.filter(({ spec }: any) => spec.user === "other").map(({ metadata }: any) => metadata.name);
  expect(theirs.length).toBeGreaterThan(1);
  const own = await served.openAs(platform.adminKey, "/profile");
  await own.getByRole("heading", { name: "Sessions" }).waitFor();
  await own.getByText("this one", { exact: true }).waitFor();
  const inConsole = (await own.getByRole("main").textContent()) ?? "";
  await own.goto(`${url}/profile/access-keys`);
  const byServer = (await own.getByRole("main").textContent()) ?? "";
  for (const name of theirs) expect([inConsole.includes(name), byServer.includes(name)]).toEqual([false, false]);
  expect(byServer).toContain("admin");
  await Promise.all([others.context().close(), own.context().close()]);
});

test("a page of another origin in the same browser gets and changes nothing", async () => {
  const server = createServer((_, response) => response.setHeader("content-type", "text/html").end("<p>elsewhere</p>"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const other = await page.context().newPage();
    // Another site to a browser, though the same machine.
    await other.goto(`http://localhost:${(server.address() as AddressInfo).port}/`);
    const token = await csrfToken();
    expect(await tryFrom(other, `${url}/login/session`, { credentials: "include" })).toBe("TypeError");
    const body = manifest("from-elsewhere");
    const init = { method: "POST", credentials: "include", body };
    expect(await tryFrom(other, url + USERS, { ...init, headers: { "x-postern-csrf": token } })).toBe("TypeError");
    // Without headers that a browser would ask about first.
    await tryFrom(other, url + USERS, { ...init, mode: "no-cors" });
    expect(await exists("from-elsewhere")).toBe(false);
    // Not in a frame, where it could be clicked unseen.
    await other.setContent(`<iframe src="${url}/"></iframe>`);
    const frame = other.frames().find((each) => each !== other.mainFrame());
    await frame?.waitForLoadState().catch(() => undefined);
    expect(await frame?.content().catch(() => "")).not.toContain("Needs attention");
    await other.close();
  } finally {
    server.close();
  }
});

test("the cookie is out of reach for scripts", async () => {
  expect(await page.evaluate("document.cookie")).toBe("");
  const [cookie] = (await page.context().cookies()).filter(({ name }) => name === "__Host-session");
  expect(cookie).toMatchObject({ httpOnly: true, secure: true, sameSite: "Strict" });
});

test("markup in texts is shown as text", async () => {
  await served.platform.create("ownedaccesskeys", {
    metadata: { name: "marked" },
    spec: { displayName: "<img src=x onerror=alert(1)>", description: "<script>alert(1)</script>" },
  });
  await page.getByRole("navigation").getByRole("link", { name: "Access keys" }).click();
  await page.getByRole("link", { name: "<img src=x onerror=alert(1)>" }).click();
  await page.getByText("<script>alert(1)</script>").waitFor();
  expect(await page.locator("main img, main script").count()).toBe(0);
});

/** Runs in the page. */
const SLIPPING = `(async () => {
  const violations = [];
  // Told in their order, and a moment later.
  const last = new Promise((resolve) => {
    addEventListener("securitypolicyviolation", ({ effectiveDirective }) => {
      violations.push(effectiveDirective);
      if (effectiveDirective === "connect-src") resolve();
    });
  });
  const script = document.createElement("script");
  for (const slip of [
    () => {
      script.textContent = "globalThis.slipped = 1";
      document.body.append(script);
    },
    () => document.body.insertAdjacentHTML("beforeend", "<p>slipped</p>"),
    () => trustedTypes.createPolicy("own", {}),
  ])
    try {
      slip();
    } catch {
      violations.push("thrown");
    }
  await fetch("https://example.com/").catch(() => undefined);
  await last;
  return { violations, slipped: "slipped" in globalThis };
})()`;

test("the page's policy stops inline code, code made of text, and other origins", async () => {
  const stopped = await page.evaluate<{ readonly violations: readonly string[]; readonly slipped: boolean }>(SLIPPING);
  expect(stopped.slipped).toBe(false);
  expect(stopped.violations).toEqual(
    expect.arrayContaining(["thrown", "require-trusted-types-for", "trusted-types", "connect-src"]),
  );
});

test("signing out in one window signs out the others, and leaves nothing behind", async () => {
  const other = await page.context().newPage();
  await other.goto(`${url}/keys`);
  await other.getByRole("link", { name: "<img src=x onerror=alert(1)>" }).waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in to Postern" }).waitFor();
  await other.getByRole("heading", { name: "Sign in to Postern" }).waitFor();
  expect(await other.content()).not.toContain("onerror");
  // As for anybody.
  expect(await tryFrom(other, USERS)).toBe(403);
});

test("while the server does not answer, the page shows that it is stale, and recovers by itself", async () => {
  await served.platform.create("ownedaccesskeys", { metadata: { name: "before" }, spec: {} });
  const page = await served.openAs(served.platform.adminKey, "/keys");
  await page.getByRole("link", { name: "before" }).waitFor();
  await page.context().setOffline(true);
  // Watches that are open are cut with the network.
  await page.getByText("The server does not answer.").waitFor();
  await page.getByRole("link", { name: "before" }).waitFor();
  await served.platform.create("ownedaccesskeys", { metadata: { name: "meanwhile" }, spec: {} });
  await page.context().setOffline(false);
  await page.getByRole("link", { name: "meanwhile" }).waitFor();
  await page.getByText("The server does not answer.").waitFor({ state: "detached" });
});
