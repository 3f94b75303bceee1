// Some views of the console and what opens over them, light and dark, wide, zoomed and narrow, as axe-core judges them: some of that by day, and all
// with EVERY_CASE=1, as by night. With CONSOLE_LOOKS=<folder> it writes pictures of dialogs, phones and zoomed windows, to be looked at.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import axe from "axe-core";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { namedCasesOf } from "../../tools/test-cost/by-night.ts";
import { closeConsole, type ServedConsole, serveConsole } from "./testing/console.ts";
import { pictureOf, routesIn, viewsOf } from "./testing/console-views.ts";
import { axeFindings, WITHOUT_TRANSITIONS } from "./testing/judge-page.ts";

const VIEWS = viewsOf({
  ...{ key: "ci", cluster: "default/demo", host: "eu-west", project: "shop", user: "jane", team: "shop-team" },
  ...{ role: "postern:project-user", ownRole: "cluster-reader", request: "queue", rule: "-/ci", provider: "example" },
  generator: "default/fleet",
});

const ADDRESSES = Object.values(VIEWS).map(({ at }) => at);

/** Dialogs and other states that open over or inside a view. */
const STATES: {
  readonly [state: string]: { readonly view: string; readonly open: (page: Page) => Promise<void> };
} = {
  "rotate-key": { view: "/keys/ci", open: (page) => press(page, "Rotate") },
  "delete-key": { view: "/keys/ci", open: (page) => press(page, "Delete") },
  "get-kubeconfig": { view: "/clusters/default/demo", open: (page) => press(page, "Get kubeconfig") },
  "set-kubeconfig": { view: "/host-clusters/eu-west", open: (page) => press(page, "Set kubeconfig") },
  "join-cluster": {
    view: "/host-clusters/edge",
    async open(page) {
      await press(page, "Connect agent");
      await press(page, "Make command");
      await page.getByText("It works once.").waitFor();
    },
  },
  "prepare-rotation": { view: "/clusters/default/demo", open: (page) => press(page, "Prepare rotation") },
  "add-member": { view: "/projects/shop", open: (page) => press(page, "Add member") },
  "give-role": { view: "/roles/cluster-reader", open: (page) => press(page, "Grant on the whole platform") },
  "choose-owner": {
    view: "/new/project",
    async open(page) {
      await page.getByRole("button", { name: "Owner" }).click();
      await page.getByRole("option", { name: "Team" }).waitFor();
    },
  },
  "refused-form": {
    view: "/new/project",
    async open(page) {
      await page.getByLabel("Name", { exact: true }).fill("Not a name");
      await press(page, "Create");
      await page.locator(".field-error").first().waitFor();
    },
  },
  "checked-access": {
    view: "/access",
    async open(page) {
      await page.getByText("A user", { exact: true }).click();
      await page.getByLabel("Name of the user").fill("jane");
      await press(page, "Check");
      await page.getByText("How to allow it").waitFor();
    },
  },
  "audit-record": {
    view: "/audit?show=all",
    async open(page) {
      await page.locator("button.row-link").first().click();
      await page.getByRole("dialog").waitFor();
    },
  },
  "empty-key": {
    view: "/new/key",
    async open(page) {
      await press(page, "Create access key");
      await page.locator("[data-error]").waitFor();
    },
  },
  palette: {
    view: "/",
    async open(page) {
      await page.keyboard.press("Control+k");
      await page.getByRole("option").first().waitFor();
    },
  },
  "no-such-key": { view: "/keys/gone", open: (page) => page.getByText("There is no such access key").waitFor() },
  "no-such-view": { view: "/new/nothing", open: (page) => page.getByText("Page not found").waitFor() },
  "none-found": { view: "/keys?q=nothing-like-this", open: (page) => page.locator(".empty").waitFor() },
};

/** Those that differ most from each other. */
const VIEWS_BY_DAY = ["/", "/new/key"];
const STATES_BY_DAY = ["get-kubeconfig"];

const press = (page: Page, name: string): Promise<void> => page.getByRole("button", { name, exact: true }).click();

const PHONE = { width: 360, height: 740 };
/** Viewport of a window of 1280 pixels at 200 %. */
const ZOOMED = { width: 640, height: 400 };
const DESK = { width: 1280, height: 800 };

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
  await platform.create("namespaces/p-default/kubeconfiggenerators", {
    metadata: { name: "fleet" },
    spec: { selector: {}, secretRef: { name: "fleet" } },
  });
  await platform.create("clusters", {
    metadata: { name: "edge" },
    spec: { displayName: "Edge", networkPeer: true },
  });
  await platform.create("clusters", {
    metadata: { name: "eu-west" },
    spec: { displayName: "EU West", kubeConfigRef: { secretNamespace: "clusters", secretName: "eu-west" } },
  });
  await platform.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", {
    metadata: { name: "cluster-reader" },
    rules: [{ apiGroups: ["management.postern"], resources: ["clusters"], verbs: ["get", "list"] }],
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
  await platform.create("clusteraccesspolicies", {
    metadata: { name: "on-call" },
    spec: {
      displayName: "On call",
      requesters: { users: ["admin", "jane"] },
      targets: [{ kind: "Project", projects: ["shop"], roles: ["postern:project-user"] }],
      maxDurationSeconds: 3600,
      approvers: { users: ["admin"] },
    },
  });
  const jane = await platform.create("ownedaccesskeys", {
    metadata: { name: "janes" },
    spec: { user: "jane", ttl: 86_400 },
  });
  await platform.send({
    path: "accessrequests",
    key: jane.spec.key,
    body: {
      metadata: { name: "queue" },
      spec: { policy: { name: "on-call" }, target: { project: "shop" }, reason: "OPS-1 the queue is full" },
    },
  });
  page = await served.openAs(platform.adminKey, "/");
});
afterAll(() => closeConsole(served));

/** Rules whose result depends on the colour scheme or the width; the results of all other rules do not. */
const OF_THEMES = ["color-contrast"];
const OF_WIDTHS = ["scrollable-region-focusable", "aria-hidden-focus", "nested-interactive"];

/** To be looked at. */
async function keepLook(name: string, where = page): Promise<void> {
  const folder = process.env["CONSOLE_LOOKS"];
  if (folder !== undefined) await where.screenshot({ path: join(folder, `${name.replaceAll(/[^a-z]+/g, "-")}.png`) });
}

async function open(view: string): Promise<void> {
  await page.setViewportSize(DESK);
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  await page.goto(served.platform.server.url + view);
  await page.getByRole("main").getByRole("heading").first().waitFor();
  // Watches go on, so that the network is never idle.
  await page.locator(".loading").first().waitFor({ state: "detached" });
  await page.evaluate(axe.source);
  await page.evaluate(WITHOUT_TRANSITIONS);
}

/** `name` of the pictures. */
async function judge(name: string): Promise<void> {
  for (const theme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: theme });
    expect(await axeFindings(page, `${name} ${theme}`, theme === "light" ? [] : OF_THEMES)).toEqual([]);
    await keepLook(`${name} ${theme}`);
  }
  for (const size of [ZOOMED, PHONE]) {
    await page.setViewportSize(size);
    // Overlays are repositioned a moment after the resize.
    await expect.poll(() => page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(size.width);
    await keepLook(`${name} ${size === PHONE ? "phone" : "zoomed"}`);
  }
  expect(await axeFindings(page, `${name} phone`, OF_WIDTHS)).toEqual([]);
}

test("every route of the console is judged, and has its pictures", async () => {
  expect(await routesIn(page)).toEqual(Object.keys(VIEWS).sort());
  const list = await readFile("docs/images/README.md", "utf8");
  const pictures = Object.values(VIEWS).flatMap((view) => [pictureOf(view, "light"), pictureOf(view, "dark")]);
  expect(pictures.filter((picture) => !list.includes(`](console/${picture})`))).toEqual([]);
});

test.each(namedCasesOf(ADDRESSES, (at) => at, VIEWS_BY_DAY))(
  "%s has no finding, in both themes, and is no wider than a phone or a window at 200 %",
  async (view) => {
    await open(view);
    await expect.poll(() => page.getByRole("main").getByRole("heading", { level: 1 }).count()).toBe(1);
    await judge(view);
  },
);

test.each(namedCasesOf(Object.entries(STATES), ([name]) => name, STATES_BY_DAY))(
  "%s has no finding, and fits as well",
  async (name, { view, open: bringUp }) => {
    await open(view);
    await bringUp(page);
    await judge(name);
  },
);

test("the menu on a phone has no finding", async () => {
  await open("/");
  await page.setViewportSize(PHONE);
  await press(page, "Menu");
  await page.getByRole("navigation").getByRole("link", { name: "Access keys" }).waitFor();
  expect(await axeFindings(page, "menu phone")).toEqual([]);
  await keepLook("menu phone");
});

test("the page of sign-in has no finding", async () => {
  await using other = await signInPage();
  for (const colorScheme of ["light", "dark"] as const) {
    await other.page.emulateMedia({ colorScheme });
    expect(await axeFindings(other.page, `sign-in ${colorScheme}`)).toEqual([]);
    await keepLook(`sign-in ${colorScheme}`, other.page);
  }
});

test.each(["/profile/access-keys", "/login", "/device"])(
  "%s, which the server itself makes, has no finding, and is no wider than a phone",
  async (path) => {
    await page.goto(served.platform.server.url + path);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.evaluate(axe.source);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await axeFindings(page, `${path} ${colorScheme}`)).toEqual([]);
    }
    await page.setViewportSize(PHONE);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(PHONE.width);
    await keepLook(`server ${path}`);
  },
);

async function signInPage() {
  const other = await served.open("/");
  await other.getByRole("heading", { name: "Sign in to Postern" }).waitFor();
  await other.evaluate(axe.source);
  await other.evaluate(WITHOUT_TRANSITIONS);
  return { page: other, [Symbol.asyncDispose]: () => other.context().close() };
}
