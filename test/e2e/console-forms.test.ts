// The forms of the console in a real browser: what they say makes the object, what they change leaves the rest as it is, and refusals stand at
// the field that they are about.

import { generateKeyPairSync, sign } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryDirectory } from "@postern/platform/testing/temporary-directory";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { closeConsole, type ServedConsole, serveConsole } from "./testing/console.ts";
import { succeed, tool } from "./testing/postern-process.ts";

let served: ServedConsole;
let page: Page;
beforeAll(async () => {
  // A virtual cluster of the server plays the part of a cluster elsewhere.
  served = await serveConsole({
    "proxy-allowed-addresses": ["127.0.0.1/32"],
    "proxy-health-check-interval-seconds": "1",
  });
  const { platform } = served;
  await platform.create("users", { metadata: { name: "jane" }, spec: { displayName: "Jane" } });
  await platform.create("users", { metadata: { name: "shop-ci" }, spec: { kind: "Bot" } });
  page = await served.openAs(platform.adminKey, "/projects");
});
afterAll(() => closeConsole(served));

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
/** The text below a label such as "As a manifest". */
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
  await expect.poll(() => field("Name").inputValue()).toBe("the-shop");
  await choose("Owner", "User");
  await field("Name of the owner").fill("jane");
  await page.getByText("embedded", { exact: true }).click();
  await field("Virtual clusters (maximum)").fill("3");
  await page.getByText("kubectl create --filename the-shop.yaml").waitFor();
  const manifest = (await codeOf("As a manifest").textContent()) ?? "";
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

test("an error of the server is shown at its field, which gets the focus", async () => {
  await go("Projects");
  await follow("New project");
  await field("Display name").fill("Twin");
  await press("Create");
  await page.getByText("This name is taken. Choose another one.").waitFor();
  await field("Name").and(page.locator(":focus")).waitFor();
  await field("Name").fill("No name for the API");
  await press("Create");
  await page.locator(".field-error", { hasText: "Use lowercase letters, digits, hyphens and dots." }).waitFor();
  await page.getByText("Correct the marked fields.").waitFor();
  await expect.poll(() => field("Display name").inputValue()).toBe("Twin");
});

test("a change leaves what the form does not show, and a conflict is resolved with the current state", async () => {
  const { platform } = served;
  const members = [{ kind: "User", name: "jane", clusterRole: "postern:project-user" }];
  await platform.send({ method: "PATCH", path: "projects/twin", body: { spec: { members } } });
  await page.goto(`${platform.server.url}/projects/twin`);
  await follow("Edit");
  await page.getByText("No changes yet.").waitFor();
  await field("Description").fill("For the twins");
  const command = (await codeOf("As a command").textContent()) ?? "";
  // Another one was quicker.
  await platform.send({ method: "PATCH", path: "projects/twin", body: { spec: { displayName: "Twins" } } });
  await press("Save");
  await page.getByText("This object was changed since you opened the form.").waitFor();
  await press("Load the current state");
  await expect.poll(() => field("Display name").inputValue()).toBe("Twins");
  await field("Description").fill("For the twins");
  await expect.poll(() => codeOf("As a command").textContent()).toBe(command);
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
  await page
    .getByRole("dialog")
    .getByText("A new user with the same name does not get the permissions back.")
    .waitFor();
  await press("Delete", page.getByRole("dialog"));
  await title("Users");
  expect((await served.platform.send({ path: "users/deploy-bot" })).status).toBe(404);
});

test("a trust rule for the whole platform is created, and changed", async () => {
  await go("Trust rules");
  await follow("New trust rule");
  await field("Display name").fill("Shop pipeline");
  await field("User").fill("shop-ci");
  await page.locator("label", { hasText: /^demo/i }).click();
  // The preset requires a claim, which is there to be filled in.
  await expect.poll(() => field("Claim").inputValue()).toBe("repository_id");
  await press("Create");
  await page.locator(".field-error", { hasText: "must be a number" }).waitFor();
  await press("Remove repository_id");
  await press("Create");
  await page.locator(".field-error", { hasText: "repository_id" }).waitFor();
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
  await page.locator(".field-error", { hasText: /claims\.ref/ }).waitFor();
  await field("Expression").fill("claims.ref == 'refs/heads/main'");
  await press("Save");
  await title("Shop pipeline");
  expect(await specOf("clustertrustrules/shop-pipeline")).toMatchObject({
    claims: [{ claim: "repository_id", values: ["42", "43"] }],
    conditions: [{ expression: "claims.ref == 'refs/heads/main'" }],
    scope: { virtualClusters: [{ project: "default", virtualCluster: "demo" }] },
  });
});

test("a trust rule of a project gives access to the project, and is deleted", async () => {
  await go("Trust rules");
  await follow("New trust rule");
  await field("Display name").fill("Of the twins");
  await choose("Where", "Project twin");
  await choose("Issuer", "GitLab CI");
  await expect.poll(() => field("Claim").inputValue()).toBe("project_id");
  await field("Value").fill("7");
  await field("User").fill("shop-ci");
  await press("Create");
  await title("Of the twins");
  await page.getByText("Project twin", { exact: true }).first().waitFor();
  const script = codeOf(".gitlab-ci.yml");
  expect(await script.textContent()).toContain(`postern ci login --project twin --rule of-the-twins`);
  expect(await script.textContent()).toContain(`aud: ${served.platform.server.url}`);
  await choose("CI system", "GitHub Actions");
  await codeOf(".github/workflows/deploy.yml").getByText("id-token: write").waitFor();
  const path = "namespaces/p-twin/trustrules/of-the-twins";
  const spec = await specOf(path);
  expect(spec).toMatchObject({ issuer: { preset: "gitlab" }, user: "shop-ci" });
  expect(spec).not.toHaveProperty("scope");
  await press("Delete");
  await page.getByRole("dialog").getByText("jobs that rely on it fail").waitFor();
  await press("Delete", page.getByRole("dialog"));
  await title("Trust rules");
  expect((await served.platform.send({ path })).status).toBe(404);
});

test.each([
  ["CircleCI", { url: "https://oidc.circleci.com/org/0d5c", audience: "0d5c", claim: "oidc.circleci.com/project-id" }],
  ["HCP Terraform", { url: "https://app.terraform.io", audience: undefined, claim: "terraform_workspace_id" }],
])("a trust rule for %s is created, and opened again as one", async (system, { url, audience, claim }) => {
  const { platform } = served;
  await page.goto(`${platform.server.url}/new/trust-rule`);
  await field("Name").fill("of-system");
  await choose("Issuer", system);
  await expect.poll(() => field("Claim").inputValue()).toBe(claim);
  if (audience === undefined) await expect.poll(() => field("Issuer URL").inputValue()).toBe(url);
  else {
    await field("Issuer URL").fill(url);
    await field("Audiences").fill(audience);
  }
  await field("User").fill("shop-ci");
  await page.locator("label", { hasText: /^demo/i }).click();
  await field("Value").fill("ws-mbsd5E3Ktt5Rg2Xm");
  await press("Create");
  await title("of-system");
  const spec = await specOf("clustertrustrules/of-system");
  expect(spec).toMatchObject({
    issuer: { url },
    audiences: [audience ?? platform.server.url],
    claims: [{ claim, values: ["ws-mbsd5E3Ktt5Rg2Xm"] }],
  });
  expect(spec.issuer).not.toHaveProperty("preset");
  await codeOf("deploy.sh").getByText('eval "$(postern ci login --rule of-system)"').waitFor();
  await follow("Edit");
  await page.getByRole("button", { name: `${system} Issuer` }).waitFor();
  await page.getByText("No changes yet.").waitFor();
  await platform.send({ method: "DELETE", path: "clustertrustrules/of-system" });
});

test("the secret of a provider is written and not read, and fields say what they need", async () => {
  await go("Identity providers");
  await follow("New identity provider");
  const row = (label: string) => page.locator(".label-row").filter({ hasText: label });
  await row("Client ID").getByText("required").waitFor();
  await expect.poll(() => row("Display name").getByText("required").count()).toBe(0);
  await page.getByText("Name a Secret and its namespace, to set the value here.").waitFor();
  await field("Name").fill("written");
  await field("Issuer URL").fill("https://127.0.0.1:1");
  await field("Client ID").fill("console");
  await field("Namespace").fill("provider-secrets");
  await field("Name of the Secret").fill("written");
  await page.getByText("Client secret is not set").waitFor();
  await press("Set client secret");
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Client secret", { exact: true }).fill("confidential-7c1");
  await press("Save", dialog);
  await page.getByText("Client secret is set").waitFor();
  const secret = (await served.platform.send({ path: "/api/v1/namespaces/provider-secrets/secrets/written" })).body;
  expect(Buffer.from(secret.data.clientSecret, "base64").toString()).toBe("confidential-7c1");
  await press("Create");
  await page.getByRole("heading", { name: "written" }).waitFor();
  await page.getByText("Client secret is set").waitFor();
  expect(await page.content()).not.toContain("confidential-7c1");

  await page.goto(`${served.platform.server.url}/new/project`);
  const bytes = page.locator(".field").filter({ hasText: "Bytes per virtual cluster" });
  await bytes.getByText("such as 64Mi or 1Gi, of each built-in virtual cluster. Default: 512Mi.").waitFor();
});

test("a provider requires a second factor and a recent sign-in, and its page says so", async () => {
  await served.platform.create("identityproviders", {
    metadata: { name: "stepped" },
    spec: {
      issuer: { url: "https://127.0.0.1:1" },
      clientId: "console",
      claimMappings: { username: { claim: "sub" } },
      // The form has no such choice.
      requiredAuthentication: { maxAge: 7_777 },
    },
  });
  const required = async () => (await specOf("identityproviders/stepped")).requiredAuthentication;
  const edit = () => page.goto(`${served.platform.server.url}/identity-providers/stepped/edit`);
  await edit();
  await field("Required authentication (acr)").fill("mfa\na b");
  await press("Save");
  await page
    .locator(".field", { has: field("Required authentication (acr)") })
    .locator(".field-error")
    .waitFor();
  await field("Required authentication (acr)").fill("mfa\nphr\n");
  await press("Save");
  await page.getByText("mfa, phr", { exact: true }).waitFor();
  expect(await required()).toEqual({ acrValues: ["mfa", "phr"], maxAge: 7_777 });
  await edit();
  await choose("Credentials entered within", "5 minutes");
  await press("Save");
  await page.getByRole("heading", { level: 1, name: "Identity providers" }).waitFor();
  expect(await required()).toEqual({ acrValues: ["mfa", "phr"], maxAge: 300 });
  await edit();
  await field("Required authentication (acr)").fill("");
  await choose("Credentials entered within", "no limit");
  await press("Save");
  await page.getByRole("heading", { level: 1, name: "Identity providers" }).waitFor();
  expect(await required()).toBeUndefined();
});

test("the commands on the page of a trust rule exchange a token for a key", async () => {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  const jwks = JSON.stringify({
    keys: [{ ...publicKey.export({ format: "jwk" }), kid: "1", use: "sig", alg: "RS256" }],
  });
  await served.platform.create("clustertrustrules", {
    metadata: { name: "copied" },
    spec: {
      issuer: { url: "https://issuer.test", jwks },
      audiences: ["own audience"],
      claims: [{ claim: "sub", values: ["job"] }],
      user: "shop-ci",
      scope: { virtualClusters: [{ project: "default", virtualCluster: "demo" }] },
    },
  });
  await page.goto(`${served.platform.server.url}/trust/-/copied`);
  await codeOf("login.sh").getByText("--cacert ca.crt").waitFor();
  const script = (await codeOf("login.sh").textContent()) ?? "";
  expect(script).toContain("# TOKEN is a token with the audience own audience");
  const saving = page.waitForEvent("download");
  await press("ca.crt");
  // The answer has a key: it is written to a file, and not printed.
  await using folder = await temporaryDirectory();
  const files = join(folder.path, "reader");
  await (await saving).saveAs(join(files, "ca.crt"));
  const now = Math.floor(Date.now() / 1_000);
  const claims = { iss: "https://issuer.test", aud: "own audience", sub: "job", iat: now, exp: now + 300 };
  const content = [{ alg: "RS256", kid: "1" }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
    .join(".");
  const token = `${content}.${sign("sha256", Buffer.from(content), privateKey).toString("base64url")}`;
  await succeed(tool("bash", ["-c", `cd "$0" && TOKEN="$1" && (\n${script}) > answer.key`, files, token]));
  const answer = JSON.parse(await readFile(join(files, "answer.key"), "utf8"));
  const path = "namespaces/p-default/virtualclusterinstances/demo";
  expect((await served.platform.send({ path, key: answer.access_token })).status).not.toBe(401);
});

/** A kubeconfig of the virtual cluster that is there from the start, of an administrator of it. */
async function adminConfig(): Promise<string> {
  const { body } = await served.platform.send({
    path: "namespaces/p-default/virtualclusterinstances/demo/kubeconfig",
    body: { spec: { clientCert: true } },
  });
  return body.status.kubeConfig;
}

test("a cluster is connected, with its kubeconfig pasted into the page, and allowed for a project", async () => {
  await go("Host clusters");
  await page.getByRole("row", { name: /Built-in cluster/ }).waitFor();
  await follow("Connect cluster");
  await field("Display name").fill("EU West");
  await page.getByText("This server connects with a kubeconfig").click();
  await press("Create");
  await title("EU West");
  expect(await specOf("clusters/eu-west")).toMatchObject({
    displayName: "EU West",
    kubeConfigRef: { secretNamespace: "clusters", secretName: "eu-west" },
  });
  await page.locator(".description-list .badge", { hasText: "Connected" }).waitFor({ state: "detached" });
  await press("Set kubeconfig");
  const dialog = page.getByRole("dialog");
  await dialog.getByText("--namespace clusters --from-file=config=admin.conf").waitFor();
  await dialog.getByLabel("Kubeconfig", { exact: true }).fill(await adminConfig());
  await press("Save", dialog);
  await dialog.waitFor({ state: "detached" });
  await page.locator(".description-list .badge", { hasText: "Connected" }).waitFor();

  await go("Projects");
  await follow("The Shop");
  await follow("Edit");
  await page.getByText("eu-west", { exact: true }).click();
  await press("Save");
  await title("The Shop");
  await go("Host clusters");
  await follow("EU West");
  await page.getByRole("main").getByRole("link", { name: "The Shop" }).waitFor();
  // Offered where a virtual cluster is placed.
  await page.goto(`${served.platform.server.url}/new/virtual-cluster?project=the-shop`);
  await page.getByRole("button", { name: "Runs in" }).click();
  await page.getByRole("option", { name: "EU West", exact: true }).waitFor();
  await page.keyboard.press("Escape");

  await go("Host clusters");
  await follow("EU West");
  await follow("Edit");
  await page.getByText("Closed to new virtual clusters").click();
  await press("Save");
  await page.locator(".description-list").getByText("Closed to new virtual clusters").waitFor();
  expect((await specOf("clusters/eu-west")).usable).toBe(false);
  await press("Delete");
  await dialog.getByText("The cluster itself is left as it is.").waitFor();
  await press("Delete", dialog);
  await title("Host clusters");
  expect((await served.platform.send({ path: "clusters/eu-west" })).status).toBe(404);
});

test("an existing cluster becomes a virtual cluster of a project, and kubectl reaches it", async () => {
  await page.goto(`${served.platform.server.url}/new/virtual-cluster?project=the-shop`);
  await field("Display name").fill("Production");
  await choose("Runs in", "An existing cluster (external)");
  await press("Create");
  await title("the-shop / Production");
  await press("Set kubeconfig");
  const dialog = page.getByRole("dialog");
  // From a file, as the administrator of a cluster has it.
  await dialog
    .getByLabel("File")
    .setInputFiles({ name: "admin.conf", mimeType: "text/plain", buffer: Buffer.from(await adminConfig()) });
  await press("Save", dialog);
  await page.locator(".description-list .badge", { hasText: "Ready" }).waitFor();
  await press("Get kubeconfig");
  await press("Create kubeconfig", dialog);
  const saving = page.waitForEvent("download");
  await press("Download", dialog);
  const text = await readFile(await (await saving).path(), "utf8");
  await press("Done", dialog);
  // Through the platform, whose tokens the cluster itself does not know.
  const { url } = served.platform.server;
  expect(text).toContain(`server: ${url}/kubernetes/project/the-shop/virtualcluster/production\n`);
  const path = join(served.platform.directory, "production.kubeconfig");
  await writeFile(path, text, { mode: 0o600 });
  const { stdout } = await tool("kubectl", ["--kubeconfig", path, "get", "namespaces", "--output", "name"]);
  expect(stdout).toContain("namespace/default");
});

test.each(["virtual-cluster", "kubeconfig-generator"])(
  "a new %s needs the choice of one of several projects",
  async (kind) => {
    await page.goto(`${served.platform.server.url}/new/${kind}`);
    await field("Name").fill("chosen");
    await press("Create");
    await page.locator(".field-error", { hasText: "Choose a project" }).waitFor();
    const choice = page.getByRole("button", { name: "Choose a project" });
    await choice.and(page.locator(":focus")).waitFor();
    await choice.click();
    await page.getByRole("option", { name: /^default\b/i }).click();
    await press("Create");
    await page.getByRole("heading", { level: 1, name: /chosen$/ }).waitFor();
  },
);

test("a role is created, given to a user, changed and taken away, as kubectl sees it", async () => {
  const mayList = async () => (await run("kubectl auth can-i list clusterroles --as jane").catch(() => "no\n")).trim();
  await go("Roles");
  await follow("New role");
  await field("Name").fill("role-reader");
  await field("Verbs").first().fill("get, list");
  await field("Resources").fill("clusterroles");
  await field("API groups").fill("rbac.authorization.k8s.io");
  await page.getByText("kubectl create --filename role-reader.yaml").waitFor();
  await press("Create");
  await title("role-reader");
  const { body } = await served.platform.send({
    path: "/apis/rbac.authorization.k8s.io/v1/clusterroles/role-reader",
  });
  expect(body.rules).toEqual([
    { apiGroups: ["rbac.authorization.k8s.io"], resources: ["clusterroles"], verbs: ["get", "list"] },
  ]);
  expect(await mayList()).toBe("no");
  await press("Grant on the whole platform");
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("nobody");
  await press("Add", dialog);
  await dialog.getByText('"nobody" not found').waitFor();
  await dialog.getByLabel("Name").fill("jane");
  await press("Add", dialog);
  await page.getByText("User jane", { exact: true }).waitFor();
  expect(await mayList()).toBe("yes");

  await follow("Copy as new role");
  await field("Name").fill("role-reader-2");
  await press("Create");
  await title("role-reader-2");
  const copy = await served.platform.send({ path: "/apis/rbac.authorization.k8s.io/v1/clusterroles/role-reader-2" });
  expect(copy.body.rules).toEqual(body.rules);
  await press("Delete");
  await press("Delete", dialog);
  await title("Roles");
  await follow("role-reader");

  await follow("Edit");
  await press("Add rule");
  await field("Verbs").nth(1).fill("*");
  await field("Resources").nth(1).fill("configmaps");
  await press("Add path");
  await field("Verbs").nth(2).fill("get");
  await field("Paths").fill("/metrics");
  await press("Save");
  await title("role-reader");
  const changed = await served.platform.send({
    path: "/apis/rbac.authorization.k8s.io/v1/clusterroles/role-reader",
  });
  expect(changed.body.rules).toEqual([
    { apiGroups: ["rbac.authorization.k8s.io"], resources: ["clusterroles"], verbs: ["get", "list"] },
    { apiGroups: [""], resources: ["configmaps"], verbs: ["*"] },
    { nonResourceURLs: ["/metrics"], verbs: ["get"] },
  ]);
  await press("Remove User jane");
  await press("Remove", dialog);
  await page.getByText("User jane", { exact: true }).waitFor({ state: "detached" });
  expect(await mayList()).toBe("no");
  await press("Delete");
  await press("Delete", dialog);
  await title("Roles");
});

test("a team is created", async () => {
  await go("Teams");
  await follow("New team");
  await field("Display name").fill("Core");
  await press("Create");
  await title("Core");
  expect(await specOf("teams/core")).toMatchObject({ displayName: "Core" });
});

test("a user without permission sees the reason, and no link to the form", async () => {
  const { platform } = served;
  const { spec } = await platform.create("ownedaccesskeys", { metadata: { name: "janes" }, spec: { user: "jane" } });
  const hers = await served.openAs(spec.key, "/users");
  await hers.getByRole("link", { name: "Jane" }).first().waitFor();
  await expect.poll(() => hers.getByRole("link", { name: "New user" }).count()).toBe(0);
  await hers.goto(`${platform.server.url}/new/user`);
  await hers.locator(".notice.warn").waitFor();
  await expect.poll(() => hers.getByRole("button", { name: "Create" }).isDisabled()).toBe(true);
  await hers.context().close();
});
