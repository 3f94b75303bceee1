// Virtual clusters, the profile and the overview in a real browser, for an administrator and for a member of a project.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { closeConsole, type ServedConsole, serveConsole } from "./testing/console.ts";
import { tool } from "./testing/postern-process.ts";

let served: ServedConsole;
let page: Page;
let jane: string;
beforeAll(async () => {
  served = await serveConsole();
  const { platform } = served;
  await platform.create("users", { metadata: { name: "jane" }, spec: { displayName: "Jane" } });
  jane = (await platform.create("ownedaccesskeys", { metadata: { name: "janes" }, spec: { user: "jane" } })).spec.key;
  await platform.create("users", { metadata: { name: "dora" } });
  await platform.create("teams", { metadata: { name: "qa" }, spec: { users: ["dora"] } });
  await platform.create("ownedaccesskeys", { metadata: { name: "doras" }, spec: { user: "dora" } });
  const members = [
    { kind: "User", name: "jane", clusterRole: "postern:project-viewer" },
    { kind: "Team", name: "qa", clusterRole: "postern:project-reader" },
  ];
  const patch = { spec: { members } };
  await platform.send({ method: "PATCH", path: "projects/default", body: patch });
  page = await served.openAs(platform.adminKey, "/clusters");
});
afterAll(() => closeConsole(served));

const press = (name: string): Promise<void> => page.getByRole("button", { name, exact: true }).click();
const goTo = (name: string): Promise<void> =>
  page.getByRole("navigation").getByRole("link", { name, exact: true }).click();

test.each([
  ["Token", /^ {4}token: /m],
  ["Client certificate", /^ {4}client-certificate-data: /m],
])("a kubeconfig with a credential of kind %s is saved, and kubectl works with it", async (kind, expected) => {
  await goTo("Virtual clusters");
  await press("Kubeconfig for Demo");
  await page.getByRole("dialog").locator("label", { hasText: kind }).first().click();
  await press("Create kubeconfig");
  const saving = page.waitForEvent("download");
  await press("Download");
  const download = await saving;
  expect(download.suggestedFilename()).toBe("default-demo.kubeconfig");
  const text = await readFile(await download.path(), "utf8");
  expect(text).toMatch(expected);
  const path = join(served.platform.directory, "demo.kubeconfig");
  await writeFile(path, text, { mode: 0o600 });
  const { stdout } = await tool("kubectl", ["--kubeconfig", path, "get", "namespaces", "-o", "name"]);
  expect(stdout).toContain("namespace/default");
  await press("Done");
});

test("the command for a kubeconfig without a secret can be copied", async () => {
  await press("Kubeconfig for Demo");
  await page.getByRole("dialog").locator("label", { hasText: "kubectl runs postern" }).click();
  await page.getByText("postern kubeconfig demo --project default --exec --ttl 1d --merge").waitFor();
  await expect.poll(() => page.getByRole("button", { name: "Create kubeconfig" }).count()).toBe(0);
  await press("Close");
});

test("a virtual cluster shows who has access and its valid credentials, and is put to sleep and woken", async () => {
  await page.getByRole("link", { name: "demo" }).click();
  await page.getByText("member of the project with the role Project viewer").waitFor();
  await page.getByText("owner and administrator of the project").waitFor();
  await page.getByText("Certificate of admin").waitFor();
  // A viewer does not enter it, and has a key.
  await page.getByRole("link", { name: "doras" }).waitFor();
  await expect.poll(() => page.getByRole("link", { name: "janes" }).count()).toBe(0);
  const check = page.getByRole("link", { name: "Check access of a user" });
  expect(await check.getAttribute("href")).toContain("verb=use");
  const audit = page.getByRole("link", { name: "Requests in the audit log" });
  expect(await audit.getAttribute("href")).toMatch(/audit\?cluster=default(\/|%2F)demo&show=all$/);
  await press("Put to sleep");
  await page.getByRole("dialog").getByText("The next request wakes it up.").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Put to sleep" }).click();
  await page.locator(".badge", { hasText: "Sleeping" }).waitFor();
  await press("Wake up");
  await page.locator(".badge", { hasText: "Ready" }).waitFor();
});

test("a kubeconfig is saved with one press, as it was chosen the last time", async () => {
  await page.getByText("As last time: Client certificate").waitFor();
  const saving = page.waitForEvent("download");
  await press("Save kubeconfig");
  const download = await saving;
  expect(download.suggestedFilename()).toBe("default-demo.kubeconfig");
  expect(await readFile(await download.path(), "utf8")).toMatch(/^ {4}client-certificate-data: /m);
  await page.getByText("Saved. Treat it like a password.").waitFor();
  await press("Another kubeconfig");
  await page.getByRole("dialog").getByRole("radio", { name: "Client certificate", checked: true }).waitFor();
  await press("Close");
});

test("one of the credentials is revoked, and the others stay valid", async () => {
  const issue = async (): Promise<string> => {
    const path = "namespaces/p-default/virtualclusterinstances/demo/kubeconfig";
    const { body } = await served.platform.send({ path, body: { spec: {} } });
    return /token: (\S+)/.exec(body.status.kubeConfig)?.[1] ?? "";
  };
  const inside = "/kubernetes/project/default/virtualcluster/demo/api/v1/namespaces";
  const codeWith = async (key: string): Promise<number> => (await served.platform.send({ path: inside, key })).status;
  const [lost, kept] = [await issue(), await issue()];
  const { body } = await served.platform.send({ path: "selves", method: "POST", key: lost, body: {} });
  await page.reload();
  await page.getByRole("button", { name: `Revoke ${body.status.accessKey}`, exact: true }).click();
  await page.getByRole("dialog").getByText("What was created with it is revoked with it").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
  await page
    .getByRole("button", { name: `Revoke ${body.status.accessKey}`, exact: true })
    .waitFor({ state: "detached" });
  expect([await codeWith(lost), await codeWith(kept)]).toEqual([401, 200]);
});

test("the CA of a virtual cluster is rotated, after what stops working was shown", async () => {
  const path = "namespaces/p-default/virtualclusterinstances/demo/certificateauthority";
  const phase = async (): Promise<string> => (await served.platform.send({ path })).body.status.phase;
  const section = page.locator("section").filter({ has: page.getByRole("heading", { name: "Certificate authority" }) });
  const step = async (name: string, consequence: string | RegExp): Promise<void> => {
    await section.getByRole("button", { name, exact: true }).click();
    await page.getByRole("dialog").getByText(consequence).waitFor();
    await page.getByRole("dialog").getByRole("button", { name, exact: true }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
  };
  await step("Prepare rotation", "The earlier ones stay trusted.");
  await section.locator(".badge", { hasText: "prepared" }).waitFor();
  // That of the kubeconfigs from before.
  await section
    .getByText(/^serial:/)
    .first()
    .waitFor();
  expect(await phase()).toBe("Prepared");
  await step("Abort rotation", "What the new CA and key have signed is refused at once.");
  await section.locator(".badge", { hasText: "aborted" }).waitFor();
  await step("Prepare rotation", "Nothing stops working, and it can be aborted.");
  await step("Complete rotation", /certificates? of the earlier CA (is|are) revoked\./);
  await section.locator(".badge", { hasText: "completed" }).waitFor();
  await section
    .getByText(/^serial:/)
    .first()
    .waitFor({ state: "detached" });
  expect(await phase()).toBe("Completed");
});

test("the CA of the platform is prepared and aborted beside what the server says of itself", async () => {
  await page.goto(`${served.platform.server.url}/about`);
  const section = page.locator("section").filter({ has: page.getByRole("heading", { name: "Certificate authority" }) });
  await section.getByText("postern-ca", { exact: true }).waitFor();
  await section.getByRole("button", { name: "Prepare rotation" }).click();
  await page.getByRole("dialog").getByText("New kubeconfigs trust a new CA as well.").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Prepare rotation" }).click();
  await section.getByText("postern-ca-2", { exact: true }).waitFor();
  await section.getByRole("button", { name: "Abort rotation" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Abort rotation" }).click();
  await section.locator(".badge", { hasText: "aborted" }).waitFor();
});

test("the overview shows what needs attention, and updates itself", async () => {
  await goTo("Home");
  const refused = page.getByRole("article").filter({ hasText: "Refused keys" });
  await page.getByRole("article").filter({ hasText: "Permanent administrator key" }).waitFor();
  await expect.poll(() => refused.count()).toBe(0);
  const { platform } = served;
  const { spec } = await platform.create("ownedaccesskeys", {
    metadata: { name: "agent" },
    spec: { displayName: "Build agent" },
  });
  const report = { method: "POST", path: "/leaks", key: "", body: spec.key, headers: { "content-type": "text/plain" } };
  await platform.send(report);
  await refused.getByText("Leaked", { exact: true }).waitFor();
  await platform.send({ method: "DELETE", path: "ownedaccesskeys/agent" });
  await refused.waitFor({ state: "detached" });
});

test("a virtual cluster is created with roles inside, changed, and deleted after its consequences were shown", async () => {
  const path = "namespaces/p-default/virtualclusterinstances/staging";
  await goTo("Virtual clusters");
  await page.getByRole("link", { name: "New virtual cluster" }).click();
  await page.getByLabel("Display name", { exact: true }).fill("Staging");
  await press("Add role");
  // The last of several names is completed.
  await page.getByLabel("Users", { exact: true }).fill("admin, ja");
  await page.locator('datalist option[value="admin, jane"]').waitFor({ state: "attached" });
  await page.getByLabel("Users", { exact: true }).fill("jane");
  await page.getByLabel("ClusterRole", { exact: true }).fill("edit");
  await press("Create");
  await page.getByRole("heading", { level: 1, name: "Staging" }).waitFor();
  await page.getByRole("listitem").filter({ hasText: "edit inside" }).getByRole("link", { name: "jane" }).waitFor();
  await page.locator(".description-list").getByText("Ready").waitFor();
  expect((await served.platform.send({ path })).body.spec.extraAccessRules).toEqual([
    { users: ["jane"], clusterRole: "edit" },
  ]);

  await page.getByRole("link", { name: "Edit", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Edit default / staging" }).waitFor();
  await page.getByLabel("ClusterRole", { exact: true }).fill("view");
  await press("Save");
  await page.getByRole("listitem").filter({ hasText: "view inside" }).waitFor();
  const { spec } = (await served.platform.send({ path })).body;
  expect(spec).toMatchObject({ displayName: "Staging", clusterRef: { cluster: "embedded" } });
  expect(spec.extraAccessRules).toEqual([{ users: ["jane"], clusterRole: "view" }]);

  await press("Delete");
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Everything in it is deleted.").waitFor();
  await dialog.getByText("There are no valid credentials for it.").waitFor();
  await dialog.getByRole("heading", { name: "Delete default / staging?" }).waitFor();
  await dialog.getByRole("button", { name: "Delete", exact: true, disabled: true }).waitFor();
  await dialog.getByLabel("Type default/staging to confirm").fill("default/staging");
  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Virtual clusters" }).waitFor();
  await page.getByRole("link", { name: "Staging" }).waitFor({ state: "detached" });
  expect((await served.platform.send({ path })).status).toBe(404);
});

test("a kubeconfig generator is created, shows each virtual cluster, and is changed and deleted", async () => {
  const path = "namespaces/p-default/kubeconfiggenerators/fleet";
  await goTo("Kubeconfig generators");
  await page.getByRole("link", { name: "New kubeconfig generator" }).click();
  await page.getByLabel("Display name", { exact: true }).fill("Fleet");
  await page.getByText("Read-only, without Secrets").click();
  await press("Create");
  await page.getByRole("heading", { level: 1, name: "Fleet" }).waitFor();
  await page.getByRole("listitem").filter({ hasText: "demo" }).locator(".badge", { hasText: "Current" }).waitFor();
  await page.locator(".description-list").getByText("p-default/fleet").waitFor();
  expect((await served.platform.send({ path })).body.spec).toEqual({
    displayName: "Fleet",
    selector: {},
    role: "view",
    secretRef: { name: "fleet" },
  });
  await page.getByRole("link", { name: "Edit", exact: true }).click();
  await press("Add label");
  await page.getByLabel("Label", { exact: true }).fill("env");
  await page.getByLabel("Value", { exact: true }).fill("prod");
  await press("Save");
  await page.getByText("The selector matches no virtual cluster.").waitFor();
  await page.locator(".description-list").getByText("env=prod").waitFor();
  await press("Delete");
  await page.getByRole("dialog").getByText("All credentials that it made are revoked at once.").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Kubeconfig generators" }).waitFor();
  await page.getByText("No kubeconfig generators yet").waitFor();
  await expect.poll(async () => (await served.platform.send({ path })).status).toBe(404);
});

test("a generator for Argo CD is created with the settings of its Secrets, and a change leaves the others", async () => {
  const path = "namespaces/p-default/kubeconfiggenerators/argo";
  const field = (label: string) => page.getByLabel(label, { exact: true });
  await page.goto(`${served.platform.server.url}/new/kubeconfig-generator?project=default`);
  await field("Name").fill("argo");
  await expect.poll(() => field("Labels to copy").count()).toBe(0);
  await page.getByRole("button", { name: "Format" }).click();
  await page.getByRole("option", { name: "ArgoCD" }).click();
  await field("Argo CD project").fill("Not a name");
  await field("Argo CD namespaces").fill("web, api");
  await page.getByText("Resources without a namespace as well").click();
  await field("Argo CD shard").fill("0");
  await press("Add label of the Secrets");
  await field("Label").fill("team");
  await field("Labels to copy").fill("env, region");
  await press("Add annotation");
  await field("Annotation").fill("example.com/note");
  await field("Value").nth(1).fill("of the shop");
  await press("Create");
  await page
    .locator(".field", { has: field("Argo CD project") })
    .locator(".field-error")
    .waitFor();
  await field("Argo CD project").fill("shop");
  await press("Create");
  await page.getByRole("heading", { level: 1, name: "argo" }).waitFor();
  const argoCD = { project: "shop", namespaces: ["web", "api"], clusterResources: true, shard: 0 };
  const secretTemplate = {
    labels: { team: "" },
    copyLabels: ["env", "region"],
    annotations: { "example.com/note": "of the shop" },
  };
  const specOf = async () => (await served.platform.send({ path })).body.spec;
  expect(await specOf()).toEqual({
    selector: {},
    format: "ArgoCD",
    secretRef: { name: "argo" },
    argoCD,
    secretTemplate,
  });
  await page.locator(".description-list").getByText("web, api, and resources without a namespace").waitFor();
  await page.getByRole("listitem").filter({ hasText: "region" }).getByText("as on the virtual cluster").waitFor();
  await page.getByRole("listitem").filter({ hasText: "example.com/note" }).getByText("of the shop").waitFor();
  await page.getByRole("link", { name: "Edit", exact: true }).click();
  await field("Argo CD shard").fill("");
  await press("Remove team=");
  await press("Save");
  await page.getByRole("heading", { level: 1, name: "argo" }).waitFor();
  const { shard: _, ...kept } = argoCD;
  const { labels: _labels, ...others } = secretTemplate;
  expect((await specOf()).argoCD).toEqual(kept);
  expect((await specOf()).secretTemplate).toEqual(others);
  await served.platform.send({ method: "DELETE", path });
});

test("a member of a project is offered no more than they may do", async () => {
  const hers = await served.openAs(jane, "/clusters/default/demo");
  await hers.getByRole("heading", { level: 1, name: "Demo" }).waitFor();
  await hers.getByText("You need permission to update virtualclusterinstances/demo.").waitFor();
  await expect.poll(() => hers.getByRole("link", { name: "Edit", exact: true }).count()).toBe(0);
  await expect.poll(() => hers.getByRole("button", { name: "Delete", exact: true }).count()).toBe(0);
  // Asked of the server: a viewer changes nothing.
  await hers.getByRole("button", { name: "Put to sleep", disabled: true }).waitFor();
  await hers.getByRole("navigation").getByRole("link", { name: "Access keys" }).click();
  await hers.getByRole("link", { name: "janes" }).waitFor();
  await expect.poll(() => hers.getByRole("link", { name: "First administrator" }).count()).toBe(0);
  await hers.context().close();
});

test("the link to a new virtual cluster is shown to a user who may create one in a project", async () => {
  const hers = await served.openAs(jane, "/");
  // Read on its way: the browser may have dropped the body of a response by the time it is asked for.
  const reviews: { readonly spec: any; readonly status: { readonly allowed: boolean } }[] = [];
  await hers.route(/selfsubjectaccessreviews/, async (route) => {
    const response = await route.fetch();
    reviews.push(await response.json());
    await route.fulfill({ response });
  });
  const mayCreate = () =>
    reviews.find(
      ({ spec: { resourceAttributes: asked } }) =>
        asked?.verb === "create" && asked.resource === "virtualclusterinstances" && asked.namespace === "p-default",
    )?.status.allowed;
  const create = hers.getByRole("link", { name: "New virtual cluster" });
  await hers.getByRole("navigation").getByRole("link", { name: "Virtual clusters" }).click();
  await expect.poll(mayCreate).toBe(false);
  await hers.unrouteAll({ behavior: "wait" });
  await hers.getByRole("link", { name: "demo" }).waitFor();
  await expect.poll(() => create.count()).toBe(0);
  const patch = { spec: { members: [{ kind: "User", name: "jane", clusterRole: "postern:project-admin" }] } };
  await served.platform.send({ method: "PATCH", path: "projects/default", body: patch });
  await hers.reload();
  await create.click();
  await hers.getByRole("heading", { level: 1, name: "New virtual cluster" }).waitFor();
  await hers.context().close();
});

test("lists of clusters are filtered in the address, and a host cluster says what it waits for", async () => {
  const { platform } = served;
  await platform.create("clusters", { metadata: { name: "edge" }, spec: { networkPeer: true } });
  const kubeConfigRef = { secretNamespace: "clusters", secretName: "west" };
  await platform.create("clusters", { metadata: { name: "west" }, spec: { kubeConfigRef } });
  await platform.create("projects", { metadata: { name: "maps" } });
  await platform.create("namespaces/p-maps/virtualclusterinstances", {
    metadata: { name: "outside" },
    spec: { external: true, template: { accessPoint: { ingress: { enabled: true } } } },
  });
  const choose = async (label: string, option: string): Promise<void> => {
    const field = page.getByRole("button", { name: new RegExp(`${label}$`) }).and(page.locator(".select"));
    await field.click();
    await page.getByRole("option", { name: option, exact: true }).click();
  };
  const rows = () => page.locator("tbody .row-link").allTextContents();

  await goTo("Virtual clusters");
  await choose("Project", "maps");
  await expect.poll(rows).toEqual(["maps / outside"]);
  await choose("Runs in", "Built-in cluster");
  await page.getByText("Nothing matches", { exact: true }).waitFor();
  expect(new URL(page.url()).search).toBe("?project=maps&where=embedded");

  await goTo("Host clusters");
  await choose("State", "Pending");
  await expect.poll(rows).toEqual(["edge", "west"]);
  await page.getByText("No kubeconfig", { exact: true }).waitFor();
  await choose("Connection", "by an agent");
  await page.getByText("No agent yet", { exact: true }).waitFor();
  await page.getByRole("link", { name: "edge" }).first().click();
  await page.getByText(/Its agent is not connected to this server\. Choose Connect agent/).waitFor();
});

test("a user signs out everywhere, sees how far it is, and their programs go on", async () => {
  const [first, second] = [await served.openAs(jane, "/profile"), await served.openAs(jane, "/keys")];
  await first.getByRole("button", { name: "End the session" }).first().waitFor();
  await first.getByRole("button", { name: "Sign out everywhere" }).click();
  await first
    .getByRole("dialog")
    .getByText(/All your \d sessions end/)
    .waitFor();
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await first.route("**/ownedaccesskeys/*", async (route) => {
    if (route.request().method() === "DELETE") await held;
    await route.continue();
  });
  await first.getByRole("dialog").getByRole("button", { name: "Sign out everywhere" }).click();
  await first.getByText(/0 of \d done/).waitFor();
  release();
  await first.getByRole("heading", { name: "Sign in to Postern" }).waitFor();
  await second.getByText("Your session has ended.").waitFor();
  expect((await served.platform.send({ key: jane, path: "ownedaccesskeys" })).status).toBe(200);
});
