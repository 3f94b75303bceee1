// Every view of the console, light and dark, wide and narrow, as axe-core judges it. With CONSOLE_SCREENSHOTS=docs/images/console it
// writes the pictures of the guide.

import { join } from "node:path";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ServedConsole, serveConsole } from "./testing/console.ts";

const VIEWS = [
  "/",
  "/keys",
  "/new/key",
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
/** The views of the guide, and their pictures. */
const PICTURES: { readonly [view: string]: string } = {
  "/": "overview",
  "/new/key": "new-key",
  "/keys/ci": "key",
};
const PHONE = { width: 360, height: 740 };
const DESK = { width: 1280, height: 800 };

type Finding = { readonly id: string; readonly help: string; readonly nodes: readonly { readonly html: string }[] };

let served: ServedConsole;
let page: Page;

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
  page = await served.openAs(platform.adminKey, "/");
});
afterAll(async () => {
  await served?.[Symbol.asyncDispose]();
  expect(served?.faults).toEqual([]);
});

async function findings(view: string, theme: string): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  // Colours change over a moment, which begins with the next frame.
  await page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))");
  await page.evaluate("Promise.all(document.getAnimations().map((animation) => animation.finished))");
  const { violations } = (await page.evaluate("axe.run(document)")) as { readonly violations: readonly Finding[] };
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html }) => `${view} ${theme}: ${id}: ${help}: ${html}`),
  );
}

async function keepPicture(view: string, theme: string): Promise<void> {
  const folder = process.env["CONSOLE_SCREENSHOTS"];
  const name = PICTURES[view];
  if (folder === undefined || name === undefined || theme !== "light") return;
  await page.screenshot({ path: join(folder, `${name}.png`) });
}

test.each(VIEWS)("%s has no finding, in both themes, and is no wider than a phone", async (view) => {
  await page.setViewportSize(DESK);
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  await page.goto(served.platform.server.url + view);
  await page.getByRole("main").getByRole("heading", { level: 1 }).waitFor();
  // Watches go on, so that the network is never idle.
  await page.locator(".loading").first().waitFor({ state: "detached" });
  for (const theme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: theme });
    expect(await findings(view, theme)).toEqual([]);
    await keepPicture(view, theme);
  }
  await page.setViewportSize(PHONE);
  expect(await findings(view, "phone")).toEqual([]);
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(PHONE.width);
});

test("the page of sign-in has no finding", async () => {
  const other = await served.open("/");
  await other.getByRole("heading", { name: "Sign in to Postern" }).waitFor();
  await other.evaluate(axe.source);
  const { violations } = (await other.evaluate("axe.run(document)")) as { readonly violations: readonly Finding[] };
  expect(violations).toEqual([]);
});
