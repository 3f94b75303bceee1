// Every view of the console, light and dark, wide, zoomed and narrow, as axe-core judges it. With CONSOLE_SCREENSHOTS=docs/images/console it
// writes the pictures of the guide.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import axe from "axe-core";
import type { CDPSession, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ServedConsole, serveConsole } from "./testing/console.ts";

const VIEWS = [
  "/",
  "/keys",
  "/new/key",
  "/keys/ci/edit",
  "/new/virtual-cluster",
  "/clusters/default/demo/edit",
  "/new/project",
  "/new/user",
  "/new/team",
  "/new/trust-rule",
  "/new/identity-provider",
  "/projects/shop/edit",
  "/keys/ci",
  "/clusters",
  "/clusters/default/demo",
  "/projects",
  "/projects/shop",
  "/users",
  "/users/jane",
  "/teams",
  "/teams/shop-team",
  "/roles",
  "/roles/postern:project-user",
  "/access",
  "/trust",
  "/trust/-/ci",
  "/identity-providers",
  "/leak-reports",
  "/audit",
  "/profile",
] as const;
/** Kept as they are: the guide begins with them. */
const PNG: { readonly [view: string]: string } = { "/": "overview", "/new/key": "new-key", "/keys/ci": "key" };
const PHONE = { width: 360, height: 740 };
/** What a window of 1280 pixels shows at 200 %. */
const ZOOMED = { width: 640, height: 400 };
const DESK = { width: 1280, height: 800 };

type Finding = { readonly id: string; readonly help: string; readonly nodes: readonly { readonly html: string }[] };

let served: ServedConsole;
let page: Page;
let devtools: CDPSession;

beforeAll(async () => {
  served = await serveConsole();
  const { platform } = served;
  await platform.create("users", { metadata: { name: "jane" }, spec: { displayName: "Jane" } });
  await platform.create("users", { metadata: { name: "shop-ci" }, spec: { kind: "Bot" } });
  await platform.create("teams", { metadata: { name: "shop-team" }, spec: { users: ["jane"] } });
  await platform.create("projects", {
    metadata: { name: "shop" },
    spec: { members: [{ kind: "User", name: "jane", clusterRole: "postern:project-user" }] },
  });
  await platform.create("ownedaccesskeys", {
    metadata: { name: "ci" },
    spec: { user: "jane", ttl: 3600, scope: { projects: [{ project: "shop" }] } },
  });
  await platform.create("clustertrustrules", {
    metadata: { name: "ci" },
    spec: {
      issuer: { preset: "github" },
      audiences: ["postern"],
      claims: [{ claim: "repository_id", values: ["42"] }],
      user: "shop-ci",
      scope: { projects: [{ project: "shop" }] },
    },
  });
  await platform.create("identityproviders", {
    metadata: { name: "example" },
    spec: {
      displayName: "Example",
      issuer: { url: "https://login.example.com" },
      clientId: "postern",
      claimMappings: { username: { claim: "preferred_username" } },
      createUsers: true,
    },
  });
  const { spec } = await platform.create("ownedaccesskeys", {
    metadata: { name: "agent" },
    spec: { displayName: "Build agent", user: "jane" },
  });
  await platform.send({ method: "POST", path: "/leaks", key: "", body: `found: ${spec.key}` });
  page = await served.openAs(platform.adminKey, "/");
  devtools = await page.context().newCDPSession(page);
});
afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
  expect(served?.faults).toEqual([]);
});

/** What a colour scheme or a width can change; the rest is the same for all of them. */
const OF_THEMES = ["color-contrast"];
const OF_WIDTHS = ["scrollable-region-focusable", "aria-hidden-focus", "nested-interactive"];

/** `rules`: of axe-core; all of them where there is none. */
async function findings(view: string, theme: string, rules: readonly string[]): Promise<readonly string[]> {
  // Colours change over a moment, which begins with the next frame.
  await page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))");
  // One that is cut short rejects.
  await page.evaluate("Promise.allSettled(document.getAnimations().map((animation) => animation.finished))");
  const { violations } = (await page.evaluate(
    rules.length === 0 ? "axe.run(document)" : `axe.run(document, { runOnly: ${JSON.stringify(rules)} })`,
  )) as { readonly violations: readonly Finding[] };
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html }) => `${view} ${theme}: ${id}: ${help}: ${html}`),
  );
}

/** WebP is a fifth of PNG. */
async function keepPicture(view: string, theme: string): Promise<void> {
  const folder = process.env["CONSOLE_SCREENSHOTS"];
  if (folder === undefined) return;
  const png = theme === "light" ? PNG[view] : undefined;
  if (png !== undefined) return void (await page.screenshot({ path: join(folder, `${png}.png`) }));
  const name = PNG[view] ?? view.slice(1).replaceAll(/[^a-z]+/g, "-");
  const { data } = await devtools.send("Page.captureScreenshot", { format: "webp", quality: 75 });
  await writeFile(join(folder, `${name}-${theme}.webp`), Buffer.from(data, "base64"));
}

test.each(VIEWS)(
  "%s has no finding, in both themes, and is no wider than a phone or a window at 200 %",
  async (view) => {
    await page.setViewportSize(DESK);
    await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
    await page.goto(served.platform.server.url + view);
    await page.getByRole("main").getByRole("heading", { level: 1 }).waitFor();
    // Watches go on, so that the network is never idle.
    await page.locator(".loading").first().waitFor({ state: "detached" });
    await page.evaluate(axe.source);
    for (const theme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: theme });
      expect(await findings(view, theme, theme === "light" ? [] : OF_THEMES)).toEqual([]);
      await keepPicture(view, theme);
    }
    for (const size of [ZOOMED, PHONE]) {
      await page.setViewportSize(size);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(size.width);
    }
    expect(await findings(view, "phone", OF_WIDTHS)).toEqual([]);
  },
);

test("the page of sign-in has no finding", async () => {
  const other = await served.open("/");
  await other.getByRole("heading", { name: "Sign in to Postern" }).waitFor();
  await other.evaluate(axe.source);
  const { violations } = (await other.evaluate("axe.run(document)")) as { readonly violations: readonly Finding[] };
  expect(violations).toEqual([]);
});
