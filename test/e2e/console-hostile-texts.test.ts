// Texts of tenants on the pages of the console: they change nothing but themselves.

import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { closeConsole, type ServedConsole, serveConsole } from "./testing/console.ts";
import { viewsOf } from "./testing/console-views.ts";
import { HOSTILE, misledIn, writeHostileTexts } from "./testing/hostile-texts.ts";
import { simulateTenants } from "./testing/simulated-tenants.ts";

const SHOWN = {
  key: "shop-00-ci",
  cluster: "shop-00/dev",
  host: "edge",
  project: "shop-00",
  user: "ann-0",
  team: "shop-00",
  role: "postern:project-user",
  ownRole: "cluster-reader",
  request: "queue",
  rule: "-/pipelines",
  provider: "company",
  generator: "shop-00/fleet",
};
/** Providers are the administrator's. */
const VIEWS = Object.entries(viewsOf(SHOWN)).filter(([route]) => !/^\/identity-providers\/\$/.test(route));

let served: ServedConsole;
let page: Page;
let shown = 0;

beforeAll(async () => {
  served = await serveConsole({ "audit-log-mode": "blocking" });
  const { platform } = served;
  const { create } = platform;
  await simulateTenants(platform, { tenants: 1 });
  await create("/apis/rbac.authorization.k8s.io/v1/clusterroles", {
    metadata: { name: SHOWN.ownRole },
    rules: [{ apiGroups: ["management.postern"], resources: ["clusters"], verbs: ["get"] }],
  });
  await create("clusters", { metadata: { name: SHOWN.host }, spec: { networkPeer: true } });
  await create("clustertrustrules", {
    metadata: { name: "pipelines" },
    spec: {
      issuer: { preset: "github" },
      audiences: ["postern"],
      claims: [{ claim: "repository_id", values: ["4711"] }],
      user: SHOWN.user,
    },
  });
  await create("namespaces/p-shop-00/kubeconfiggenerators", {
    metadata: { name: "fleet" },
    spec: { selector: {}, format: "ArgoCD", secretRef: { name: "fleet" } },
  });
  await create("clusteraccesspolicies", {
    metadata: { name: "pager-duty" },
    spec: {
      requesters: { users: ["admin"] },
      targets: [{ kind: "Project", projects: ["*"], roles: [SHOWN.role] }],
      maxDurationSeconds: 3_600,
      approvers: { users: [SHOWN.user] },
    },
  });
  await create("accessrequests", {
    metadata: { name: SHOWN.request },
    spec: { policy: { name: "pager-duty" }, target: { project: SHOWN.project }, role: SHOWN.role, reason: "the queue" },
  });
  page = await served.openAs(platform.adminKey, "/");
  await writeHostileTexts(page.context());
}, 300_000);
afterAll(async () => {
  await page?.context().unrouteAll({ behavior: "ignoreErrors" });
  await closeConsole(served);
});

const open = async (at: string): Promise<void> => {
  await page.goto(served.platform.server.url + at);
  await page.getByRole("main").getByRole("heading").first().waitFor();
  await expect.poll(() => page.locator(".loading").count()).toBe(0);
};

test("texts are turned where elements are not isolated", { timeout: 120_000 }, async () => {
  await open("/access-requests/queue");
  await expect.poll(() => page.locator("main").textContent()).toContain(HOSTILE);
  await page.evaluate(`(() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync("* { unicode-bidi: normal !important }");
    document.adoptedStyleSheets = [sheet];
  })()`);
  await expect.poll(() => misledIn(page)).toContain("pager-duty");
});

test.each(VIEWS)("%s shows texts of others, which turn nothing else", { timeout: 300_000 }, async (_, { at }) => {
  await open(at);
  if (((await page.locator("main").textContent()) ?? "").includes(HOSTILE)) shown++;
  expect(await misledIn(page)).toEqual([]);
});

// Forms of new objects have none.
test("most pages of lists and of single objects have them", () => expect(shown).toBeGreaterThan(20));
