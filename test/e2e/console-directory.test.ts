// The console's views of projects, people, rights, trust and leaks, in a real browser: the main job of each.

import {
  type IssuerSigningKey,
  newSigningKey,
  signClaims,
} from "@postern/platform/foundation/issuers/testing/serve-issuer";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { closeConsole, type ServedConsole, serveConsole } from "./testing/console.ts";

const ISSUER = "https://ci.example";

let served: ServedConsole;
let page: Page;
let signingKey: IssuerSigningKey;

beforeAll(async () => {
  served = await serveConsole();
  const { platform } = served;
  await platform.create("users", {
    metadata: { name: "jane" },
    spec: { displayName: "Jane", email: "jane@example.com" },
  });
  await platform.create("users", { metadata: { name: "ben" }, spec: { displayName: "Ben" } });
  await platform.create("users", { metadata: { name: "shop-ci" }, spec: { kind: "Bot" } });
  await platform.create("teams", { metadata: { name: "shop-team" }, spec: { displayName: "Shop", users: ["jane"] } });
  await platform.create("projects", { metadata: { name: "shop" }, spec: { displayName: "The shop" } });
  await platform.create("ownedaccesskeys", {
    metadata: { name: "narrow" },
    spec: { user: "jane", scope: { projects: [{ project: "shop" }] } },
  });
  signingKey = await newSigningKey("ES256");
  await platform.create("clustertrustrules", {
    metadata: { name: "ci" },
    spec: {
      displayName: "Shop pipeline",
      issuer: { url: ISSUER, jwks: JSON.stringify({ keys: [signingKey.jwk] }) },
      audiences: ["postern"],
      claims: [{ claim: "repository_id", values: ["42"] }],
      user: "shop-ci",
      scope: { projects: [{ project: "shop" }] },
      ttl: 600,
    },
  });
  page = await served.openAs(platform.adminKey, "/projects");
});

afterAll(() => closeConsole(served));

const go = (place: string) => page.getByRole("navigation").getByRole("link", { name: place, exact: true }).click();
const inDialog = () => page.getByRole("dialog");

test("a member is added to a project, is shown at once, and removed after the consequences were shown", async () => {
  await go("Projects");
  await page.getByRole("link", { name: "The shop" }).click();
  await page.getByRole("button", { name: "Add member" }).click();
  await inDialog().getByLabel("Name").fill("ben");
  await inDialog().getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("main").getByRole("link", { name: "ben", exact: true }).waitFor();
  const { body } = await served.platform.send({ path: "projects/shop" });
  expect(body.spec.members).toEqual([
    expect.objectContaining({ kind: "User", name: "ben", clusterRole: "postern:project-user" }),
  ]);

  await page.getByRole("button", { name: "Add member" }).click();
  await inDialog().getByLabel("Name").fill("ben");
  await inDialog().getByText("Already a member.").waitFor();
  await inDialog().getByRole("button", { name: "Cancel" }).click();

  await page.getByRole("button", { name: "Remove ben" }).click();
  await inDialog().getByText("Open watches, exec sessions and proxied streams are closed.").waitFor();
  await inDialog().getByRole("button", { name: "Remove" }).click();
  await page.getByText("Only the owner and administrators have access.").waitFor();
  expect((await served.platform.send({ path: "projects/shop" })).body.spec.members ?? []).toEqual([]);
});

test("a project and a host cluster say that sessions in their pods are recorded", async () => {
  const record = async (path: string, mode: string) => {
    const spec = { sessionRecording: { mode } };
    expect((await served.platform.send({ method: "PATCH", path, body: { spec } })).status).toBe(200);
  };
  await go("Projects");
  await page.getByRole("link", { name: "The shop" }).click();
  const facts = page.locator(".description-list");
  await facts.getByText("p-shop").waitFor();
  expect(await facts.getByText("Sessions in pods").count()).toBe(0);
  await record("projects/shop", "Required");
  await facts.getByText("recorded, or refused").waitFor();
  await record("projects/shop", "Off");
  await facts.getByText("Sessions in pods").waitFor({ state: "detached" });
  await record("clusters/embedded", "BestEffort");
  await page.goto(`${served.platform.server.url}/host-clusters/embedded`);
  await facts.getByText("recorded where possible").waitFor();
});

test("a user is locked and unlocked, and their keys follow", async () => {
  await go("Users");
  await page.getByRole("link", { name: "Jane" }).click();
  await page
    .getByRole("link", { name: "Team Shop" })
    .or(page.getByRole("link", { name: "Team shop-team" }))
    .waitFor();
  await page.getByRole("button", { name: "Lock", exact: true }).click();
  await inDialog().getByText("The user's access key is refused with 401, from the next request on.").waitFor();
  await inDialog().getByText("Approved access requests of the user are revoked.").waitFor();
  await inDialog().getByText("stay valid until they expire").waitFor();
  await inDialog().getByRole("button", { name: "Lock", exact: true }).click();
  await page.getByText("Locked", { exact: true }).waitFor();
  await page.getByText("Owner locked").waitFor();
  await page.getByRole("button", { name: "Unlock" }).click();
  await inDialog().getByRole("button", { name: "Unlock" }).click();
  await page.getByText("Valid", { exact: true }).waitFor();
});

test("an administrator ends the session of a user, who is signed out at once", async () => {
  const { spec } = await served.platform.create("ownedaccesskeys", {
    metadata: { name: "own" },
    spec: { user: "jane" },
  });
  const other = await served.openAs(spec.key, "/");
  await go("Users");
  await page.getByRole("link", { name: "Jane" }).click();
  await page.getByRole("button", { name: /^End the session / }).click();
  await inDialog().getByText("That browser or command line is signed out at once.").waitFor();
  await inDialog().getByRole("button", { name: "End", exact: true }).click();
  await other.getByRole("heading", { name: "Sign in to Postern" }).waitFor();
  await page.getByText("No sessions.").waitFor();
  await other.context().close();
});

test("a team gains and loses a member", async () => {
  await go("Teams");
  await page.getByRole("link", { name: "Shop" }).click();
  await page.getByRole("button", { name: "Add user" }).click();
  await inDialog().getByLabel("Name").fill("ben");
  await inDialog().getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("button", { name: "Remove ben" }).click();
  await inDialog().getByRole("button", { name: "Remove" }).click();
  await page.getByRole("button", { name: "Remove ben" }).waitFor({ state: "detached" });
  await served.platform.create("ownedaccesskeys", { metadata: { name: "of-team" }, spec: { team: "shop-team" } });
  const key = page.getByRole("listitem").filter({ hasText: "of-team" });
  await key.getByText("never used").waitFor();
  await key.getByText("never expires").waitFor();
  await page.getByRole("link", { name: "New access key" }).click();
  await page.getByRole("button", { name: "Owner" }).getByText("Team Shop").waitFor();
  await page.goBack();
  await key.waitFor();
  expect((await served.platform.send({ path: "teams/shop-team" })).body.spec.users).toEqual(["jane"]);
});

test("a role shows what it allows, and who has it; one that comes with the server is not deleted", async () => {
  await served.platform.send({
    path: "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    body: { metadata: { name: "own" }, rules: [{ verbs: ["get"], apiGroups: [""], resources: ["secrets"] }] },
  });
  await go("Roles");
  await page.getByRole("row").filter({ hasText: "get secrets" }).getByRole("link", { name: "own" }).waitFor();
  // The console knows all roles that the server makes.
  const others = page.getByRole("row").filter({ hasText: "postern:", hasNotText: "Built-in" });
  await page.getByRole("row").filter({ hasText: "postern:directory" }).getByText("Built-in").waitFor();
  await expect.poll(() => others.count()).toBe(0);
  await page.getByRole("link", { name: "Project user" }).click();
  await page.getByText("virtualclusterinstances/kubeconfig").first().waitFor();
  await page.getByRole("link", { name: "Edit", exact: true }).waitFor();
  await expect.poll(() => page.getByRole("button", { name: "Delete", exact: true }).count()).toBe(0);
});

test("the check of access agrees with the server: for a key step by step, for a user by review", async () => {
  await go("Check access");
  await page.getByText("An access key", { exact: true }).click();
  await page.getByLabel("Name of the access key").fill("narrow");
  await page.getByLabel("Project", { exact: true }).fill("shop");
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await page.getByText("Its owner has the permission").waitFor();
  await page.getByText("Refused", { exact: true }).waitFor();
  await page.getByText("How to allow it").waitFor();

  await page.getByText("A user", { exact: true }).click();
  await page.getByLabel("Name of the user").fill("jane");
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await page.getByText("Refused", { exact: true }).waitFor();
  await page.getByText("Myself", { exact: true }).click();
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await page.getByText("Allowed", { exact: true }).waitFor();
  await page.getByText("Has the role “Administrator” by the role binding").waitFor();
});

test("a refusal in the audit log leads to the role that would allow the request", async () => {
  const members = [{ kind: "User", group: "storage.postern", name: "ben", clusterRole: "postern:project-user" }];
  await served.platform.create("projects", { metadata: { name: "payments" }, spec: { members } });
  const { spec } = await served.platform.create("ownedaccesskeys", {
    metadata: { name: "refused" },
    spec: { user: "ben" },
  });
  const path = "namespaces/p-payments/virtualclusterinstances/prod";
  expect((await served.platform.send({ method: "DELETE", path, key: spec.key })).status).toBe(403);
  await page.goto(`${served.platform.server.url}/audit?user=ben&show=refused`);
  await page.getByRole("button", { name: "Delete virtual cluster prod" }).click();
  await inDialog().getByRole("link", { name: "Check access of this user" }).click();
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await page.getByText("Project user does not delete virtual clusters; Project administrator does.").waitFor();
});

test("all credentials of a user are revoked, who stays a member and gets new ones", async () => {
  await served.platform.create("users", { metadata: { name: "rae" }, spec: { displayName: "Rae" } });
  const make = async (name: string) => {
    const body = { metadata: { name }, spec: { user: "rae" } };
    return (await served.platform.send({ path: "ownedaccesskeys", body })).body.spec.key as string;
  };
  const key = await make("rae-key");
  const hers = await served.openAs(key, "/");
  const raes = [{ kind: "User", group: "storage.postern", name: "rae", clusterRole: "postern:project-user" }];
  await served.platform.send({ method: "PATCH", path: "projects/default", body: { spec: { members: raes } } });
  const kubeconfig = "namespaces/p-default/virtualclusterinstances/demo/kubeconfig";
  const certificate = { spec: { clientCert: true } };
  expect((await served.platform.send({ path: kubeconfig, body: certificate, key })).status).toBe(201);
  await page.goto(`${served.platform.server.url}/users?state=locked`);
  await page.getByText("0 users", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Locked" }).click();
  await page.getByRole("option", { name: "In no team" }).click();
  await page.getByRole("link", { name: "Rae" }).click();

  await page.getByRole("button", { name: "Add to a project" }).click();
  const project = inDialog().getByRole("combobox", { name: "Project" });
  await project.fill("zz");
  await inDialog().getByText("No project that you can see has this name").waitFor();
  await project.fill("the sh");
  await inDialog().getByText("Adds to The shop (shop).").waitFor();
  await inDialog().getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("link", { name: "Project The shop (shop)" }).waitFor();

  await page.getByText(/Certificate of rae/).waitFor();
  await page.getByRole("button", { name: "Revoke all credentials" }).click();
  await inDialog().getByText("1 access key is disabled.").waitFor();
  await inDialog().getByText("1 session in a browser or a command line ends.").waitFor();
  await inDialog().getByText("1 client certificate is refused.").waitFor();
  await inDialog().getByRole("button", { name: "Revoke all credentials" }).click();
  await inDialog().waitFor({ state: "detached" });
  await page.getByText("All credentials of rae were revoked. 1 access key is disabled.").waitFor();
  await page.getByText(/Certificate of rae/).waitFor({ state: "detached" });
  await hers.getByText("Your session has ended").waitFor();
  expect((await served.platform.send({ path: "projects/shop", key })).status).toBe(401);
  expect((await served.platform.send({ path: "projects/shop", key: await make("rae-again") })).status).toBe(200);

  // The audit log knows whose key was refused, and why.
  await page.goto(`${served.platform.server.url}/audit?user=rae&show=refused`);
  await page.getByRole("button", { name: "Read project shop" }).first().click();
  await inDialog().getByText("The access key is disabled.").waitFor();
  await inDialog().getByRole("link", { name: "rae", exact: true }).waitFor();
  await inDialog().getByRole("button", { name: "Close" }).click();
});

test("a trust rule says for a token what fits, and is switched off", async () => {
  await go("Trust rules");
  await page.getByRole("link", { name: "Shop pipeline" }).click();
  const tokenOf = (repository: string) =>
    signClaims(ISSUER, { aud: "postern", sub: "repo:shop", repository_id: repository }, signingKey);
  const field = page.getByLabel("Token (JWT)");
  await field.fill(await tokenOf("43"));
  await page.getByRole("button", { name: "Test token" }).click();
  await page.getByText("Refused", { exact: true }).waitFor();
  await field.fill(await tokenOf("42"));
  await page.getByRole("button", { name: "Test token" }).click();
  await page.getByText("Accepted", { exact: true }).waitFor();

  await page.getByRole("button", { name: "Disable" }).click();
  await inDialog().getByText("jobs that rely on it fail").waitFor();
  await inDialog().getByRole("button", { name: "Disable" }).click();
  await page.getByText("Disabled", { exact: true }).waitFor();
});

test("identity providers and leak reports teach where there are none, and a reported key appears by itself", async () => {
  await go("Identity providers");
  await page.getByText("No identity providers yet").waitFor();
  await go("Leak reports");
  await page.getByText("No leak has been reported").waitFor();
  const { body } = await served.platform.send({
    path: "ownedaccesskeys",
    body: { metadata: { name: "leaky" }, spec: { user: "jane" } },
  });
  await page.getByLabel("Text with the key").fill(`found: ${body.spec.key}`);
  await page.getByRole("button", { name: "Report", exact: true }).click();
  await page.getByText("Keys of this server that were in the text are disabled.").waitFor();
  expect(await page.content()).not.toContain(body.spec.key);
  await page.getByRole("link", { name: "leaky" }).waitFor();
  await page.getByText("Leaked", { exact: true }).waitFor();
});

test("a project shows how much of its quotas is used, and the list the fullest", async () => {
  const quotas = { project: { ownedaccesskeys: "4", virtualclusterinstances: "8", "virtualcluster.objects": "500" } };
  await served.platform.create("projects", { metadata: { name: "limited" }, spec: { quotas } });
  const scope = { projects: [{ project: "limited" }] };
  for (const name of ["limited-1", "limited-2", "limited-3"])
    await served.platform.create("ownedaccesskeys", { metadata: { name }, spec: { scope } });
  await go("Projects");
  const row = page.getByRole("row").filter({ has: page.getByRole("link", { name: "limited" }) });
  await row.getByText("3 of 4").waitFor();
  await row.getByRole("link", { name: "limited" }).click();
  const meters = page.getByRole("meter");
  await expect.poll(() => meters.first().getAttribute("aria-label")).toBe("Access keys: 3 of 4");
  await page.getByText("500 at most").waitFor();
});

test("the audit log is searched by key and by refusal", async () => {
  const { body } = await served.platform.send({
    path: "ownedaccesskeys",
    body: { metadata: { name: "curious" }, spec: { user: "ben" } },
  });
  await served.platform.send({ path: "projects", key: body.spec.key });
  await served.platform.send({ path: "/api/v1/nodes", key: body.spec.key });
  const searches: number[] = [];
  page.on("response", (response) => {
    if (response.url().includes("/audit/events?")) searches.push(response.status());
  });
  await go("Audit log");
  await page.getByRole("button", { name: "Export" }).waitFor();
  // Changes alone, at first.
  await page.getByText("create ownedaccesskeys.management.postern/curious").waitFor();
  await expect.poll(() => page.getByText(/^(get|list|watch) /).count()).toBe(0);
  await choose("Changes", "All requests");
  await page.getByText("list projects.management.postern").first().waitFor();
  await page.getByLabel("Access key", { exact: true }).fill("curious");
  await page.getByRole("button", { name: "Search" }).click();
  await page.getByText("2 requests", { exact: true }).waitFor();
  await choose("All requests", "Refused requests");
  await page.getByText("list projects.management.postern").waitFor({ state: "detached" });
  await page.getByText("1 request", { exact: true }).waitFor();
  // The page, and the three that were asked for: a server does one search at a time, and refuses another one.
  expect(searches).toEqual([200, 200, 200, 200]);
});

/** In a select of the page, whose button has its value. */
async function choose(value: string, other: string): Promise<void> {
  await page.getByRole("button", { name: value }).click();
  await page.getByRole("option", { name: other }).click();
}

test("a record is read at a glance, leads on, and a part of the time is searched alone", async () => {
  await served.platform.create("teams", { metadata: { name: "at-a-glance" }, spec: { users: ["ben"] } });
  await page.goto(`${served.platform.server.url}/audit?object=teams/at-a-glance`);
  await page.getByRole("button", { name: "Create team at-a-glance" }).click();
  await inDialog().getByText("Done 201").waitFor();
  await inDialog().getByRole("link", { name: "admin" }).first().waitFor();
  await inDialog().getByRole("link", { name: "All requests of this user" }).click();
  await inDialog().waitFor({ state: "detached" });
  await expect.poll(() => new URL(page.url()).searchParams.get("user")).toBe("admin");
  await page.getByRole("button", { name: "Create team at-a-glance" }).first().waitFor();

  const bars = page.locator(".histogram button");
  await expect.poll(() => bars.count()).toBe(48);
  // The highest of them is as high as the plot.
  const heights = () => bars.locator("> span").evaluateAll((all) => all.map((bar) => bar.clientHeight));
  await expect.poll(async () => Math.max(...(await heights()))).toBe(96);
  await bars.last().focus();
  await page.keyboard.press("Shift+ArrowLeft");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Clear this time" }).waitFor();
  const { searchParams } = new URL(page.url());
  const length = Date.parse(searchParams.get("until") ?? "") - Date.parse(searchParams.get("since") ?? "");
  // Two of 48 parts of a day.
  expect(Math.round(length / 60_000)).toBe(60);
  await page.getByRole("button", { name: "Create team at-a-glance" }).first().waitFor();
  // With the pointer: where there were none. What was typed meanwhile is not lost.
  await page.getByLabel("Object").fill("teams/other");
  await page.getByText("The list does not follow what you typed yet").waitFor();
  await bars.first().click();
  await expect.poll(() => new URL(page.url()).searchParams.get("object")).toBe("teams/other");
  await expect.poll(() => new URL(page.url()).searchParams.get("until")).not.toBe(searchParams.get("until"));
});

test("a user without permissions sees the reason, and changes nothing", async () => {
  const { body } = await served.platform.send({
    path: "ownedaccesskeys",
    body: { metadata: { name: "of-ben" }, spec: { user: "ben" } },
  });
  const other = await served.openAs(body.spec.key, "/users/ben");
  await other.getByRole("heading", { name: "Ben" }).waitFor();
  await expect.poll(() => other.getByRole("button", { name: "Lock", exact: true }).isDisabled()).toBe(true);
  await other.goto(`${served.platform.server.url}/roles`);
  // In plain words; the text of Kubernetes is there on request.
  const refusal = other.getByRole("alert");
  await refusal.getByText("No role of ben includes this: List ClusterRoles.").waitFor();
  await refusal.getByText("The answer of the server").click();
  await refusal.getByText('User "ben" cannot list resource "clusterroles"').waitFor();
  // Without anything to show, a view is not offered, and says why where it is opened by its address.
  const views = other.getByRole("navigation");
  await views.getByRole("link", { name: "Users" }).waitFor();
  for (const name of ["Roles", "Identity providers", "Audit log"])
    expect([name, await views.getByRole("link", { name }).count()]).toEqual([name, 0]);
  await other.goto(`${served.platform.server.url}/audit`);
  await other.getByRole("heading", { name: "Only administrators can search the audit log." }).waitFor();
});
