// The main job of each page of the console, done as a person does it, with the API asked afterwards: at four widths in both themes, on a server that has
// just started, with a company on it and with ten thousand rows in each list, and with the keyboard alone.

import type { startPlatform } from "@postern/platform/testing/running-platform";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { closeConsole, type ServedConsole, serveConsole } from "./testing/console.ts";
import { routesIn } from "./testing/console-views.ts";
import { type Hands, keyboardOf, mouseOf } from "./testing/hands.ts";
import { lengthenLists } from "./testing/long-lists.ts";
import { simulateTenants } from "./testing/simulated-tenants.ts";

const TENANTS = 50;
const HEIGHT = 900;
const ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
const BINDINGS = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
const IN_DEFAULT = "namespaces/p-default";

type Platform = Awaited<ReturnType<typeof startPlatform>>;

class Job {
  readonly page: Page;
  readonly hands: Hands;
  readonly platform: Platform;
  /** The name of what the job is about: no other job has it. */
  readonly name: string;

  constructor(page: Page, hands: Hands, platform: Platform, name: string) {
    this.page = page;
    this.hands = hands;
    this.platform = platform;
    this.name = name;
  }

  open = (path: string) => this.page.goto(this.platform.server.url + path);
  title = (text: string) => this.page.getByRole("heading", { level: 1, name: text, exact: true }).waitFor();
  #inFront = () => this.page.getByRole("dialog").or(this.page.getByRole("main")).last();
  button = (label: string | RegExp) => this.#inFront().getByRole("button", { name: label, exact: true });
  link = (label: string | RegExp) => this.page.getByRole("main").getByRole("link", { name: label, exact: true });
  field = (label: string) => this.#inFront().getByLabel(label, { exact: true });
  press = (label: string | RegExp) => this.hands.press(this.button(label));
  /** In the dialog that is asked after `press`. */
  async confirm(label: string): Promise<void> {
    const dialog = this.page.getByRole("dialog");
    await this.hands.press(dialog.getByRole("button", { name: label, exact: true }));
    await dialog.waitFor({ state: "detached" });
  }
  follow = (label: string) => this.hands.press(this.link(label).first());
  type = (label: string, text: string) => this.hands.type(this.field(label).first(), text);
  check = (label: string | RegExp) =>
    this.hands.check(
      this.#inFront()
        .getByRole("checkbox", { name: label })
        .or(this.#inFront().getByRole("radio", { name: label })),
    );
  choose = (label: string, option: string) => this.hands.choose(this.button(new RegExp(`${label}$`)), option);
  /** In a list: by its search, and on to its page. */
  async find(search: string): Promise<void> {
    await this.type(search, this.name);
    await this.hands.press(this.page.locator("tbody .row-link").filter({ hasText: this.name }).first());
    await this.page.getByRole("heading", { level: 1, name: this.name }).waitFor();
  }

  make = (path: string, spec: object = {}) => this.platform.create(path, { metadata: { name: this.name }, spec });
  get = async (path: string): Promise<any> => (await this.platform.send({ path })).body;
  codeOf = async (path: string, key?: string): Promise<number> =>
    (await this.platform.send({ path, ...(key === undefined ? {} : { key }) })).status;
}

/** A form of a new object: `fill` types what it needs beside the name. */
const creates =
  (at: string, path: string, fill: (job: Job) => Promise<void> = async () => {}) =>
  async (job: Job): Promise<void> => {
    await job.open(at);
    await job.type("Display name", job.name);
    await fill(job);
    await job.press("Create");
    await job.page.waitForURL((url) => !url.pathname.startsWith("/new/"));
    expect((await job.get(`${path}/${job.name}`)).spec).toMatchObject({ displayName: job.name });
  };

/** A form of an object: its description is changed. */
const changes =
  (path: string, viewOf: (name: string) => string, specOf: (name: string) => object = () => ({})) =>
  async (job: Job): Promise<void> => {
    const spec = specOf(job.name);
    await job.make(path, spec);
    await job.open(`${viewOf(job.name)}/edit`);
    await job.type("Description", `Of ${job.name}`);
    await job.press("Save");
    await job.page.waitForURL((url) => !url.pathname.endsWith("/edit"));
    expect((await job.get(`${path}/${job.name}`)).spec).toMatchObject({ ...spec, description: `Of ${job.name}` });
  };

/** A list: one of its objects is found by its name, and opened. */
const finds =
  (at: string, path: string, search: string, specOf: (name: string) => object = () => ({})) =>
  async (job: Job): Promise<void> => {
    await job.make(path, specOf(job.name));
    await job.open(at);
    await job.find(search);
    expect(await job.codeOf(`${path}/${job.name}`)).toBe(200);
  };

const RULE = {
  issuer: { preset: "github" },
  audiences: ["postern"],
  claims: [{ claim: "repository_id", values: ["42"] }],
  user: "admin",
  scope: { projects: [{ project: "default" }] },
};
/** Never reached: its port is closed. */
const PROVIDER = {
  issuer: { url: "https://127.0.0.1:1" },
  clientId: "console",
  clientAuthentication: "PrivateKeyJWT",
  claimMappings: { username: { claim: "sub" } },
};
const AGENT = { networkPeer: true };
/** Its Secret has its own name. */
const generatorOf = (name: string) => ({ selector: {}, role: "view", secretRef: { name } });
const ASKED = {
  policy: { name: "on-call" },
  target: { project: "default" },
  role: "postern:project-user",
  durationSeconds: 600,
  reason: "The queue is full.",
};

/** By route, as the router names it. */
const JOBS: { readonly [route: string]: (job: Job) => Promise<void> } = {
  async "/"(job) {
    const { spec } = await job.make("ownedaccesskeys", { user: "jobs" });
    expect(await job.codeOf("clustertrustrules", spec.key)).toBe(403);
    await job.open("/");
    await job.hands.press(job.link(/refused in the last hour$/));
    // The newest record is the first; earlier runs have left some as well.
    await job.hands.press(job.button("List trust rules").first());
    await job.page
      .getByRole("dialog")
      .getByText(/cannot list resource "clustertrustrules"/)
      .waitFor();
  },
  async "/keys"(job) {
    const { spec } = await job.make("ownedaccesskeys");
    await job.open("/keys");
    await job.type("Search name, owner or description", job.name);
    await job.check(`Select ${job.name}`);
    await job.press("Revoke");
    await job.confirm("Revoke");
    expect(await job.codeOf("projects", spec.key)).toBe(401);
  },
  async "/keys/$name"(job) {
    const { spec } = await job.make("ownedaccesskeys");
    await job.open(`/keys/${job.name}`);
    await job.press("Delete");
    await job.confirm("Delete key");
    await job.title("Access keys");
    expect(await job.codeOf("projects", spec.key)).toBe(401);
  },
  async "/new/key"(job) {
    await job.open("/new/key");
    await job.check(/^CI for one cluster/);
    await job.type("What is it for?", job.name);
    await job.choose("Virtual cluster", "default / demo");
    await job.press("Create access key");
    const value = (await job.page.getByTestId("secret-value").textContent()) ?? "";
    expect(await job.codeOf(`${IN_DEFAULT}/virtualclusterinstances/demo`, value)).toBe(200);
    expect(await job.codeOf("clustertrustrules", value)).toBe(403);
    await job.press("I have stored it");
    await job.title(job.name);
  },
  async "/keys/$name/edit"(job) {
    await job.make("ownedaccesskeys");
    await job.open(`/keys/${job.name}/edit`);
    await job.type("Description", "For the night");
    await job.press("Save");
    await job.title(job.name);
    expect((await job.get(`ownedaccesskeys/${job.name}`)).spec.description).toBe("For the night");
  },
  async "/clusters"(job) {
    await job.make(`${IN_DEFAULT}/virtualclusterinstances`);
    await job.open("/clusters");
    await job.type("Search name or project", job.name);
    await job.press(`Kubeconfig for ${job.name}`);
    await job.press("Create kubeconfig");
    const saving = job.page.waitForEvent("download");
    await job.press("Download");
    const text = await textOf(await saving);
    const inside = `/kubernetes/project/default/virtualcluster/${job.name}/api/v1/namespaces`;
    expect(await job.codeOf(inside, /token: (\S+)/.exec(text)?.[1] ?? "")).toBe(200);
    await job.press("Done");
  },
  async "/clusters/$project/$name"(job) {
    const path = `${IN_DEFAULT}/virtualclusterinstances`;
    await job.make(path);
    await job.open(`/clusters/default/${job.name}`);
    await job.press("Put to sleep");
    await job.confirm("Put to sleep");
    await job.button("Wake up").waitFor();
    expect((await job.get(`${path}/${job.name}`)).status.phase).toBe("Sleeping");
  },
  "/clusters/$project/$name/edit": changes(
    `${IN_DEFAULT}/virtualclusterinstances`,
    (name) => `/clusters/default/${name}`,
  ),
  "/new/virtual-cluster": creates("/new/virtual-cluster?project=default", `${IN_DEFAULT}/virtualclusterinstances`),
  "/kubeconfig-generators": finds(
    "/kubeconfig-generators",
    `${IN_DEFAULT}/kubeconfiggenerators`,
    "Search name, project, Secret or creator",
    generatorOf,
  ),
  async "/kubeconfig-generators/$project/$name"(job) {
    const path = `${IN_DEFAULT}/kubeconfiggenerators`;
    await job.make(path, generatorOf(job.name));
    await job.open(`/kubeconfig-generators/default/${job.name}`);
    await job.press("Delete");
    await job.confirm("Delete");
    await expect.poll(() => job.codeOf(`${path}/${job.name}`)).toBe(404);
  },
  "/kubeconfig-generators/$project/$name/edit": changes(
    `${IN_DEFAULT}/kubeconfiggenerators`,
    (name) => `/kubeconfig-generators/default/${name}`,
    generatorOf,
  ),
  "/new/kubeconfig-generator": creates(
    "/new/kubeconfig-generator?project=default",
    `${IN_DEFAULT}/kubeconfiggenerators`,
  ),
  "/host-clusters": finds("/host-clusters", "clusters", "Search name", () => AGENT),
  async "/host-clusters/$name"(job) {
    await job.make("clusters", AGENT);
    await job.open(`/host-clusters/${job.name}`);
    await job.press("Connect agent");
    await job.press("Make command");
    await job.page.getByRole("dialog").getByText("It works once. Unused, it expires").waitFor();
    const { items } = await job.get(`/audit/events?object=clusters/${job.name}&changes=true`);
    expect(items[0]).toMatchObject({
      verb: "create",
      object: `clusters.management.postern/${job.name}/join`,
      code: 201,
    });
  },
  "/host-clusters/$name/edit": changes(
    "clusters",
    (name) => `/host-clusters/${name}`,
    () => AGENT,
  ),
  "/new/host-cluster": creates("/new/host-cluster", "clusters"),
  "/projects": finds("/projects", "projects", "Search name"),
  async "/projects/$name"(job) {
    await job.make("projects");
    await job.open(`/projects/${job.name}`);
    await job.press("Add member");
    await job.type("Name", "jobs");
    await job.choose("Role", "Project viewer");
    await job.confirm("Add");
    await job.link("jobs").first().waitFor();
    expect((await job.get(`projects/${job.name}`)).spec.members).toMatchObject([
      { kind: "User", name: "jobs", clusterRole: "postern:project-viewer" },
    ]);
  },
  "/projects/$name/edit": changes("projects", (name) => `/projects/${name}`),
  "/new/project": creates("/new/project", "projects"),
  "/users": finds("/users", "users", "Search name or e-mail"),
  async "/users/$name"(job) {
    await job.make("users");
    const key = { metadata: { name: `of-${job.name}` }, spec: { user: job.name } };
    const { spec } = await job.platform.create("ownedaccesskeys", key);
    await job.open(`/users/${job.name}`);
    await job.press("Lock");
    await job.confirm("Lock");
    await job.button("Unlock").waitFor();
    expect(await job.codeOf("projects", spec.key)).toBe(401);
  },
  async "/users/$name/edit"(job) {
    await job.make("users");
    await job.open(`/users/${job.name}/edit`);
    await job.type("Groups", "deployers");
    await job.press("Save");
    await job.title(job.name);
    expect((await job.get(`users/${job.name}`)).spec.groups).toEqual(["deployers"]);
  },
  "/new/user": creates("/new/user", "users"),
  "/teams": finds("/teams", "teams", "Search name or member"),
  async "/teams/$name"(job) {
    await job.make("teams");
    await job.open(`/teams/${job.name}`);
    await job.press("Add user");
    await job.type("Name", "jobs");
    await job.confirm("Add");
    await job.link("jobs").first().waitFor();
    expect((await job.get(`teams/${job.name}`)).spec.users).toEqual(["jobs"]);
  },
  "/teams/$name/edit": changes("teams", (name) => `/teams/${name}`),
  "/new/team": creates("/new/team", "teams"),
  async "/roles"(job) {
    await makeRole(job);
    await job.open("/roles");
    await job.find("Search name or rules");
  },
  async "/roles/$name"(job) {
    await makeRole(job);
    await job.open(`/roles/${job.name}`);
    await job.press("Grant on the whole platform");
    await job.type("Name", "jobs");
    await job.confirm("Add");
    await job.button("Remove User jobs").waitFor();
    const { items } = await job.get(BINDINGS);
    expect(items.filter(({ roleRef }: any) => roleRef.name === job.name)).toMatchObject([
      { subjects: [{ kind: "User", name: expect.stringContaining("jobs") }] },
    ]);
  },
  async "/roles/$name/edit"(job) {
    await makeRole(job);
    await job.open(`/roles/${job.name}/edit`);
    await job.type("Verbs", "get, list");
    await job.press("Save");
    await job.title(job.name);
    expect((await job.get(`${ROLES}/${job.name}`)).rules[0].verbs).toEqual(["get", "list"]);
  },
  async "/new/role"(job) {
    await job.open("/new/role");
    await job.type("Name", job.name);
    await job.type("Verbs", "get");
    await job.type("Resources", "configmaps");
    await job.press("Create");
    await job.title(job.name);
    expect((await job.get(`${ROLES}/${job.name}`)).rules).toEqual([
      { apiGroups: [""], resources: ["configmaps"], verbs: ["get"] },
    ]);
  },
  async "/access"(job) {
    await job.make("users");
    await job.open("/access");
    await job.check("A user");
    await job.type("Name of the user", job.name);
    await job.type("Project", "default");
    await job.press("Check");
    await job.page.getByText("Refused", { exact: true }).waitFor();
    await job.page.getByText(`Make ${job.name} a member of the project default`).waitFor();
  },
  async "/access-requests"(job) {
    await makeRequest(job);
    await job.open("/access-requests");
    await job.type("Search user, place or reason", job.name);
    await job.hands.press(job.page.locator("tbody .row-link").first());
    await job.page.getByText(`Reason of ${job.name}`).first().waitFor();
    expect(new URL(job.page.url()).pathname).toBe(`/access-requests/${job.name}`);
  },
  async "/access-requests/$name"(job) {
    await makeRequest(job);
    await job.open(`/access-requests/${job.name}`);
    await job.press("Approve");
    await job.confirm("Approve");
    await expect.poll(async () => (await job.get(`accessrequests/${job.name}`)).status.phase).toBe("Approved");
  },
  async "/new/access-request"(job) {
    await job.open("/new/access-request?policy=on-call&project=default");
    await job.type("Reason", `Reason of ${job.name}`);
    await job.press("Send request");
    await job.page.waitForURL(/\/access-requests\//);
    const { items } = await job.get("accessrequests");
    expect(items.map(({ spec }: any) => spec.reason)).toContain(`Reason of ${job.name}`);
  },
  "/trust": finds("/trust", "clustertrustrules", "Search name, issuer, project or user", (name) => ({
    ...RULE,
    // Before the copies of it among ten thousand, which are called `Row 7`.
    displayName: `A rule ${name}`,
  })),
  async "/trust/$project/$name"(job) {
    await job.make("clustertrustrules", RULE);
    await job.open(`/trust/-/${job.name}`);
    await job.press("Disable");
    await job.confirm("Disable");
    await job.button("Enable").waitFor();
    expect((await job.get(`clustertrustrules/${job.name}`)).spec.disabled).toBe(true);
  },
  "/trust/$project/$name/edit": changes(
    "clustertrustrules",
    (name) => `/trust/-/${name}`,
    () => RULE,
  ),
  "/new/trust-rule": creates("/new/trust-rule", "clustertrustrules", async (job) => {
    await job.type("Value", "42");
    await job.type("User", "jobs");
    await inPicker(job, /^demo/i, "demo");
  }),
  async "/identity-providers"(job) {
    await job.make("identityproviders", PROVIDER);
    await job.open("/identity-providers");
    await job.hands.press(sectionOf(job).getByRole("button", { name: "Disable", exact: true }));
    await job.confirm("Disable");
    await sectionOf(job).getByRole("button", { name: "Enable", exact: true }).waitFor();
    expect((await job.get(`identityproviders/${job.name}`)).spec.disabled).toBe(true);
    await job.platform.send({ method: "DELETE", path: `identityproviders/${job.name}` });
  },
  async "/identity-providers/$name/edit"(job) {
    await changes(
      "identityproviders",
      (name) => `/identity-providers/${name}`,
      () => PROVIDER,
    )(job);
    await job.platform.send({ method: "DELETE", path: `identityproviders/${job.name}` });
  },
  async "/new/identity-provider"(job) {
    await creates("/new/identity-provider", "identityproviders", async () => {
      await job.type("Issuer URL", PROVIDER.issuer.url);
      await job.type("Client ID", "console");
      await job.choose("How the client authenticates", "With a key of this platform (private_key_jwt)");
    })(job);
    await job.platform.send({ method: "DELETE", path: `identityproviders/${job.name}` });
  },
  async "/leak-reports"(job) {
    const { spec } = await job.make("ownedaccesskeys");
    await job.open("/leak-reports");
    await job.platform.send({
      ...{ method: "POST", path: "/leaks", key: "", body: spec.key, headers: { "content-type": "text/plain" } },
    });
    await job.link(job.name).waitFor();
    await job.follow(job.name);
    await job.title(job.name);
    expect(await job.codeOf("projects", spec.key)).toBe(401);
  },
  // Of a server that records: console-recordings.test.ts.
  async "/recordings"(job) {
    await job.open("/recordings");
    await job.page.getByText("This server records no sessions.").waitFor();
  },
  async "/audit"(job) {
    await job.make("teams");
    await job.open("/audit");
    await job.type("Object", `teams/${job.name}`);
    await job.press("Search");
    await job.press(`Create team ${job.name}`);
    await job.page.getByRole("dialog").getByText("Done 201").waitFor();
    await job.press("Close");
  },
  async "/profile"(job) {
    const made = await job.platform.send({
      ...{ method: "POST", path: "/login/session", key: "", body: { key: job.platform.adminKey } },
      headers: { "content-type": "application/json", origin: job.platform.server.url },
    });
    expect(made.status).toBe(200);
    await job.open("/profile");
    await job.press(`End the session ${made.body.keyName}`);
    await job.confirm("End");
    expect(await job.codeOf(`ownedaccesskeys/${made.body.keyName}`)).toBe(404);
  },
  async "/about"(job) {
    const { findings } = await job.get("/doctor");
    await job.open("/about");
    const problems = findings.filter(({ status }: any) => status === "warning" || status === "error");
    for (const { message } of problems) await job.page.getByText(message).first().waitFor();
    await job.page.getByText(job.platform.server.url).first().waitFor();
  },
};

const makeRole = (job: Job) =>
  job.platform.create(ROLES, {
    metadata: { name: job.name },
    rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }],
  } as never);
/** Of another person: administrators do not approve their own. */
async function makeRequest({ name, platform }: Job): Promise<void> {
  const key = (await platform.create("ownedaccesskeys", { metadata: { name: `of-${name}` }, spec: { user: "jobs" } }))
    .spec.key;
  const body = {
    apiVersion: "management.postern/v1",
    kind: "AccessRequest",
    metadata: { name },
    spec: { ...ASKED, reason: `Reason of ${name}` },
  };
  expect((await platform.send({ method: "POST", path: "accessrequests", key, body })).status).toBe(201);
}
/** A scope shows a part of many projects, and of what each has: the search leads to the others. */
async function inPicker(job: Job, label: RegExp, searched: string): Promise<void> {
  const search = job.field("Search projects and virtual clusters");
  const box = job.page.getByRole("checkbox", { name: label });
  await box.or(search).first().waitFor({ state: "attached" });
  if ((await search.count()) > 0) await job.hands.type(search, searched);
  await job.check(label);
}
const sectionOf = (job: Job) =>
  job.page.locator("section").filter({ has: job.page.getByRole("heading", { name: job.name, exact: true }) });

async function textOf(download: { createReadStream(): Promise<AsyncIterable<Buffer>> }): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of await download.createReadStream()) parts.push(part);
  return Buffer.concat(parts).toString();
}

type Rows = "none" | "fifty tenants" | "ten thousand";
type Run = {
  readonly rows: Rows;
  readonly width: number;
  readonly theme: "light" | "dark";
  readonly hands: (page: Page) => Hands;
  readonly with: string;
};
const runOf = (rows: Rows, width: number, theme: Run["theme"], hands: "mouse" | "keyboard" = "mouse"): Run => ({
  ...{ rows, width, theme, with: hands },
  hands: hands === "mouse" ? mouseOf : keyboardOf,
});
const WIDTHS = [360, 800, 1_440, 1_920] as const;
/** Ten thousand rows come before the others: they stand for what the server has, and are copies of it. */
const RUNS: readonly Run[] = [
  runOf("none", 360, "dark"),
  runOf("none", 1_440, "light"),
  runOf("ten thousand", 800, "light"),
  runOf("ten thousand", 1_920, "dark"),
  ...WIDTHS.flatMap((width) => [runOf("fifty tenants", width, "light"), runOf("fifty tenants", width, "dark")]),
  runOf("fifty tenants", 1_440, "light", "keyboard"),
];

let served: ServedConsole;
let hasTenants = false;
beforeAll(async () => {
  served = await serveConsole({
    "audit-log-mode": "blocking",
    "access-key-max-per-owner": "0",
    "proxy-allowed-addresses": ["127.0.0.1/32"],
  });
  const { platform } = served;
  await platform.create("users", { metadata: { name: "jobs" }, spec: { displayName: "Jobs" } });
  await platform.create("clusteraccesspolicies", {
    metadata: { name: "on-call" },
    spec: {
      requesters: { users: ["admin", "jobs"] },
      targets: [{ kind: "Project", projects: ["*"], roles: ["postern:project-user"] }],
      maxDurationSeconds: 3_600,
      approvers: { users: ["admin"] },
    },
  });
}, 120_000);
afterAll(() => closeConsole(served));

const titleOf = (run: Run): string => `${run.rows}, ${run.width} pixels, ${run.theme}, with the ${run.with}`;

describe.each(RUNS.map((run) => [titleOf(run), run] as const))("%s", (_, run) => {
  let page: Page;
  beforeAll(async () => {
    if (run.rows !== "none" && !hasTenants) {
      hasTenants = true;
      await simulateTenants(served.platform, { tenants: TENANTS });
    }
    page = await served.openAs(served.platform.adminKey, "/", {
      viewport: { width: run.width, height: HEIGHT },
      colorScheme: run.theme,
      reducedMotion: "reduce",
    });
    if (run.rows === "ten thousand") await lengthenLists(page.context());
  }, 300_000);
  afterAll(() => page?.context().close());

  test("each page has a job", async () => {
    expect(Object.keys(JOBS).sort()).toEqual(await routesIn(page));
  });

  test.each(Object.entries(JOBS))("%s", async (route, work) => {
    const name = `${route.replaceAll(/[^a-z]+/g, "-").replaceAll(/^-|-$/g, "") || "home"}-${RUNS.indexOf(run)}`;
    await work(new Job(page, run.hands(page), served.platform, name));
    // Columns follow the window a moment later.
    await expect.poll(() => page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
  });
});
