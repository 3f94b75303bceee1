// The first page of the console and access on request in a real browser, with fifty tenants.

import { afterAll, beforeAll, expect, test } from "vitest";
import { byNight } from "../../tools/test-cost/by-night.ts";
import { closeConsole, type ServedConsole, serveConsole } from "./testing/console.ts";
import { type SimulatedTenants, simulateRequests, simulateTenants } from "./testing/simulated-tenants.ts";

const TENANTS = 50;

let served: ServedConsole;
let tenants: SimulatedTenants;
let annsKey: string;
let carlsKey: string;

beforeAll(async () => {
  served = await serveConsole({ "audit-log-mode": "blocking" });
  const { platform } = served;
  tenants = await simulateTenants(platform, { tenants: TENANTS });
  await simulateRequests(platform, tenants, { requests: 200 });
  for (let times = 0; times < 12; times++)
    await platform.send({ path: "clustertrustrules", key: tenants.keys.get("shop-00-ci") });
  await platform.send({ method: "POST", path: "/leaks", key: "", body: `found: ${tenants.keys.get("billing-01-ci")}` });
  await platform.create("clusteraccesspolicies", {
    metadata: { name: "on-call" },
    spec: {
      displayName: "On call",
      requesters: { users: ["ann-0"] },
      targets: [{ kind: "VirtualCluster", projects: ["search-02"], names: ["dev"], roles: ["view", "edit"] }],
      maxDurationSeconds: 14_400,
      approvers: { users: ["carl-2"] },
      reason: { pattern: "^OPS-[0-9]+" },
    },
  });
  const keyOf = async (user: string): Promise<string> =>
    (await platform.create("ownedaccesskeys", { metadata: { name: `${user}-browser` }, spec: { user, ttl: 86_400 } }))
      .spec.key;
  annsKey = await keyOf("ann-0");
  carlsKey = await keyOf("carl-2");
}, 120_000);
afterAll(() => closeConsole(served));

test("an administrator sees what needs attention, and follows it", async () => {
  const page = await served.openAs(served.platform.adminKey, "/");
  const card = (title: string) => page.locator(".attention article").filter({ has: page.getByText(title) });
  await card("Permanent administrator key").getByRole("link", { name: "First administrator" }).waitFor();
  await card("Refused keys").getByText("Leaked", { exact: true }).waitFor();
  await card("Refused again and again").getByRole("link", { name: "shop-00-ci" }).waitFor();
  await card("Findings of the doctor").getByRole("link").first().waitFor();
  await card("Keys that never expire").getByRole("link", { name: "and 1 more" }).click();
  await page.getByRole("heading", { level: 1, name: "Access keys" }).waitFor();
  await page.getByText("7 keys", { exact: true }).waitFor();
  await page.context().close();
});

test("the most severe is first, and tiles open what they count", async () => {
  const page = await served.openAs(served.platform.adminKey, "/");
  await page.getByRole("article").filter({ hasText: "Permanent administrator key" }).waitFor();
  const severities = page.locator(".severity .badge");
  await expect.poll(() => severities.allTextContents()).toEqual(["Urgent", "Soon", "Advice"]);
  const section = (badge: string) =>
    page
      .locator("section")
      .filter({ has: severities.getByText(badge) })
      .last();
  await section("Urgent").getByRole("article").filter({ hasText: "Refused keys" }).waitFor();
  await section("Advice").getByRole("article").filter({ hasText: "Keys that never expire" }).waitFor();
  for (const label of ["requests in the last hour", "refused in the last hour"]) {
    await page.getByRole("link", { name: new RegExp(`${label}$`) }).click();
    await page.getByRole("heading", { level: 1, name: "Audit log" }).waitFor();
    await page.getByRole("button", { name: /^The last hour/ }).waitFor();
    expect(await page.getByRole("checkbox").isChecked()).toBe(true);
    await page.goBack();
  }
  const tile = page.getByRole("link", { name: /refused in the last hour$/ });
  const count = await tile.locator("strong").textContent();
  await tile.click();
  await page.getByText(`${count} requests`, { exact: true }).waitFor();
  await page.context().close();
});

test("plots have their figures as tables, and changes are in words", async () => {
  const page = await served.openAs(served.platform.adminKey, "/");
  const plot = (title: string) => page.locator(".plot").filter({ has: page.getByRole("heading", { name: title }) });
  await plot("Requests by minute").getByText("Show as a table").click();
  const row = plot("Requests by minute").getByRole("row").last();
  const [, requests = "", refused = ""] = await row.locator("th, td").allTextContents();
  expect(Number(requests.replaceAll(",", ""))).toBeGreaterThan(200);
  expect(Number(refused.replaceAll(",", ""))).toBeGreaterThan(12);
  await expect.poll(() => plot("Requests by minute").getByRole("img").getAttribute("role")).toBe("img");
  await plot("Most used keys").getByRole("link", { name: "shop-00-ci" }).waitFor();
  await plot("Changes in the last hour").getByText("created 2 access keys (carl-2-browser, ann-0-browser)").waitFor();
  await plot("Keys by expiry").getByText("Show as a table").click();
  const never = plot("Keys by expiry").getByRole("row").filter({ hasText: "never" });
  await expect.poll(() => never.getByRole("cell").last().textContent()).toBe("7");
  await page.context().close();
});

test("a member sees projects and roles, and nothing of other tenants or of the server", async () => {
  const page = await served.openAs(annsKey, "/");
  const can = page.locator("section").filter({ has: page.getByRole("heading", { name: "What you can do" }) });
  await can.getByRole("link", { name: "Shop 0" }).waitFor();
  await expect.poll(() => can.getByRole("listitem").count()).toBe(1);
  await page.getByRole("heading", { name: "Keys by age" }).waitFor();
  await expect.poll(() => page.getByText("Requests by minute").count()).toBe(0);
  await expect.poll(() => page.getByText("billing-01").count()).toBe(0);
  await page.context().close();
});

byNight("a member asks for access, an approver finds the request and approves it, and it is revoked", async () => {
  const [asking, approving] = [await served.openAs(annsKey, "/"), await served.openAs(carlsKey, "/")];
  await asking.getByRole("link", { name: "Ask for access" }).click();
  await asking.getByRole("button", { name: /Where/ }).getByText("search-02 / dev").waitFor();
  await asking.getByText("Approvers: carl-2").waitFor();
  await asking.getByLabel("Reason").fill("no ticket");
  await asking.getByRole("button", { name: "Send request", exact: true }).click();
  await asking.locator(".field-error, [role=alert]").first().waitFor();
  await asking.getByLabel("Reason").fill("OPS-7 the index is empty");
  await asking.getByRole("button", { name: "Send request", exact: true }).click();
  await asking.getByRole("heading", { level: 1, name: "view in search-02 / dev" }).waitFor();
  await expect.poll(() => asking.getByRole("button", { name: "Approve", exact: true }).count()).toBe(0);

  await approving.getByRole("img", { name: "1 request waits for you" }).waitFor();
  const waiting = approving.locator(".attention article").filter({ hasText: "Requests that wait for you" });
  await waiting.getByText("ann-0 · OPS-7 the index is empty").waitFor();
  await waiting.getByRole("link", { name: "view in search-02 / dev" }).click();
  await approving.getByRole("button", { name: "Approve", exact: true }).click();
  await approving.getByLabel("Message").fill("for an hour");
  await approving.getByRole("dialog").getByRole("button", { name: "Approve", exact: true }).click();
  await approving.getByRole("img", { name: "1 request waits for you" }).waitFor({ state: "detached" });

  await asking.getByText("for an hour").waitFor();
  await asking.getByText("Approved", { exact: true }).waitFor();
  await asking.getByText("Decided by").waitFor();
  const cluster = "namespaces/p-search-02/virtualclusterinstances/dev";
  const { platform } = served;
  await platform.until({ path: cluster, key: annsKey }, ({ status }) => status === 200);

  await approving.getByRole("button", { name: "Revoke", exact: true }).click();
  await approving.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
  await asking.getByText("Revoked", { exact: true }).waitFor();
  await platform.until({ path: cluster, key: annsKey }, ({ status }) => status === 403);
  await Promise.all([asking.context().close(), approving.context().close()]);
});

test("the page of what a member cannot see leads to the form that asks for it", async () => {
  const page = await served.openAs(annsKey, "/clusters/search-02/dev");
  await page.getByRole("link", { name: "Ask for access" }).click();
  await page.getByRole("button", { name: /Where/ }).getByText("search-02 / dev").waitFor();
  await page.context().close();
});

test.each([360, 1440])("at %i pixels, nothing of the first page is wider than the window", async (width) => {
  const page = await served.openAs(served.platform.adminKey, "/", { viewport: { width, height: 800 } });
  await page.getByRole("heading", { name: "Keys by age" }).waitFor();
  expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
  await page.context().close();
});

/** Files count against a limit by source address, which many people may share. */
const FIRST_FILES = 16;

test("the first page loads few files, for an administrator with everything to see", async () => {
  const page = await served.openAs(served.platform.adminKey, "/");
  // Views are loaded for links that the mouse is over.
  await page.mouse.move(0, 0);
  await page.reload();
  await page.getByRole("heading", { name: "Keys by age" }).waitFor();
  const files = await page.evaluate<readonly string[]>(
    "performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname).filter((path) => path.startsWith('/console/'))",
  );
  process.stdout.write(`files of the first page: ${files.length}\n`);
  expect(files.length).toBeGreaterThan(2);
  expect(files.length).toBeLessThanOrEqual(FIRST_FILES);
  await page.context().close();
});
