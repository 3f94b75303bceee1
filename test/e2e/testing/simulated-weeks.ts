// A company with two weeks behind it, on a real server with the console: fifty tenants that came one after the other, their programs and people at work,
// and faults now and then. The same each time, but for the moment at which it ends, which is now.

import { readFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { createTeardown, type Teardown } from "@postern/apiserver/runtime/teardown";
import { inBatches } from "./batches.ts";
import { type ServedConsole, serveConsole } from "./console.ts";
import type { ShownObjects } from "./console-views.ts";
import { serveProvider } from "./identity-provider.ts";
import { numbersOf, simulateTenant } from "./simulated-tenants.ts";
import { type SimulatedTime, simulateTime } from "./simulated-time.ts";

const TENANTS = 50;
const HOURS = 14 * 24;
/** They are counted by the minute. */
const LAST_DAY = HOURS - 24;
const HOURS_BETWEEN_TENANTS = 6;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const SEED = 36;
const MANAGEMENT = "/apis/management.postern/v1";

const PROGRAMS = ["gitlab-runner/18.4.0", "argocd-application-controller/v3.1.0", "kubectl/v1.36.2 (linux/amd64)"];

/** The objects that pages of one object show. */
export const SHOWN: ShownObjects = {
  key: "shop-00-ci",
  cluster: "shop-00/dev",
  host: "eu-west",
  project: "shop-00",
  user: "ann-0",
  team: "shop-00",
  role: "postern:project-user",
  ownRole: "cluster-reader",
  request: "queue",
  rule: "-/shop-pipelines",
  provider: "company",
  generator: "shop-00/fleet",
};

export type SimulatedWeeks = AsyncDisposable & { readonly served: ServedConsole };

type Company = Pick<ServedConsole, "platform"> & {
  readonly time: SimulatedTime;
  /** In milliseconds since the epoch. */
  readonly begin: number;
  readonly next: () => number;
  /** The values of the keys, by name. */
  readonly keys: Map<string, string>;
};

export async function simulateWeeks(): Promise<SimulatedWeeks> {
  const teardown = createTeardown();
  try {
    return await simulate(teardown);
  } catch (error) {
    await teardown.run();
    throw error;
  }
}

async function simulate(teardown: Teardown): Promise<SimulatedWeeks> {
  const begin = Date.now() - HOURS * HOUR_MS;
  using time = simulateTime(begin);
  const served = teardown.use(
    await serveConsole({
      "audit-log-mode": "blocking",
      // Tenants come from elsewhere, through a load balancer.
      "trusted-proxies": ["127.0.0.1/32"],
      // A virtual cluster of the server plays the part of a cluster elsewhere.
      "proxy-allowed-addresses": ["127.0.0.1/32"],
      "proxy-health-check-interval-seconds": "1",
    }),
  );
  const { platform } = served;
  const place = { url: platform.server.url, ca: await readFile(platform.server.caPath) };
  const provider = teardown.use(await serveProvider(place, SHOWN.provider));
  const company: Company = { platform, time, begin, next: numbersOf(SEED), keys: new Map() };
  await furnish(company, provider);
  for (let hour = 0; hour < HOURS; hour++) await live(company, hour);
  await platform.until({ path: `clusters/${SHOWN.host}` }, ({ body }) => body.status?.phase === "Initialized");
  await lastUseWritten(company);
  return { served, [Symbol.asyncDispose]: () => teardown.run() };
}

/** The last use of keys is written once a minute, and two weeks go by faster. Asked seldom: the pages count requests. */
async function lastUseWritten({ platform }: Company): Promise<void> {
  const isWritten = async (): Promise<boolean> => {
    const { body } = await platform.send({ path: `ownedaccesskeys/${SHOWN.key}` });
    return Date.parse(body.status?.lastActivity ?? "") > Date.now() - HOUR_MS;
  };
  while (!(await isWritten())) await setTimeout(5_000);
}

/** The platform team sets this up on the first day. */
async function furnish({ platform }: Company, provider: Awaited<ReturnType<typeof serveProvider>>): Promise<void> {
  await platform.create("users", { metadata: { name: "olga" }, spec: { displayName: "Olga Platform" } });
  await platform.create("users", { metadata: { name: "shop-ci" }, spec: { displayName: "Shop CI", kind: "Bot" } });
  await platform.create("teams", {
    metadata: { name: "platform" },
    spec: { displayName: "Platform", users: ["olga"] },
  });
  await platform.create("/api/v1/namespaces", { metadata: { name: "sign-in" } });
  await platform.create("/api/v1/namespaces/sign-in/secrets", {
    metadata: { name: "company" },
    stringData: { clientSecret: provider.clientSecret },
  });
  await platform.create("identityproviders", {
    metadata: { name: SHOWN.provider },
    spec: {
      displayName: "Company login",
      description: "Everybody who works here.",
      issuer: { url: provider.url, certificateAuthority: provider.certificateAuthorityPem },
      clientId: provider.clientId,
      clientSecretRef: { secretNamespace: "sign-in", secretName: "company" },
      claimMappings: { username: { claim: "preferred_username" }, groups: { claim: "groups" } },
      createUsers: true,
    },
  });
  await platform.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", {
    metadata: { name: SHOWN.ownRole },
    rules: [{ apiGroups: ["management.postern"], resources: ["clusters"], verbs: ["get", "list"] }],
  });
  await platform.create("clustertrustrules", {
    metadata: { name: "shop-pipelines" },
    spec: {
      displayName: "Pipelines of the shop",
      issuer: { preset: "github" },
      audiences: ["postern"],
      claims: [{ claim: "repository_id", values: ["4711", "4712"] }],
      user: "shop-ci",
      scope: { virtualClusters: [{ project: "shop-00", virtualCluster: "dev" }] },
    },
  });
  await platform.create("clusters", { metadata: { name: "edge" }, spec: { displayName: "Edge", networkPeer: true } });
  await platform.create("clusteraccesspolicies", {
    metadata: { name: "on-call" },
    spec: {
      displayName: "On call",
      requesters: { users: ["admin", "ann-0", "ben-1"] },
      targets: [
        { kind: "Project", projects: ["*"], roles: ["postern:project-user"] },
        { kind: "VirtualCluster", projects: ["*"], names: ["*"], roles: ["view", "edit"] },
      ],
      maxDurationSeconds: 14_400,
      approvers: { users: ["admin"] },
    },
  });
}

/** A host cluster and a generator: their credentials end within a day. */
async function connect({ platform }: Company): Promise<void> {
  const { body } = await platform.send({
    path: "namespaces/p-default/virtualclusterinstances/demo/kubeconfig",
    body: { spec: { clientCert: true } },
  });
  await platform.create("/api/v1/namespaces", { metadata: { name: "clusters" } });
  await platform.create("/api/v1/namespaces/clusters/secrets", {
    metadata: { name: SHOWN.host },
    stringData: { config: body.status.kubeConfig },
  });
  await platform.create("namespaces/p-shop-00/kubeconfiggenerators", {
    metadata: { name: "fleet" },
    spec: {
      displayName: "Argo CD fleet",
      selector: {},
      format: "ArgoCD",
      secretRef: { name: "fleet" },
      argoCD: { project: "shop", namespaces: ["web", "orders"], clusterResources: true, shard: 2 },
      secretTemplate: {
        labels: { team: "shop" },
        annotations: { "example.com/runbook": "https://wiki.example.com/runbooks/platform/argo-cd-clusters" },
        copyLabels: ["env", "topology.kubernetes.io/region"],
      },
    },
  });
  await platform.create("clusters", {
    metadata: { name: SHOWN.host },
    spec: { displayName: "EU West", kubeConfigRef: { secretNamespace: "clusters", secretName: SHOWN.host } },
  });
}

/** At weekends as well, so that the last day is the same on every day. */
const isAtWork = (time: number): boolean => {
  const hour = new Date(time).getUTCHours();
  return hour >= 7 && hour < 18;
};

/** One hour of the company. */
async function live(company: Company, hour: number): Promise<void> {
  const { platform, time, begin, next, keys } = company;
  const from = begin + hour * HOUR_MS;
  time.moveTo(from);
  const index = hour / HOURS_BETWEEN_TENANTS;
  if (Number.isInteger(index) && index < TENANTS) await simulateTenant(platform, { index, next, keys });
  await EVENTS[hour]?.(company);
  const perMinute = isAtWork(from) ? 2 : 1;
  if (hour < LAST_DAY) return await request(company, 1 + Math.floor(next() * 3 * perMinute));
  for (let minute = 0; minute < 60; minute++) {
    time.moveTo(from + minute * MINUTE_MS);
    if (hour === HOURS - 1 && minute === 20) await lastChanges(company);
    await request(company, Math.floor(next() * 2 * perMinute));
  }
}

/** Requests of programs: a few keys send most of them, and some of what they ask for is refused. */
async function request({ platform, next, keys }: Company, count: number): Promise<void> {
  const names = [...keys.keys()];
  const calls = Array.from({ length: count }, () => {
    const at = Math.floor(next() ** 3 * names.length);
    const name = names[at] ?? "";
    return { at, name, kind: next() };
  });
  await inBatches(count, async (call) => {
    const { at, name, kind } = calls[call] ?? { at: 0, name: "", kind: 0 };
    const tenant = name.replace(/-(ci|gitops)$/, "");
    const path =
      kind < 0.04
        ? `${MANAGEMENT}/clustertrustrules`
        : kind < 0.5 && at < 6 && name.endsWith("-ci")
          ? `/kubernetes/project/${tenant}/virtualcluster/dev/api/v1/namespaces/default/${kind < 0.3 ? "pods" : "configmaps"}`
          : `${MANAGEMENT}/virtualclusterinstances?limit=1`;
    await platform.send({
      path,
      key: keys.get(name),
      headers: {
        "user-agent": PROGRAMS[at % PROGRAMS.length] ?? "",
        "x-forwarded-for": `10.${20 + (at % 3)}.${at % 7}.${11 + Math.floor(kind * 3)}`,
      },
    });
  });
}

/** Single events, by hour. */
const EVENTS: { readonly [hour: number]: (company: Company) => Promise<void> } = {
  50: async ({ platform, keys }) =>
    void (await platform.send({
      method: "POST",
      path: "/leaks",
      key: "",
      body: `found: ${keys.get("billing-01-ci")}`,
    })),
  100: ({ platform }) => change(platform, "users/emil-4", { spec: { disabled: true } }),
  130: ({ platform }) => change(platform, "ownedaccesskeys/search-02-ci", { spec: { disabled: true } }),
  200: async ({ platform }) => {
    for (const [project, used] of [
      ["shop-00", "3"],
      ["billing-01", "2"],
      ["ledger-03", "5"],
    ])
      await change(platform, `projects/${project}`, {
        spec: { quotas: { project: { virtualclusterinstances: used, ownedaccesskeys: "10" } } },
      });
  },
  230: ({ platform }) =>
    change(platform, "namespaces/p-media-04/virtualclusterinstances/dev", {
      metadata: { annotations: { "sleepmode.postern/force": "true" } },
    }),
  [HOURS - 4]: connect,
  300: async (company) => await ask(company, "ann-0", "incident", "OPS-311 orders are late", "Approve"),
};

const change = async (platform: Company["platform"], path: string, body: object): Promise<void> => {
  const { status, text } = await platform.send({ method: "PATCH", path, body });
  if (status !== 200) throw new Error(`${path}: ${text}`);
};

/** A request for access, and the decision of the administrator if there is one. */
async function ask(
  { platform, keys }: Company,
  user: string,
  name: string,
  reason: string,
  decision?: string,
): Promise<void> {
  if (!keys.has(`${user}-browser`)) {
    const spec = { user, ttl: 30 * 86_400 };
    const made = await platform.create("ownedaccesskeys", { metadata: { name: `${user}-browser` }, spec });
    keys.set(`${user}-browser`, made.spec.key);
  }
  const target = { project: "billing-01" };
  const spec = { policy: { name: "on-call" }, target, role: "postern:project-user", reason };
  const { status, text } = await platform.send({
    path: "accessrequests",
    key: keys.get(`${user}-browser`),
    body: { metadata: { name }, spec },
  });
  if (status !== 201) throw new Error(text);
  if (decision !== undefined)
    await platform.send({ path: `accessrequests/${name}/approval`, body: { spec: { decision } } });
}

/** Within the last hour, which the first page has in words. */
async function lastChanges(company: Company): Promise<void> {
  const { platform } = company;
  await ask(company, "ann-0", "queue", "OPS-412 the queue is full");
  await platform.create("ownedaccesskeys", {
    metadata: { name: "maps-06-preview" },
    spec: {
      displayName: "Preview of maps",
      team: "maps-06",
      ttl: 7 * 86_400,
      scope: { projects: [{ project: "maps-06" }] },
    },
  });
  await change(platform, "ownedaccesskeys/mail-07-ci", { spec: { description: "Nightly import" } });
  await platform.send({ method: "DELETE", path: "ownedaccesskeys/fraud-09-ci" });
}
