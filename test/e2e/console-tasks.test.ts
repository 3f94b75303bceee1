// Five tasks of people who open the console for the first time, some in two ways, with the clicks that each takes: none takes more than six. Run alone, it
// prints seconds too.

import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { closeConsole, type ServedConsole, serveConsole } from "./testing/console.ts";
import { simulateTenants } from "./testing/simulated-tenants.ts";

const MOST_CLICKS = 6;

let served: ServedConsole;
let ci: string;
beforeAll(async () => {
  served = await serveConsole();
  const { keys } = await simulateTenants(served.platform, { tenants: 12 });
  ci = keys.get("shop-00-ci") ?? "";
  for (const path of ["virtualclusterinstances", "clustertrustrules"]) await served.platform.send({ path, key: ci });
}, 120_000);
afterAll(() => closeConsole(served));

type Person = {
  readonly page: Page;
  readonly click: (target: Locator) => Promise<void>;
  readonly place: (name: string) => Promise<void>;
  readonly type: (text: string) => Promise<void>;
};

/** From the first page, signed in, until `task` is done. */
async function timed(name: string, task: (person: Person) => Promise<void>): Promise<void> {
  const page = await served.openAs(served.platform.adminKey, "/", { viewport: { width: 1_440, height: 900 } });
  let clicks = 0;
  const click = async (target: Locator): Promise<void> => {
    clicks++;
    await target.click();
  };
  const navigation = page.getByRole("navigation", { name: "Main" });
  await navigation.getByRole("link", { name: "Audit log" }).waitFor();
  const began = performance.now();
  await task({
    page,
    click,
    place: (label) => click(navigation.getByRole("link", { name: label, exact: true })),
    type: (text) => page.keyboard.type(text),
  });
  const seconds = (performance.now() - began) / 1000;
  await page.context().close();
  process.stdout.write(`${name}: ${clicks} clicks, ${seconds.toFixed(1)} s\n`);
  expect(clicks).toBeLessThanOrEqual(MOST_CLICKS);
}

test("a CI key for one virtual cluster is made from the list of keys", () =>
  timed("CI key, from Access keys", async ({ page, click, place, type }) => {
    await place("Access keys");
    await click(page.getByRole("link", { name: "New access key" }));
    await page.getByLabel("What is it for?").and(page.locator(":focus")).waitFor();
    await type("Nightly");
    await click(page.getByText("CI for one cluster"));
    await click(page.getByRole("button", { name: /Virtual cluster$/ }));
    await click(page.getByRole("option", { name: "shop-00 / dev" }));
    await click(page.getByRole("button", { name: "Create access key" }));
    await page.getByRole("heading", { name: "nightly was created" }).waitFor();
    const { body } = await served.platform.send({ path: "ownedaccesskeys/nightly" });
    expect(body.spec.scope).toEqual({ virtualClusters: [{ project: "shop-00", virtualCluster: "dev" }] });
  }));

test("a CI key for one virtual cluster is made from the page of the cluster", () =>
  timed("CI key, from the cluster", async ({ page, click, place, type }) => {
    await place("Virtual clusters");
    await click(page.getByRole("link", { name: "shop-00 / dev" }));
    await click(page.getByRole("link", { name: "New key for CI" }));
    await page.getByLabel("What is it for?").and(page.locator(":focus")).waitFor();
    await type("Weekly");
    await click(page.getByRole("button", { name: "Create access key" }));
    await page.getByRole("heading", { name: "weekly was created" }).waitFor();
    const { body } = await served.platform.send({ path: "ownedaccesskeys/weekly" });
    expect(body.spec.scope).toEqual({ virtualClusters: [{ project: "shop-00", virtualCluster: "dev" }] });
    expect(body.spec.ttl).toBe(90 * 86_400);
  }));

test("a person finds out who used a key on a day", () =>
  timed("who used a key", async ({ page, click, place, type }) => {
    await place("Access keys");
    await click(page.getByLabel("Search name, owner or description"));
    await type("shop-00-ci");
    await click(page.getByRole("link", { name: "Pipeline of shop-00" }));
    await page.getByText("127.0.0.1").first().waitFor();
    // A day of the plot leads to its requests; all of them are of today.
    await click(page.locator(".bar-ticks").getByRole("link").last());
    await page.getByRole("button", { name: "List virtual clusters" }).waitFor();
    await page.getByRole("cell", { name: "127.0.0.1" }).first().waitFor();
  }));

test("everything of one person is revoked from anywhere", () =>
  timed("revoke a person, with the palette", async ({ page, click, type }) => {
    await page.keyboard.press("Control+k");
    await type("lock dora");
    await page.locator('[role=option][aria-selected="true"]').filter({ hasText: "Lock user Dora" }).waitFor();
    await page.keyboard.press("Enter");
    await click(page.getByRole("dialog").getByRole("button", { name: "Lock", exact: true }));
    await page.getByText("Locked", { exact: true }).waitFor();
    const { pathname } = new URL(page.url());
    const { body } = await served.platform.send({ path: pathname.slice(1) });
    expect(body.spec.disabled).toBe(true);
  }));

test("everything of one person is revoked", () =>
  timed("revoke a person", async ({ page, click, place }) => {
    await place("Users");
    await click(page.getByRole("link", { name: /Ben Billing/ }).first());
    await click(page.getByRole("button", { name: "Lock", exact: true }));
    await click(page.getByRole("dialog").getByRole("button", { name: "Lock", exact: true }));
    await page.getByText("Locked", { exact: true }).waitFor();
  }));

test("a person sees why a request was refused", () =>
  timed("why refused", async ({ page, click }) => {
    await click(page.getByRole("link", { name: /refused in the last hour$/ }));
    await click(page.getByRole("button", { name: "List trust rules" }).first());
    await page
      .getByRole("dialog")
      .getByText(/cannot list resource "clustertrustrules"/)
      .waitFor();
  }));

test("a team is given read access from its page", () =>
  timed("read access of a team, from its page", async ({ page, click, place, type }) => {
    await place("Teams");
    await click(page.getByRole("link", { name: "Team ledger-03", exact: true }));
    await click(page.getByRole("button", { name: "Add to a project" }));
    await page.getByRole("dialog").getByLabel("Project", { exact: true }).and(page.locator(":focus")).waitFor();
    await type("shop-00");
    await click(page.getByRole("dialog").getByRole("button", { name: /Role$/ }));
    await click(page.getByRole("option", { name: "Project viewer" }));
    await click(page.getByRole("dialog").getByRole("button", { name: "Add", exact: true }));
    await page
      .getByRole("main")
      .getByRole("link", { name: /^Project .*shop-00/ })
      .waitFor();
    const { body } = await served.platform.send({ path: "projects/shop-00" });
    expect(body.spec.members).toContainEqual(
      expect.objectContaining({ kind: "Team", name: "ledger-03", clusterRole: "postern:project-viewer" }),
    );
  }));

test("a team is given read access to a project", () =>
  timed("read access of a team", async ({ page, click, place, type }) => {
    await place("Projects");
    await click(page.getByRole("link", { name: "Shop 0", exact: true }));
    await click(page.getByRole("button", { name: "Add member" }));
    await page.getByRole("dialog").getByLabel("Name").and(page.locator(":focus")).waitFor();
    await type("search-02");
    await page.getByRole("dialog").getByRole("button", { name: /^Team/ }).waitFor();
    await click(page.getByRole("dialog").getByRole("button", { name: /Role$/ }));
    await click(page.getByRole("option", { name: "Project viewer" }));
    await click(page.getByRole("dialog").getByRole("button", { name: "Add", exact: true }));
    await page.getByRole("main").getByRole("link", { name: "search-02" }).waitFor();
    const { body } = await served.platform.send({ path: "projects/shop-00" });
    expect(body.spec.members).toContainEqual(
      expect.objectContaining({ kind: "Team", name: "search-02", clusterRole: "postern:project-viewer" }),
    );
  }));
