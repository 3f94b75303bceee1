// The views of access keys in a real browser: each does its job, and the server confirms it.

import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { byNight } from "../../tools/test-cost/by-night.ts";
import { inBatches } from "./testing/batches.ts";
import { closeConsole, type ServedConsole, serveConsole } from "./testing/console.ts";

let served: ServedConsole;
let page: Page;
beforeAll(async () => {
  served = await serveConsole();
  const { platform } = served;
  await platform.create("users", { metadata: { name: "jane" }, spec: { displayName: "Jane" } });
  page = await served.openAs(platform.adminKey, "/keys", { permissions: ["clipboard-read", "clipboard-write"] });
});
afterAll(() => closeConsole(served));

const create = (name: string, spec: object = {}): Promise<any> =>
  served.platform.create("ownedaccesskeys", { metadata: { name }, spec: { displayName: `Key ${name}`, ...spec } });
const keyOf = async (name: string) => (await served.platform.send({ path: `ownedaccesskeys/${name}` })).body;
const isGood = async (key: string): Promise<boolean> =>
  (await served.platform.send({ key, path: "selves", method: "POST", body: {} })).status === 201;

/** To another view, as a person goes there. */
const openKey = async (name: string): Promise<void> => {
  await page.getByRole("navigation").getByRole("link", { name: "Access keys" }).click();
  await page.getByRole("link", { name: `Key ${name}` }).click();
  await page.getByRole("heading", { level: 1, name: `Key ${name}` }).waitFor();
};
const dialog = (): Locator => page.getByRole("dialog");
const press = (name: string, where: Page | Locator = page): Promise<void> =>
  where.getByRole("button", { name, exact: true }).click();

test("a key is created with a selected scope, and its value is shown once", async () => {
  await page.getByRole("link", { name: "New access key" }).first().click();
  await page.getByLabel("What is it for?").fill("CI of the shop");
  await page.locator("label", { hasText: /^demo/i }).click();
  const panel = page.getByRole("complementary");
  await panel.getByText("use the virtual cluster demo of the project default, and get kubeconfigs for it").waitFor();
  await panel.getByText("--virtual-cluster default/demo").waitFor();
  await press("Create access key");
  const value = await page.getByTestId("secret-value").textContent();
  await press("Copy", page.locator(".secret"));
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe(value);
  expect(await isGood(value ?? "")).toBe(true);
  expect((await keyOf("ci-of-the-shop")).spec).toMatchObject({
    displayName: "CI of the shop",
    ttl: 30 * 86_400,
    scope: { virtualClusters: [{ project: "default", virtualCluster: "demo" }] },
  });
  await press("I have stored it");
  await page.getByRole("heading", { level: 1, name: "CI of the shop" }).waitFor();
  expect(await page.content()).not.toContain(value);
  await page.goBack();
  await page.getByLabel("What is it for?").waitFor();
  expect(await page.content()).not.toContain(value);
});

byNight("a key selects virtual clusters by their labels, and the form says how many match now", async () => {
  const demo = "namespaces/p-default/virtualclusterinstances/demo";
  await served.platform.send({ method: "PATCH", path: demo, body: { metadata: { labels: { env: "dev" } } } });
  await page.goto(`${served.platform.server.url}/new/key`);
  await page.getByLabel("What is it for?").fill("By labels");
  await page.locator("summary", { hasText: "Virtual clusters by their labels" }).click();
  await press("Add a selector");
  await page.getByLabel("Project", { exact: true }).fill("default");
  const labels = page.getByLabel("Labels", { exact: true });
  await labels.fill("env >");
  await page.locator("[data-error]", { hasText: "unable to parse requirement" }).waitFor();
  await labels.fill("env=dev");
  await page.getByText("env=dev in default: matches 1 virtual cluster now").waitFor();
  const panel = page.getByRole("complementary");
  await panel.getByText("virtual clusters of the project default that have the labels env=dev").waitFor();
  await panel.getByText("--virtual-cluster-selector default/env=dev").waitFor();
  await press("Create access key");
  const value = await page.getByTestId("secret-value").textContent();
  const entry = { project: "default", selector: { matchLabels: { env: "dev" } } };
  expect((await keyOf("by-labels")).spec.scope).toEqual({ virtualClusters: [entry] });
  const reached = async () => (await served.platform.send({ path: demo, key: value ?? "" })).status;
  expect(await reached()).toBe(200);
  await served.platform.send({ method: "PATCH", path: demo, body: { metadata: { labels: { env: null } } } });
  expect(await reached()).toBe(403);
  await press("I have stored it");
});

byNight("the manifest and the command beside the form create the same key", async () => {
  await page.goto(`${served.platform.server.url}/new/key`);
  await page.getByLabel("What is it for?").fill("Twin");
  await page.getByText("Roles for programs").click();
  await page.getByText("metrics-reader").click();
  const manifest = await page.getByRole("figure").filter({ hasText: "manifest" }).locator("code").textContent();
  const { parse } = await import("yaml");
  await press("Create access key");
  const made = await keyOf("twin").catch(() => undefined);
  await press("I have stored it");
  const { spec } = made?.spec === undefined ? await keyOf("twin") : made;
  expect(spec).toMatchObject(parse(manifest ?? "").spec);
});

test("an error is shown beside its field in plain words, and the form keeps its values", async () => {
  await create("taken");
  await page.goto(`${served.platform.server.url}/new/key`);
  await page.getByLabel("What is it for?").fill("Taken");
  await page.locator("label", { hasText: /^demo/i }).click();
  await press("Create access key");
  const field = page.locator(".field").filter({ has: page.getByLabel("Name", { exact: true }) });
  await field.getByText("This name is taken. Choose another one.").waitFor();
  await expect.poll(() => page.evaluate("document.activeElement.value")).toBe("taken");
  await expect.poll(() => page.getByLabel("What is it for?").inputValue()).toBe("Taken");
  await page.getByLabel("Name", { exact: true }).fill("Not a name");
  await press("Create access key");
  await field.getByText("Use lowercase letters, digits, hyphens and dots.").waitFor();
});

test("a key that can do nothing is made only where that is meant", async () => {
  await page.goto(`${served.platform.server.url}/new/key`);
  await page.getByLabel("What is it for?").fill("Nothing");
  await press("Create access key");
  await page.getByText("Choose what the key may reach").waitFor();
  expect((await keyOf("nothing")).code).toBe(404);
  await page.getByText("That is all it should do").click();
  await press("Create access key");
  await page.getByTestId("secret-value").waitFor();
  expect((await keyOf("nothing")).spec.scope).toEqual({});
});

test("presets fill in the form: a pipeline with one cluster until a day, and a reader who cannot write", async () => {
  await page.goto(`${served.platform.server.url}/new/key`);
  await page.getByRole("radio", { name: /^CI for one cluster/ }).check({ force: true });
  await page.getByLabel("What is it for?").fill("Preset CI");
  await press("Create access key");
  const ofCluster = page.locator(".field").filter({ hasText: "Virtual cluster" });
  await ofCluster.getByText("Choose what the key may reach").waitFor();
  await page.getByRole("button", { name: /Choose one/ }).click();
  await page.getByRole("option", { name: "default / demo" }).click();
  await page.getByRole("button", { name: /After 90 days/ }).click();
  await page.getByRole("option", { name: "On a day" }).click();
  await page.getByLabel("Last day").fill("2020-01-01");
  await page.getByText("Choose today or a later day.").waitFor();
  await press("Create access key");
  const day = new Date(Date.now() + 40 * 86_400_000);
  const text = [day.getFullYear(), day.getMonth() + 1, day.getDate()].map((part) => String(part).padStart(2, "0"));
  await page.getByLabel("Last day").fill(text.join("-"));
  await press("Create access key");
  await page.getByText("--cacert ca.crt").waitFor();
  const made = await keyOf("preset-ci");
  expect(made.spec.scope).toEqual({ virtualClusters: [{ project: "default", virtualCluster: "demo" }] });
  await expect.poll(() => page.getByText("deprecated").count()).toBe(0);
  // The page gets a kubeconfig with the key, which deploys and grants no rights.
  await press("Get a kubeconfig with it");
  await page.getByText("The key works: 201").waitFor();
  const answer = page.getByRole("figure").filter({ hasText: "for the next 10 minutes" }).locator("code");
  const token = /token: (\S+)/.exec((await answer.textContent()) ?? "")?.[1];
  const cluster = "/kubernetes/project/default/virtualcluster/demo";
  const make = async (path: string, body: object): Promise<number> =>
    (await served.platform.send({ key: token, path: `${cluster}/${path}`, body })).status;
  const deployed = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "deployed" } };
  expect(await make("api/v1/namespaces/default/configmaps", deployed)).toBe(201);
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" };
  const binding = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding", metadata: { name: "x" }, roleRef };
  expect(await make("apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", binding)).toBe(403);
  const end = new Date(day.getFullYear(), day.getMonth(), day.getDate() + 1).getTime();
  expect(Math.abs(Date.parse(made.status.expirationTimestamp) - end)).toBeLessThan(120_000);

  await page.goto(`${served.platform.server.url}/new/key`);
  await page.getByRole("radio", { name: /^Read-only/ }).check({ force: true });
  await page.getByLabel("What is it for?").fill("Reader");
  await page.locator("label", { hasText: /^demo/i }).click();
  await press("Create access key");
  const value = (await page.getByTestId("secret-value").textContent()) ?? "";
  const inside = "/kubernetes/project/default/virtualcluster/demo/api/v1/namespaces/default";
  const send = async (path: string, body?: object): Promise<number> =>
    (await served.platform.send({ key: value, path: `${inside}/${path}`, ...(body === undefined ? {} : { body }) }))
      .status;
  await served.platform.until({ key: value, path: `${inside}/configmaps` }, ({ status }) => status === 200);
  const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x" } };
  expect([await send("secrets"), await send("configmaps", configMap)]).toEqual([403, 403]);
  const kubeconfig = "namespaces/p-default/virtualclusterinstances/demo/kubeconfig";
  expect((await served.platform.send({ key: value, path: kubeconfig, body: { spec: {} } })).status).toBe(201);
  const other = { metadata: { name: "more" }, spec: {} };
  expect((await served.platform.send({ key: value, path: "ownedaccesskeys", body: other })).status).toBe(403);
});

test("changes by others appear in the table, and filters are part of the address", async () => {
  await page.getByRole("navigation").getByRole("link", { name: "Access keys" }).click();
  await page.getByRole("link", { name: "Key taken" }).waitFor();
  await create("appears", { user: "jane" });
  await page.getByRole("link", { name: "Key appears" }).waitFor();
  await served.platform.send({ method: "DELETE", path: "ownedaccesskeys/appears" });
  await page.getByRole("link", { name: "Key appears" }).waitFor({ state: "detached" });
  await create("of-jane", { user: "jane", disabled: true });
  await page.getByLabel("Search name, owner or description").fill("JANE");
  await page.getByText("1 key", { exact: true }).waitFor();
  expect(new URL(page.url()).search).toBe("?q=JANE");
  await page.reload();
  await page.getByText("1 key", { exact: true }).waitFor();
  await page.getByRole("row", { name: /Key of-jane.*Disabled.*jane/ }).waitFor();
});

test("a key is rotated, disabled, enabled and deleted, each after its consequences were shown", async () => {
  const { spec } = await create("turns");
  await openKey("turns");
  await press("Rotate");
  await dialog().getByText("The old value is accepted until the new one is first used").waitFor();
  await press("Rotate", dialog());
  const value = (await page.getByTestId("secret-value").textContent()) ?? "";
  expect(value).not.toBe(spec.key);
  expect(await isGood(value)).toBe(true);
  await press("I have stored it");

  await press("Disable");
  await press("Disable", dialog());
  await press("Enable");
  expect(await isGood(value)).toBe(false);
  await press("Enable", dialog());
  await page.getByRole("button", { name: "Disable", exact: true }).waitFor();
  expect(await isGood(value)).toBe(true);

  await press("Delete");
  await dialog().getByText("This cannot be undone.").waitFor();
  await press("Delete key", dialog());
  await page.getByRole("heading", { level: 1, name: "Access keys" }).waitFor();
  expect(await isGood(value)).toBe(false);
});

test("credentials created with a key are shown below it, and are revoked with a compromised value", async () => {
  const { spec } = await create("parent");
  const child = await served.platform.send({
    key: spec.key,
    path: "namespaces/p-default/virtualclusterinstances/demo/kubeconfig",
    body: { spec: {} },
  });
  const token = /token: (\S+)/.exec(child.body.status.kubeConfig)?.[1] ?? "";
  await openKey("parent");
  await page.getByText("for default/demo").waitFor();
  await press("Report compromised…");
  await dialog().getByText("One credential that was created with it is revoked permanently.").waitFor();
  await press("Revoke and rotate", dialog());
  await page.getByText("One credential that was created with the old value is revoked.").waitFor();
  await press("I have stored it");
  expect([await isGood(token), await isGood(spec.key)]).toEqual([false, false]);
});

byNight("the tree of credentials created with a key is shown page by page", async () => {
  const { spec } = await create("many");
  const path = "namespaces/p-default/virtualclusterinstances/demo/kubeconfig";
  await inBatches(60, async () => {
    expect((await served.platform.send({ key: spec.key, path, body: { spec: {} } })).status).toBe(201);
  });
  await page.goto(`${served.platform.server.url}/keys/many`);
  const leaves = page.locator(".tree .tree .leaf");
  await leaves.nth(49).waitFor();
  await expect.poll(() => leaves.count()).toBe(50);
  await page
    .locator(".tree")
    .getByRole("button", { name: /^Show 10 more/ })
    .click();
  await leaves.nth(59).waitFor();
});

byNight("a key shows what it was used for, and is limited to that with one press", async () => {
  const { spec } = await create("wide");
  await served.platform.send({ key: spec.key, path: "clusters/embedded" });
  const inside = "/kubernetes/project/default/virtualcluster/demo/apis/apps/v1/deployments";
  await served.platform.send({ key: spec.key, path: inside });
  await openKey("wide");
  await page.getByRole("row", { name: "clusters management.postern management API get", exact: true }).waitFor();
  await page.getByRole("row", { name: "deployments apps virtual cluster default/demo list", exact: true }).waitFor();
  await page.getByText("Its recorded use needs only: virtual cluster default/demo, host cluster embedded.").waitFor();
  await press("Limit it to its recorded use");
  await press("Limit it to its recorded use", dialog());
  await dialog().waitFor({ state: "detached" });
  expect((await keyOf("wide")).spec.scope).toEqual({
    virtualClusters: [{ project: "default", virtualCluster: "demo" }],
    clusters: [{ cluster: "embedded" }],
  });
  expect((await served.platform.send({ key: spec.key, path: "users/jane" })).status).toBe(403);
});

byNight("a key is given another scope and TTL in a form, and its value stays", async () => {
  const rules = [{ resources: [{ group: "management.postern", resources: ["projects"] }], verbs: ["list"] }];
  const { spec } = await create("changed", { ttl: 5_400, scope: { projects: [{ project: "default" }], rules } });
  await openKey("changed");
  await page.getByRole("link", { name: "Edit", exact: true }).click();
  await page.getByRole("button", { name: "After 90 minutes" }).waitFor();
  await page.getByText(/^Counted from its creation: .*, in /).waitFor();
  await page.getByLabel("Description").fill("For the demo");
  await page.locator("label", { hasText: /^Default/ }).click();
  await page.locator("label", { hasText: "Demo virtual cluster" }).click();
  await page.getByText("use the virtual cluster demo of the project default").waitFor();
  await page.getByRole("button", { name: "After 90 minutes" }).click();
  await page.getByRole("option", { name: "After 7 days", exact: true }).click();
  await press("Save");
  // The server warns of rules in a scope.
  await page.getByText("spec.scope.rules: deprecated").waitFor();
  await press("Continue to changed");
  await page.getByRole("heading", { level: 1, name: "Key changed" }).waitFor();
  expect((await keyOf("changed")).spec).toMatchObject({
    description: "For the demo",
    ttl: 604_800,
    // Fields that the picker does not show stay unchanged.
    scope: { virtualClusters: [{ project: "default", virtualCluster: "demo" }], rules },
  });
  expect((await keyOf("changed")).spec.scope.projects).toBeUndefined();
  expect(await isGood(spec.key)).toBe(true);
});

test("the page of a key shows its use by day, what was refused, and where from", async () => {
  const { spec } = await create("plotted");
  for (let times = 0; times < 3; times++) await served.platform.send({ key: spec.key, path: "projects" });
  await served.platform.send({ method: "PATCH", path: "ownedaccesskeys/plotted", body: { spec: { disabled: true } } });
  await served.platform.send({ key: spec.key, path: "projects" });
  await openKey("plotted");
  const plot = page.locator(".plot").filter({ has: page.getByRole("heading", { name: "Requests by day" }) });
  await plot.getByText("4 requests, 1 refused").waitFor();
  await plot.getByText("Show as a table").click();
  const rows = plot.getByRole("row");
  await expect.poll(() => rows.count()).toBe(15);
  await expect.poll(() => rows.last().locator("td").allTextContents()).toEqual(["4", "1"]);
  const from = page.locator(".plot").filter({ has: page.getByRole("heading", { name: "Where from" }) });
  await from.getByText("127.0.0.1").waitFor();
});

test("the audit trail of a key has its requests and its changes", async () => {
  const { spec } = await create("trailed");
  await served.platform.send({ key: spec.key, path: "users/nobody" });
  await openKey("trailed");
  await press("Disable");
  await press("Disable", dialog());
  await page.getByRole("button", { name: "Enable", exact: true }).waitFor();
  await press("Show the last day");
  const used = page.getByRole("row", { name: /trailed.*get users\.management\.postern\/nobody.*404/ });
  // A server runs one search at a time, and refuses others meanwhile.
  await expect
    .poll(
      async () => {
        const again = page.getByRole("button", { name: /^(Try again|Show the last day)$/ }).last();
        const mayAsk = await again.isEnabled({ timeout: 1_000 }).catch(() => false);
        if (!(await used.isVisible()) && mayAsk) await again.click();
        // The text says what is there instead.
        return (await used.isVisible()) || (await page.getByRole("main").textContent());
      },
      { interval: 1_000 },
    )
    .toBe(true);
  await page.getByRole("row", { name: /admin.*patch ownedaccesskeys\.management\.postern\/trailed.*200/ }).waitFor();
  // The page itself reads the key every few seconds, which would leave no room for the rest.
  expect(await page.getByRole("row", { name: /get ownedaccesskeys\.management\.postern\/trailed/ }).count()).toBe(0);
});
