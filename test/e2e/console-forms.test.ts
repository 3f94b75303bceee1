// The forms of the console in a real browser: what they say makes the object, what they change leaves the rest as it is, and refusals stand at
// the field that they are about.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ServedConsole, serveConsole } from "./testing/console.ts";
import { tool } from "./testing/postern-process.ts";

let served: ServedConsole;
let page: Page;
beforeAll(async () => {
  served = await serveConsole();
  const { platform } = served;
  await platform.create("users", { metadata: { name: "jane" }, spec: { displayName: "Jane" } });
  await platform.create("users", { metadata: { name: "shop-ci" }, spec: { kind: "Bot" } });
  page = await served.openAs(platform.adminKey, "/projects");
});
afterAll(async () => {
  const faults = served?.faults;
  await served?.[Symbol.asyncDispose]();
  expect(faults).toEqual([]);
});

const go = (place: string) => page.getByRole("navigation").getByRole("link", { name: place, exact: true }).click();
const press = (name: string, where: Page | Locator = page) => where.getByRole("button", { name, exact: true }).click();
const follow = (name: string) => page.getByRole("main").getByRole("link", { name, exact: true }).click();
const title = (name: string) => page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
const field = (label: string) => page.getByLabel(label, { exact: true });
const specOf = async (path: string) => (await served.platform.send({ path })).body.spec;
async function choose(label: string, option: string): Promise<void> {
  await page.getByRole("button", { name: label }).click();
  await page.getByRole("option", { name: option, exact: true }).click();
}
/** The text below a label such as "The same as a manifest". */
const codeOf = (label: string) => page.getByRole("figure").filter({ hasText: label }).locator("code");
/** Runs what stands in the form, as a person would after copying it. */
async function run(command: string): Promise<string> {
  const kubeconfig = served.platform.server.adminKubeconfigPath;
  const { stdout } = await tool("bash", [
    "-c",
    `cd "$0" && KUBECONFIG="$1" ${command}`,
    served.platform.directory,
    kubeconfig,
  ]);
  return stdout;
}

test("a project is created, and its manifest and command make the same", async () => {
  await follow("New project");
  await field("Display name").fill("The Shop");
  expect(await field("Name").inputValue()).toBe("the-shop");
  await choose("Owner", "User");
  await field("Name of the owner").fill("jane");
  await page.getByText("embedded", { exact: true }).click();
  await field("Virtual clusters at most").fill("3");
  await page.getByText("kubectl create --filename the-shop.yaml").waitFor();
  const manifest = (await codeOf("The same as a manifest").textContent()) ?? "";
  await press("Create");
  await title("The Shop");
  const spec = await specOf("projects/the-shop");
  expect(spec).toMatchObject({
    displayName: "The Shop",
    owner: { user: "jane" },
    allowedClusters: [{ name: "embedded" }],
    quotas: { project: { virtualclusterinstances: "3" } },
  });
  await writeFile(join(served.platform.directory, "twin.yaml"), manifest.replaceAll("the-shop", "twin"));
  await run("kubectl create --filename twin.yaml");
  expect(await specOf("projects/twin")).toEqual(spec);
});

test("what the server refuses stands at its field, which gets the focus", async () => {
  await go("Projects");
  await follow("New project");
  await field("Display name").fill("Twin");
  await press("Create");
  await page.getByText(/projects.* "twin" already exists/).waitFor();
  await field("Name").and(page.locator(":focus")).waitFor();
  await field("Name").fill("No name for the API");
  await press("Create");
  await page.locator(".fault", { hasText: "RFC 1123" }).waitFor();
  await page.getByText("Correct the marked fields.").waitFor();
  expect(await field("Display name").inputValue()).toBe("Twin");
});

test("a change leaves what the form does not show, and a conflict is resolved with the current state", async () => {
  const { platform } = served;
  const members = [{ kind: "User", name: "jane", clusterRole: "postern:project-user" }];
  await platform.send({ method: "PATCH", path: "projects/twin", body: { spec: { members } } });
  await page.goto(`${platform.server.url}/projects/twin`);
  await follow("Edit");
  await page.getByText("Nothing is changed yet.").waitFor();
  await field("Description").fill("For the twins");
  const command = (await codeOf("The same on the command line").textContent()) ?? "";
  // Another one was quicker.
  await platform.send({ method: "PATCH", path: "projects/twin", body: { spec: { displayName: "Twins" } } });
  await press("Save");
  await page.getByText("This was changed elsewhere since you opened the form.").waitFor();
  await press("Load the current state");
  await expect.poll(() => field("Display name").inputValue()).toBe("Twins");
  await field("Description").fill("For the twins");
  expect(await codeOf("The same on the command line").textContent()).toBe(command);
  await press("Save");
  await title("Twins");
  const spec = await specOf("projects/twin");
  expect(spec).toMatchObject({ displayName: "Twins", description: "For the twins", members });
  // The command is the same change.
  await platform.send({ method: "PATCH", path: "projects/twin", body: { spec: { description: null } } });
  await run(command);
  expect(await specOf("projects/twin")).toEqual(spec);
});

test("a user is created, changed and deleted", async () => {
  await go("Users");
  await follow("New user");
  await page.locator("label", { hasText: "A program:" }).click();
  await field("Display name").fill("Deploy bot");
  await field("Groups").fill("bots\ndeployers\n");
  await press("Create");
  await title("Deploy bot");
  expect(await specOf("users/deploy-bot")).toMatchObject({ kind: "Bot", groups: ["bots", "deployers"] });
  await follow("Edit");
  await field("Groups").fill("bots");
  await press("Save");
  await title("Deploy bot");
  expect((await specOf("users/deploy-bot")).groups).toEqual(["bots"]);
  await press("Delete");
  await page.getByRole("dialog").getByText("A new user of the same name gets none of the permissions back.").waitFor();
  await press("Delete", page.getByRole("dialog"));
  await title("Users");
  expect((await served.platform.send({ path: "users/deploy-bot" })).status).toBe(404);
});

test("a trust rule for the whole platform is created, and changed", async () => {
  await go("Trust rules");
  await follow("New trust rule");
  await field("Display name").fill("Shop pipeline");
  await field("User").or(field("For the user")).fill("shop-ci");
  await page.locator("label", { hasText: /^demo/i }).click();
  // The preset requires a claim.
  await press("Create");
  await page.locator(".fault", { hasText: "repository_id" }).waitFor();
  await press("Add claim");
  await field("Claim").fill("repository_id");
  await field("Value").fill("42");
  await press("Create");
  await title("Shop pipeline");
  expect(await specOf("clustertrustrules/shop-pipeline")).toMatchObject({
    issuer: { preset: "github" },
    audiences: [served.platform.server.url],
    claims: [{ claim: "repository_id", values: ["42"] }],
    user: "shop-ci",
    scope: { virtualClusters: [{ project: "default", virtualCluster: "demo" }] },
  });
  await follow("Edit");
  await press("Add claim");
  await field("Claim").nth(1).fill("repository_id");
  await field("Value").nth(1).fill("43");
  await press("Add condition");
  await field("Expression").fill("claims.ref == ");
  await press("Save");
  await page.locator(".fault", { hasText: /claims\.ref/ }).waitFor();
  await field("Expression").fill("claims.ref == 'refs/heads/main'");
  await press("Save");
  await title("Shop pipeline");
  expect(await specOf("clustertrustrules/shop-pipeline")).toMatchObject({
    claims: [{ claim: "repository_id", values: ["42", "43"] }],
    conditions: [{ expression: "claims.ref == 'refs/heads/main'" }],
    scope: { virtualClusters: [{ project: "default", virtualCluster: "demo" }] },
  });
});

test("a trust rule of a project opens that project, and is deleted", async () => {
  await go("Trust rules");
  await follow("New trust rule");
  await field("Display name").fill("Of the twins");
  await choose("Where", "project twin");
  await choose("Issuer", "GitLab CI");
  await press("Add claim");
  await field("Claim").fill("project_id");
  await field("Value").fill("7");
  await field("For the user").fill("shop-ci");
  await press("Create");
  await title("Of the twins");
  await page.getByText("project twin", { exact: true }).first().waitFor();
  const path = "namespaces/p-twin/trustrules/of-the-twins";
  const spec = await specOf(path);
  expect(spec).toMatchObject({ issuer: { preset: "gitlab" }, user: "shop-ci" });
  expect(spec).not.toHaveProperty("scope");
  await press("Delete");
  await page.getByRole("dialog").getByText("jobs that rely on the rule fail").waitFor();
  await press("Delete", page.getByRole("dialog"));
  await title("Trust rules");
  expect((await served.platform.send({ path })).status).toBe(404);
});

test("a team is created", async () => {
  await go("Teams");
  await follow("New team");
  await field("Display name").fill("Core");
  await press("Create");
  await title("Core");
  expect(await specOf("teams/core")).toMatchObject({ displayName: "Core" });
});

test("somebody without the right is told why, and shown no way to it", async () => {
  const { platform } = served;
  const { spec } = await platform.create("ownedaccesskeys", { metadata: { name: "janes" }, spec: { user: "jane" } });
  const hers = await served.openAs(spec.key, "/users");
  await hers.getByRole("link", { name: "Jane" }).first().waitFor();
  expect(await hers.getByRole("link", { name: "New user" }).count()).toBe(0);
  await hers.goto(`${platform.server.url}/new/user`);
  await hers.locator(".notice.warn").waitFor();
  expect(await hers.getByRole("button", { name: "Create" }).isDisabled()).toBe(true);
  await hers.context().close();
});
