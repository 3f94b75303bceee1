// The palette of the console in a real browser: objects and actions, found and opened from the keyboard.

import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { closeConsole, type ServedConsole, serveConsole } from "./testing/console.ts";
import { simulateTenants } from "./testing/simulated-tenants.ts";

let served: ServedConsole;
let page: Page;
beforeAll(async () => {
  // As the build has written it: threads load it themselves.
  served = await serveConsole({}, { loadDocumentation: () => import("@postern/console/documentation") });
  await simulateTenants(served.platform, { tenants: 12 });
  page = await served.openAs(served.platform.adminKey, "/");
}, 120_000);
afterAll(() => closeConsole(served));

/** Types into the palette, and waits until its first entry is the wanted one. */
async function find(query: string, first: string): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill(query);
  await page.locator('[role=option][aria-selected="true"]').filter({ hasText: first }).waitFor();
}

test("a virtual cluster is found by project and name, and opened", async () => {
  await find("billing-01 dev", "billing-01 / dev");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "dev" }).waitFor();
  expect(new URL(page.url()).pathname).toBe("/clusters/billing-01/dev");
});

test("a kubeconfig is one entry away, and its dialog closes for good", async () => {
  await find("kubeconfig shop-00", "Kubeconfig for shop-00 / dev");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByRole("heading", { name: "Kubeconfig for shop-00 / dev" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(new URL(page.url()).search).toBe("");
});

test("a key is disabled from anywhere, after its consequences were shown", async () => {
  await find("disable argo", "Disable key Argo CD");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByText("Requests with the key are refused with 401").waitFor();
  const name = new URL(page.url()).pathname.split("/").at(-1);
  await page.getByRole("dialog").getByRole("button", { name: "Disable", exact: true }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect((await served.platform.send({ path: `ownedaccesskeys/${name}` })).body.spec.disabled).toBe(true);
});

test("people, pages and what there is not", async () => {
  await find("ann shop", "Ann Shop");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await find("leak rep", "Leak reports");
  await page.getByRole("combobox").fill("nothing like this");
  await page.getByText("0 matches").waitFor();
  await page.keyboard.press("Enter");
  await expect.poll(() => page.getByRole("combobox").inputValue()).toBe("nothing like this");
  await page.keyboard.press("Escape");
});

test("a page of the documentation is found, and opens beside the console", async () => {
  await find("kubeconfigs guides", "Kubeconfigs");
  const [opened] = await Promise.all([page.context().waitForEvent("page"), page.keyboard.press("Enter")]);
  await opened.getByRole("heading", { level: 1, name: "Kubeconfigs" }).waitFor();
  expect(new URL(opened.url()).pathname).toBe("/docs/guides/kubeconfigs");
  await opened.close();
  // After all else that has the word.
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox").fill("kubeconfig");
  await expect
    .poll(() => page.getByRole("option").last().textContent())
    .toMatch(/(?:adr|guides|operations|reference)\//);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
});

test("it opens from the navigation, and leads to a page with a click", async () => {
  await page.getByRole("button", { name: /^Find/ }).click();
  await page.getByRole("option", { name: /^New access key/ }).click();
  await page.getByRole("heading", { level: 1, name: "New access key" }).waitFor();
});
