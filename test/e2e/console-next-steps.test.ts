// The next steps on the overview of a new installation in a real browser, and pages on narrow screens.

import { afterAll, beforeAll, expect, test } from "vitest";
import { closeConsole, type ServedConsole, serveConsole } from "./testing/console.ts";

const STEPS = [
  "Create an access key",
  "Let people sign in",
  "Create a project",
  "Create a virtual cluster",
  "Connect a cluster",
  "Make a backup",
  "Get alerts",
] as const;

let served: ServedConsole;
beforeAll(async () => {
  served = await serveConsole({ "audit-log-mode": "blocking" });
  const { platform } = served;
  await platform.create("users", { metadata: { name: "jane" }, spec: { displayName: "Jane" } });
});
afterAll(() => closeConsole(served));

test("a member without a project is shown how to get access, and hides the steps for good", async () => {
  const { platform } = served;
  const key = await platform.create("ownedaccesskeys", { metadata: { name: "janes" }, spec: { user: "jane" } });
  const page = await served.openAs(key.spec.key, "/");
  await page.getByText("Ask an administrator to add the user jane to a project").waitFor();
  const steps = page.locator(".steps > li");
  await page.getByText("1 of 3 done", { exact: true }).click();
  await expect.poll(() => steps.getByRole("img", { name: "Done", exact: true }).count()).toBe(1);
  await expect.poll(() => steps.getByRole("img", { name: "To do", exact: true }).count()).toBe(2);
  const members = [{ kind: "User", name: "jane", clusterRole: "postern:project-user" }];
  await platform.send({ method: "PATCH", path: "projects/default", body: { spec: { members } } });
  await steps.filter({ hasText: "Get access" }).getByRole("img", { name: "Done", exact: true }).waitFor();
  await page.getByRole("button", { name: "Hide", exact: true }).click();
  await steps.first().waitFor({ state: "detached" });
  await page.reload();
  await page.getByText("Nothing needs your attention.").waitFor();
  await expect.poll(() => steps.count()).toBe(0);
  await platform.send({ method: "DELETE", path: "ownedaccesskeys/janes" });
  await page.context().close();
});

test("each step of a new installation ticks itself off, and the last one removes the list", async () => {
  const { platform } = served;
  const page = await served.openAs(platform.adminKey, "/");
  const step = (name: string) => page.locator(".steps > li").filter({ hasText: name });
  /** Those that are done are folded. */
  const isDone = (name: string) =>
    page.locator("details .steps > li").filter({ hasText: name }).waitFor({ state: "attached" });
  for (const name of STEPS) await step(name).getByRole("img", { name: "To do", exact: true }).waitFor();
  // Links lead to the forms.
  await step("Let people sign in").getByRole("link", { name: "Let people sign in" }).click();
  await page.getByRole("heading", { level: 1, name: "New identity provider" }).waitFor();
  await page.goBack();

  await platform.create("ownedaccesskeys", { metadata: { name: "ci" }, spec: { ttl: 3600 } });
  await isDone("Create an access key");
  await platform.create("projects", { metadata: { name: "shop" }, spec: {} });
  await isDone("Create a project");
  await platform.create("namespaces/p-shop/virtualclusterinstances", { metadata: { name: "dev" }, spec: {} });
  await isDone("Create a virtual cluster");
  await platform.create("clusters", {
    metadata: { name: "eu-west" },
    spec: { kubeConfigRef: { secretNamespace: "clusters", secretName: "eu-west" } },
  });
  await isDone("Connect a cluster");
  // As the command line sends it.
  expect((await platform.send({ method: "POST", path: "/kubernetes/management/backup" })).status).toBe(200);
  // As Prometheus reads them.
  await platform.send({ path: "/metrics" });
  await page.reload();
  await isDone("Make a backup");
  await isDone("Get alerts");
  await step("Let people sign in").getByRole("img", { name: "To do", exact: true }).waitFor();
  await platform.create("identityproviders", {
    metadata: { name: "example" },
    spec: {
      issuer: { url: "https://login.example.com" },
      clientId: "postern",
      claimMappings: { username: { claim: "preferred_username" } },
    },
  });
  await expect.poll(() => page.locator(".steps").count()).toBe(0);
  await page.context().close();
});

test.each([390, 768, 1280, 1920])("at %i pixels, virtual clusters of one name show their project", async (width) => {
  const { platform } = served;
  if ((await platform.send({ path: "projects/shop" })).status === 404)
    await platform.create("projects", { metadata: { name: "shop" }, spec: {} });
  const path = "namespaces/p-shop/virtualclusterinstances";
  if ((await platform.send({ path: `${path}/demo` })).status === 404)
    await platform.create(path, { metadata: { name: "demo" }, spec: { displayName: "Demo" } });
  const page = await served.openAs(platform.adminKey, "/clusters", { viewport: { width, height: 844 } });
  const rows = page.getByRole("row").filter({ hasText: "Demo" });
  await rows.nth(1).waitFor();
  for (const project of ["default", "shop"]) {
    const shown = rows.getByText(project, { exact: true }).and(page.locator(":visible"));
    await expect.poll(() => shown.count()).toBe(1);
  }
  expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
  // A text of a page stands beside its button where both have room.
  await page.goto(`${platform.server.url}/host-clusters`);
  const [lead, button] = await Promise.all([
    page.locator(".page-head .lead").boundingBox(),
    page.getByRole("link", { name: "Connect cluster" }).boundingBox(),
  ]);
  expect((button?.y ?? 0) < (lead?.y ?? 0)).toBe(width >= 768);
  await page.context().close();
});

test.each([640, 768, 1024, 1280])("at %i pixels, the columns of a long list fill its width", async (width) => {
  const { platform } = served;
  if ((await platform.send({ path: "teams/team-29" })).status === 404)
    for (let number = 0; number < 30; number++)
      await platform.create("teams", { metadata: { name: `team-${number}` }, spec: { users: ["jane"] } });
  const page = await served.openAs(platform.adminKey, "/teams", { viewport: { width, height: 844 } });
  await page.getByText("team-1", { exact: true }).waitFor();
  const table = await page.locator(".table").boundingBox();
  const last = await page.locator(".table thead th:visible").last().boundingBox();
  expect(table?.width).toBeGreaterThan(0);
  expect((last?.x ?? 0) + (last?.width ?? 0)).toBeCloseTo((table?.x ?? 0) + (table?.width ?? 0), 0);
  await page.context().close();
});
