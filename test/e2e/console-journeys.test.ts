// User journeys through the console, from the first page to the last: with the keyboard alone, through an identity provider that was set up in
// it, and over a restart of the server.

import { readFile } from "node:fs/promises";
import { startPlatform } from "@postern/platform/testing/running-platform";
import { temporaryDirectory } from "@postern/platform/testing/temporary-directory";
import { lastingPorts } from "@postern/stores/testing/lasting-ports";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { signInAtProvider } from "./testing/browser.ts";
import { closeConsole, loadConsole, type ServedConsole, serveConsole, signInAs } from "./testing/console.ts";
import { serveProvider } from "./testing/identity-provider.ts";

let served: ServedConsole;
let page: Page;
beforeAll(async () => {
  served = await serveConsole({ "proxy-allowed-addresses": ["127.0.0.1/32"], "audit-log-mode": "blocking" });
  const { platform } = served;
  await platform.create("users", { metadata: { name: "jane" }, spec: { displayName: "Jane" } });
  await platform.create("users", { metadata: { name: "ben" }, spec: { displayName: "Ben" } });
  await platform.create("projects", { metadata: { name: "shop" }, spec: { displayName: "The shop" } });
  page = await served.openAs(platform.adminKey, "/");
});
afterAll(() => closeConsole(served));

/** How an element looks, and what is drawn for it where it is itself hidden, as boxes are. */
const lookOf = (target: Locator): Promise<string> =>
  target.evaluate((element: any) => {
    const styleOf = (globalThis as any).getComputedStyle;
    return [element, ...(element.closest("label")?.querySelectorAll("*") ?? [])]
      .map((each) => {
        const [own, after] = [styleOf(each), styleOf(each, "::after")];
        return [own.boxShadow, own.outline, own.borderColor, after.boxShadow].join(" ");
      })
      .join();
  });

/** Goes on with Tab until the target has the focus, and sees that it shows that it has. */
async function tabTo(target: Locator): Promise<void> {
  await target.waitFor({ state: "attached" });
  const focused = target.and(page.locator(":focus"));
  if ((await focused.count()) > 0) return;
  const before = await lookOf(target);
  for (let pressed = 0; pressed < 120; pressed++) {
    await page.keyboard.press("Tab");
    if ((await focused.count()) === 0) continue;
    expect(await lookOf(target), `the focus of ${target} is seen`).not.toBe(before);
    return;
  }
  throw new Error(`Tab does not lead to ${target}`);
}
async function press(target: Locator, key = "Enter"): Promise<void> {
  await tabTo(target);
  await page.keyboard.press(key);
}
const button = (name: string, where: Page | Locator = page): Locator =>
  where.getByRole("button", { name, exact: true });
const link = (name: string, where: Page | Locator = page): Locator => where.getByRole("link", { name, exact: true });
const field = (name: string): Locator => page.getByLabel(name, { exact: true });
const heading = (name: string) => page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
const dialog = (): Locator => page.getByRole("dialog");
const hasFocus = (target: Locator) => target.and(page.locator(":focus")).waitFor();
const go = (name: string) => press(link(name, page.getByRole("navigation")));
const type = async (target: Locator, text: string): Promise<void> => {
  await tabTo(target);
  await page.keyboard.type(text);
};

test("with the keyboard alone a key for one virtual cluster is created and revoked, and the focus comes back from dialogs", async () => {
  await press(page.getByRole("link", { name: "New access key" }));
  await type(field("What is it for?"), "Deploy");
  await press(page.getByRole("checkbox", { name: /^demo/i }), "Space");
  await page.getByText("use the virtual cluster demo of the project default").waitFor();
  await press(button("Create access key"));
  await press(button("I have stored it"));
  await heading("Deploy");
  await press(button("Delete"));
  await dialog().waitFor();
  // The dialog keeps the focus.
  for (let pressed = 0; pressed < 6; pressed++) {
    await page.keyboard.press("Tab");
    await expect.poll(() => dialog().locator(":focus").count()).toBe(1);
  }
  await page.keyboard.press("Escape");
  await dialog().waitFor({ state: "detached" });
  await hasFocus(button("Delete"));
  await page.keyboard.press("Enter");
  await press(button("Delete key", dialog()));
  await heading("Access keys");
});

test("with the keyboard alone a kubeconfig is got, and a member added to a project", async () => {
  await go("Virtual clusters");
  await press(button("Kubeconfig for Demo"));
  await press(button("Create kubeconfig", dialog()));
  await button("Download", dialog()).waitFor();
  await press(button("Done", dialog()));
  await hasFocus(button("Kubeconfig for Demo"));
  await go("Projects");
  await press(link("The shop"));
  await press(button("Add member"));
  await type(field("Name"), "ben");
  await press(
    dialog()
      .getByRole("button", { name: /^Project user Role/ })
      .or(dialog().getByRole("button", { name: /Role/ })),
  );
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await press(button("Add", dialog()));
  await link("ben", page.getByRole("main")).waitFor();
  expect((await served.platform.send({ path: "projects/shop" })).body.spec.members).toMatchObject([
    { name: "ben", clusterRole: "postern:project-reader" },
  ]);
});

test("with the keyboard alone a user finds out why a colleague does not see a virtual cluster", async () => {
  await go("Virtual clusters");
  await press(page.getByRole("row").getByRole("link", { name: /Demo$/ }));
  await press(link("Check access of a user"));
  await type(field("Name of the user"), "jane");
  await press(button("Check"));
  await page.getByText("Refused", { exact: true }).waitFor();
  await page.getByText("Make jane a member of the project default").waitFor();
  await press(link("Open the project default"));
  await press(button("Add member"));
  await type(field("Name"), "jane");
  await press(button("Add", dialog()));
  await link("jane", page.getByRole("main")).waitFor();
  await go("Check access");
  await tabTo(page.getByRole("radio", { name: "Myself" }));
  await page.keyboard.press("ArrowDown");
  await type(field("Name of the user"), "jane");
  await type(field("Project"), "default");
  await type(field("Resource name"), "demo");
  await press(button("Check"));
  await page.getByText("Allowed", { exact: true }).waitFor();
});

test("a user finds out who revoked a key, and exports the records", async () => {
  const { platform } = served;
  await platform.create("ownedaccesskeys", { metadata: { name: "gone" } });
  await platform.send({ method: "DELETE", path: "ownedaccesskeys/gone" });
  await go("Audit log");
  await type(field("Object"), "ownedaccesskeys/gone");
  await page.keyboard.press("Enter");
  await page.getByText("2 changes", { exact: true }).waitFor();
  await page.getByRole("row", { name: /admin.*delete ownedaccesskeys\.management\.postern\/gone.*200/ }).waitFor();
  const saving = page.waitForEvent("download");
  await press(button("Export as JSON"));
  const records = JSON.parse(await readFile(await (await saving).path(), "utf8"));
  expect(records.map(({ user, verb }: any) => `${user} ${verb}`)).toEqual(["admin delete", "admin create"]);
});

test("an identity provider is set up in the console, and a person signs in with it to the view that was asked for", async () => {
  const { platform } = served;
  await using idp = await serveProvider(
    { url: platform.server.url, ca: await readFile(platform.server.caPath) },
    "example",
  );
  await platform.create("/api/v1/namespaces/p-default/secrets", {
    metadata: { name: "idp" },
    stringData: { clientSecret: idp.clientSecret },
  });
  await go("Identity providers");
  await page.getByRole("link", { name: "New identity provider" }).click();
  await field("Display name").fill("Example");
  await page.getByText(`${platform.server.url}/login/callback/example`).waitFor();
  await field("Issuer URL").fill("http://not.encrypted.example");
  await field("CA certificates (PEM)").fill(idp.certificateAuthorityPem);
  await field("Client ID").fill(idp.clientId);
  await field("Namespace").fill("p-default");
  await field("Name of the Secret").fill("idp");
  await button("Create").click();
  await page.locator(".field-error").first().waitFor();
  await field("Issuer URL").fill(idp.url);
  await button("Create").click();
  await heading("Identity providers");
  await page.getByText("Ready", { exact: true }).waitFor();

  idp.people.set("kim", { preferred_username: "kim", name: "Kim", email: "kim@example.com" });
  const hers = await served.open("/keys?q=mine");
  await hers.getByRole("link", { name: "Sign in with Example" }).click();
  await signInAtProvider(hers, "kim");
  await hers.getByRole("heading", { level: 1, name: "Access keys" }).waitFor();
  expect(hers.url()).toBe(`${platform.server.url}/keys?q=mine`);
  await hers.getByRole("navigation").getByText("Kim").waitFor();

  // Changed without touching the rest.
  await page.getByRole("link", { name: "Edit" }).click();
  await field("Allowed groups").fill("staff");
  await button("Save").click();
  await page.getByText("staff", { exact: true }).waitFor();
  const { spec } = (await platform.send({ path: "identityproviders/example" })).body;
  expect(spec).toMatchObject({ clientId: idp.clientId, allowedGroups: ["staff"], createUsers: true });
  await page.getByRole("button", { name: "Delete" }).click();
  await dialog().getByText("All its sessions are refused").waitFor();
  await button("Delete", dialog()).click();
  await page.getByText("No identity providers yet").waitFor();
  await hers.getByText("Your session has ended.").waitFor();
  await hers.context().close();
});

test("the page reports an unreachable server, and recovers by itself", async () => {
  await using data = await temporaryDirectory();
  const [port] = await lastingPorts(1);
  const flags = { "data-dir": data.path, store: "sqlite", "secure-port": String(port) };
  const first = await startPlatform(flags, { loadConsole });
  const hers = await served.browser.newPage({ ignoreHTTPSErrors: true });
  try {
    await first.create("ownedaccesskeys", { metadata: { name: "before" } });
    await hers.goto(`${first.server.url}/keys`);
    await signInAs(hers, first.adminKey);
    await hers.getByRole("link", { name: "before" }).waitFor();
  } finally {
    await first[Symbol.asyncDispose]();
  }
  await hers.getByText("The server does not answer.").waitFor();
  await hers.getByRole("link", { name: "before" }).waitFor();
  await using second = await startPlatform(flags, { loadConsole });
  await second.create("ownedaccesskeys", { metadata: { name: "after" } });
  await hers.getByRole("link", { name: "after" }).waitFor();
  await hers.getByText("The server does not answer.").waitFor({ state: "detached" });
  await hers.close();
});
