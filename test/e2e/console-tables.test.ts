// The tables of the console in a real browser, with fifty tenants: columns, order and filters in the address, selection, keyboard and export.

import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { closeConsole, type ServedConsole, serveConsole } from "./testing/console.ts";
import { simulateTenants } from "./testing/simulated-tenants.ts";

let served: ServedConsole;
beforeAll(async () => {
  served = await serveConsole();
  await simulateTenants(served.platform, { tenants: 50 });
  const kubeconfig = { spec: {} };
  await served.platform.send({ path: "namespaces/p-shop-00/virtualclusterinstances/dev/kubeconfig", body: kubeconfig });
}, 120_000);
afterAll(() => closeConsole(served));

const headersOf = (page: Page): Promise<readonly string[]> => page.getByRole("columnheader").allInnerTexts();
const firstName = (page: Page): Promise<string | null> => page.locator("tbody .row-link").first().textContent();
const isWaitedFor = async (page: Page): Promise<void> => void (await page.locator("tbody .row-link").first().waitFor());

test.each([
  [360, ["Name", "State"]],
  [800, ["Name", "State", "Owner", "Last used", "Expires"]],
  [1_440, ["Name", "State", "Owner", "Scope", "Last used", "Expires", "Created"]],
  [1_920, ["Name", "State", "Owner", "Scope", "Last used", "Expires", "Created"]],
])("at %i pixels, the columns fit the window, and no owner is cut", async (width, headers) => {
  const page = await served.openAs(served.platform.adminKey, "/keys", { viewport: { width, height: 900 } });
  await isWaitedFor(page);
  await expect
    .poll(async () => (await headersOf(page)).map((text) => text.trim()).filter((text) => text !== ""))
    .toEqual(headers);
  expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
  const at = headers.indexOf("Owner");
  if (at > 0) {
    const cells = page.locator(`tbody tr:not(.spacer) td:nth-child(${at + 2})`);
    expect(await cells.evaluateAll((all) => all.filter((cell) => cell.scrollWidth > cell.clientWidth).length)).toBe(0);
  }
  // The page scrolls, with the head of the table at its top.
  await page.mouse.move(width / 2, 700);
  await page.mouse.wheel(0, 1_500);
  await expect.poll(() => page.evaluate<number>("scrollY")).toBeGreaterThan(1_000);
  const head = await page.getByRole("columnheader", { name: "Name" }).boundingBox();
  expect(head?.y).toBeLessThan(60);
  await page.context().close();
});

test.each(["/clusters", "/projects"])("on a phone, no name in %s is cut", async (path) => {
  const page = await served.openAs(served.platform.adminKey, path, { viewport: { width: 800, height: 740 } });
  await isWaitedFor(page);
  // As where a phone is turned: columns follow the window.
  await page.setViewportSize({ width: 360, height: 740 });
  const names = page.locator("tbody tr:not(.spacer) td:first-child").filter({ hasNotText: "production" });
  const cut = () => names.evaluateAll((all) => all.filter((cell) => cell.scrollWidth > cell.clientWidth).length);
  await expect.poll(cut).toBe(0);
  await page.context().close();
});

test("order, filters and search are in the address", async () => {
  const page = await served.openAs(served.platform.adminKey, "/users?q=billing&sort=-name");
  await page.getByText("10 users", { exact: true }).waitFor();
  expect(await firstName(page)).toBe("Emil Billing");
  await page.getByRole("button", { name: "Name" }).click();
  await expect.poll(() => firstName(page)).toBe("Ben Billing");
  expect(new URL(page.url()).searchParams.get("sort")).toBe("name");
  await page.getByLabel("Search name or e-mail").fill("shop");
  await expect.poll(() => new URL(page.url()).searchParams.get("q")).toBe("shop");
  await page.reload();
  await page.getByText("10 users", { exact: true }).waitFor();
  expect(await firstName(page)).toBe("Ann Shop");
  await page.context().close();
});

test("columns and density are chosen once, and kept", async () => {
  const page = await served.openAs(served.platform.adminKey, "/keys");
  await isWaitedFor(page);
  const before = await page.locator("tbody tr:not(.spacer)").nth(2).boundingBox();
  await page.getByLabel("Columns, density and export").click();
  await page.getByLabel("Compact").click();
  await page.getByRole("checkbox", { name: "Scope" }).click();
  await page.keyboard.press("Escape");
  await expect.poll(() => page.getByLabel("Compact").isVisible()).toBe(false);
  expect(await headersOf(page)).not.toContain("Scope");
  await page.reload();
  await isWaitedFor(page);
  expect(await headersOf(page)).not.toContain("Scope");
  const after = await page.locator("tbody tr:not(.spacer)").nth(2).boundingBox();
  expect(after?.height).toBeLessThan((before?.height ?? 0) - 8);
  await page.context().close();
});

test("rows are reached with the arrow keys, also those that are not rendered yet", async () => {
  const page = await served.openAs(served.platform.adminKey, "/users?sort=name");
  await isWaitedFor(page);
  const focused = () => page.evaluate<string>("document.activeElement.closest('tr')?.ariaRowIndex ?? ''");
  await page.locator("tbody .row-link").first().focus();
  await page.keyboard.press("ArrowDown");
  await expect.poll(focused).toBe("3");
  await page.keyboard.press("End");
  await expect.poll(focused).toBe("102");
  await page.keyboard.press("Home");
  await expect.poll(focused).toBe("2");
  await page.keyboard.press("Enter");
  await page.waitForURL(/users\/admin$/);
  await page.context().close();
});

test("several keys are extended, disabled and revoked at once", async () => {
  const page = await served.openAs(served.platform.adminKey, "/keys?q=gitops&sort=name");
  await isWaitedFor(page);
  const keys = async (name: string) => (await served.platform.send({ path: `ownedaccesskeys/${name}` })).body;
  const boxes = page.locator("tbody input[type=checkbox]");
  const names: readonly string[] = (await page
    .locator("tbody .row-link")
    .evaluateAll((all) =>
      all.slice(0, 3).map((link) => link.getAttribute("href")?.split("/").at(-1) ?? ""),
    )) as readonly string[];
  await boxes.first().click();
  await boxes.nth(2).click({ modifiers: ["Shift"] });
  await page.getByText("3 selected", { exact: true }).waitFor();
  const before = await Promise.all(names.map(keys));
  await page.getByRole("button", { name: "Extend", exact: true }).click();
  await page.getByRole("heading", { name: "Extend 3 keys?" }).waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "30 days" }).click();
  await page.getByRole("option", { name: "90 days" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Extend", exact: true }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  const after = await Promise.all(names.map(keys));
  for (const [at, key] of after.entries()) {
    expect(key.spec.ttl).toBeGreaterThanOrEqual(Math.max(before[at].spec.ttl, 90 * 86_400));
    expect(key.status.expirationTimestamp >= before[at].status.expirationTimestamp).toBe(true);
  }
  await boxes.first().click();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("x");
  await page.getByText("2 selected", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Disable", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Disable", exact: true }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect((await Promise.all(names.map(keys))).map((key) => key.spec.disabled === true)).toEqual([true, true, false]);
  await boxes.first().click();
  await page.getByRole("button", { name: "Revoke", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect((await served.platform.send({ path: `ownedaccesskeys/${names[0]}` })).status).toBe(404);
  await page.context().close();
});

test("tokens of kubeconfigs and sessions have tabs of their own", async () => {
  const page = await served.openAs(served.platform.adminKey, "/keys");
  await page.getByRole("link", { name: /^Kubeconfigs/ }).click();
  await page.getByRole("link", { name: "Kubeconfig for shop-00/dev" }).waitFor();
  await page.getByText("1 key", { exact: true }).waitFor();
  await page.getByRole("link", { name: /^Sessions/ }).click();
  await page.getByRole("link", { name: "Kubeconfig for shop-00/dev" }).waitFor({ state: "detached" });
  const current = page.getByRole("navigation", { name: "Kinds of keys" }).locator('[aria-current="page"]');
  await expect.poll(() => current.allTextContents()).toEqual([expect.stringMatching(/^Sessions/)]);
  await isWaitedFor(page);
  await page.getByRole("link", { name: /^Keys/ }).click();
  await page.getByText(/^1\d\d keys$/).waitFor();
  await page.context().close();
});

test("a list is exported as it is shown", async () => {
  const page = await served.openAs(served.platform.adminKey, "/clusters?q=shop-0");
  await isWaitedFor(page);
  await page.getByLabel("Columns, density and export").click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Export as CSV" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe("clusters.csv");
  const [head, ...rows] = (await readFile(await download.path(), "utf8")).trimEnd().split("\r\n");
  expect(head).toMatch(/^Name,State,Owner,Kubernetes,Created/);
  expect(rows[0]).toMatch(/^shop-00 \/ dev,Ready,shop-00,v1\.\d+/);
  await page.context().close();
});
