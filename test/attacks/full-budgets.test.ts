// Several tenants fill every budget at once, each with the shape that keeps the most memory for its bytes: the server stays within its memory limit,
// in a cgroup of that size where one can be made, answers others, and starts again with all of it.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { adminKey, type HttpClient, httpClient } from "../e2e/testing/http-client.ts";
import { type PosternProcess, startPostern, temporaryDirectory } from "../e2e/testing/postern-process.ts";
import { API } from "./testing/attacked-server.ts";
import { createMemoryCgroup, type MemoryCgroup } from "./testing/memory-cgroup.ts";

const LIMIT_MIB = 1024;
const AT_ONCE = 4;
const RBAC = "apis/rbac.authorization.k8s.io/v1";
const NAMESPACE = "api/v1/namespaces/default";
const REFUSED = [403, 413, 507];

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);
const members = (count: number, value: string): object =>
  Object.fromEntries(range(count).map((index) => [`k${index}`, value]));
const rules = (count: number): readonly object[] =>
  range(count).map((index) => ({ verbs: ["get"], apiGroups: [""], resources: [`r${index}`] }));

type Shape = { readonly path: string; readonly object: (index: number) => object };

/** Below a cluster of the tenant. */
const IN_CLUSTERS: readonly Shape[] = [
  {
    path: `${RBAC}/namespaces/default/roles`,
    object: (index) => ({ metadata: { name: `r${index}` }, rules: rules(1_000) }),
  },
  {
    path: `${NAMESPACE}/configmaps`,
    object: (index) => ({ metadata: { name: `c${index}` }, data: { text: "x".repeat(900_000) } }),
  },
  {
    path: `${RBAC}/clusterrolebindings`,
    object: (index) => ({
      metadata: { name: `b${index}` },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
      subjects: range(1_000).map((at) => ({
        kind: "User",
        apiGroup: "rbac.authorization.k8s.io",
        name: `${index}-${at}`,
      })),
    }),
  },
  {
    path: `${NAMESPACE}/configmaps`,
    object: (index) => ({ metadata: { name: `l${index}`, labels: members(500, `${index}`) } }),
  },
  {
    path: `${NAMESPACE}/configmaps`,
    object: (index) => ({ metadata: { name: `d${index}` }, data: members(20_000, "v") }),
  },
];

/** In the project, or owned by the user. */
const IN_MANAGEMENT = (project: string): readonly Shape[] => [
  {
    path: `${API}/ownedaccesskeys`,
    object: (index) => ({
      metadata: { name: `${project}-k${index}` },
      spec: { rules: [{ verbs: ["get"], resources: range(1_000).map((at) => ({ resources: [`${at}`] })) }] },
    }),
  },
  {
    path: `${API}/ownedaccesskeys`,
    object: (index) => ({
      metadata: { name: `${project}-s${index}` },
      spec: { scope: { projects: range(1_000).map((at) => ({ project: `${index}-${at}` })) } },
    }),
  },
  {
    path: `/${RBAC}/namespaces/p-${project}/roles`,
    object: (index) => ({
      metadata: { name: `r${index}` },
      rules: range(1_000).map((at) => ({
        verbs: ["get"],
        apiGroups: [""],
        resources: ["secrets"],
        resourceNames: [`${at}`],
      })),
    }),
  },
  {
    path: `/api/v1/namespaces/p-${project}/secrets`,
    object: (index) => ({ metadata: { name: `s${index}` }, stringData: { text: "x".repeat(700_000) } }),
  },
];

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let cgroup: MemoryCgroup | undefined;
let server: PosternProcess;
let send: HttpClient;
let admin: string;

beforeAll(async () => {
  directory = await temporaryDirectory();
  cgroup = await createMemoryCgroup(LIMIT_MIB << 20);
  await start();
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await directory?.[Symbol.asyncDispose]();
  await cgroup?.[Symbol.asyncDispose]();
});

async function start(): Promise<void> {
  server = await startPostern(
    join(directory.path, "data"),
    // In a cgroup, the server finds the limit by itself.
    ["--kube-config-proxy-fallback", ...(cgroup === undefined ? ["--memory-limit-mib", String(LIMIT_MIB)] : [])],
    { run: cgroup?.run ?? [], env: { POSTERN_LOG_LEVEL: "error" } },
  );
  send = await httpClient(server);
  admin = await adminKey(server);
}

/** Most that was ever resident. */
async function peakMiB(): Promise<number> {
  const status = await readFile(`/proc/${server.pid}/status`, "utf8");
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

async function made(path: string, body: object, key = admin): Promise<any> {
  const answer = await send(path, { key, body });
  expect(answer.status, answer.text).toBe(201);
  return answer.body;
}

type Tenant = { readonly project: string; readonly key: string; readonly clusters: readonly string[] };

async function newTenant(project: string): Promise<Tenant> {
  await made(`${API}/users`, { metadata: { name: project }, spec: { username: project } });
  const owner = { user: project };
  await made(`${API}/projects`, { metadata: { name: project }, spec: { owner, allowedClusters: [{ name: "*" }] } });
  const key = (await made(`${API}/ownedaccesskeys`, { metadata: { name: project }, spec: { ...owner, type: "User" } }))
    .spec.key;
  const instances = `${API}/namespaces/p-${project}/virtualclusterinstances`;
  const clusters = ["one", "two"];
  for (const name of clusters) {
    await made(instances, { metadata: { name }, spec: { owner } });
    await vi.waitFor(async () => {
      const { body } = await send(`${instances}/${name}`, { key: admin });
      expect(body.status?.phase).toBe("Ready");
    });
  }
  return { project, key, clusters: clusters.map((name) => `/kubernetes/project/${project}/virtualcluster/${name}`) };
}

/** Until a limit refuses it. */
async function fill({ key }: Tenant, root: string, { path, object }: Shape): Promise<number> {
  let [next, stored] = [0, 0];
  let isFull = false;
  const worker = async (): Promise<void> => {
    while (!isFull) {
      const index = next++;
      const { status, text } = await send(`${root}${path}`, { key, body: object(index) });
      if (status === 201) stored++;
      else if (status !== 429 && status !== 409) {
        expect(REFUSED, `${path}: ${status} ${text.slice(0, 300)}`).toContain(status);
        isFull = true;
      }
    }
  };
  await Promise.all(range(AT_ONCE).map(worker));
  return stored;
}

it("holds what all tenants may store, and starts again with it, within the memory limit", async () => {
  const tenants = await Promise.all(["red", "green", "blue"].map(newTenant));
  for (const tenant of tenants) {
    for (const shape of IN_MANAGEMENT(tenant.project)) await fill(tenant, "", shape);
    for (const root of tenant.clusters) for (const shape of IN_CLUSTERS) await fill(tenant, `${root}/`, shape);
  }
  const labels = `${NAMESPACE}/configmaps?labelSelector=k1=1&limit=1`;
  for (const { key, clusters } of tenants)
    for (const root of clusters) expect((await send(`${root}/${labels}`, { key })).status).toBe(200);
  expect((await send(`${API}/projects`, { key: admin })).status).toBe(200);
  const filled = await peakMiB();

  await server.stop();
  await start();
  for (const { key, clusters } of tenants)
    for (const root of clusters) expect((await send(`${root}/${labels}`, { key })).status).toBe(200);
  expect((await send(`${API}/ownedaccesskeys?limit=10`, { key: admin })).status).toBe(200);
  const started = await peakMiB();
  process.stdout.write(
    `resident at most: ${Math.round(filled)} MiB filled, ${Math.round(started)} MiB after a restart\n`,
  );
  expect([filled, started].filter((peak) => peak > LIMIT_MIB)).toEqual([]);
  expect(await cgroup?.kills()).toBe(cgroup === undefined ? undefined : 0);
}, 1_200_000);
