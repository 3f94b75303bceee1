// Two servers on one store, each with all controllers of the same cluster.

import { isApiError } from "@postern/apimachinery/meta/api-error";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { createContinueTokens } from "@postern/apiserver/registry/store/continue-token";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { createTestContext } from "@postern/apiserver/testing/test-context";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createStandardSurface } from "../../server/standard-surface.ts";
import { fail } from "../../testing/suite-surface.ts";

const storage = createMemoryStorage();
type Server = Awaited<ReturnType<typeof start>>;
let servers: readonly Server[] = [];
beforeAll(async () => {
  servers = [await start(), await start()];
});
afterAll(async () => {
  for (const { surface, cache } of servers) {
    surface[Symbol.dispose]();
    await cache[Symbol.asyncDispose]();
  }
  await storage[Symbol.asyncDispose]();
});

async function start() {
  const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler });
  await cache.ready();
  const surface = createStandardSurface({
    composition: "shared",
    storage,
    cache,
    runtime: systemRuntime,
    continueTokens: createContinueTokens(),
    tokens: { authenticateToken: () => undefined },
    audiences: [],
    cluster: {
      keepsWorkloads: () => true,
      completesJobs: () => false,
      runsWorkloads: () => true,
      webhooks: { call: fail },
    },
    onHookError: fail,
    // Another server may have been faster: then the work is tried again.
    onControllerError: () => undefined,
  });
  await surface.bootstrap(new AbortController().signal);
  return { cache, surface };
}

async function settled(): Promise<void> {
  for (let round = 0; round < 6; round++) {
    for (const { surface, cache } of servers) {
      await cache.refresh();
      await surface.idle();
    }
  }
}

async function send(method: string, path: string, json?: object): Promise<any> {
  const [first] = servers;
  const contentType = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const body = json === undefined ? {} : { body: JSON.stringify(json) };
  const headers = { accept: "application/json", ...(json === undefined ? {} : { "content-type": contentType }) };
  const response = await first?.surface.route(createTestContext({ method, url: path, headers, ...body }));
  await settled();
  if (response?.body.type !== "bytes") throw new Error("the answer is a stream");
  return JSON.parse(Buffer.from(response.body.bytes).toString());
}

const CORE = "/api/v1/namespaces/default";
const template = { metadata: { labels: { app: "a" } }, spec: { containers: [{ name: "a", image: "i" }] } };
const podsOf = async (selector: string) => (await send("GET", `${CORE}/pods?labelSelector=${selector}`)).items as any[];
const deletions = async () =>
  ((await send("GET", `${CORE}/events`)).items as any[]).filter(({ reason }) => reason === "SuccessfulDelete");

const ALL = { replicas: 30, updatedReplicas: 30 };
const NINE = { succeeded: 9, active: 1, uncountedTerminatedPods: {} };

test("both together make as many pods as are wanted, and replace one that goes", async () => {
  const path = "/apis/apps/v1/namespaces/default/deployments";
  const spec = { replicas: 30, selector: { matchLabels: { app: "a" } }, template };
  await send("POST", path, { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "a" }, spec });
  const pods = () => podsOf("app%3Da");
  await expect.poll(async () => (await pods()).length).toBe(30);
  await send("DELETE", `${CORE}/pods/${(await pods())[0].metadata.name}`);
  await expect.poll(async () => (await pods()).length).toBe(30);
  // One that does not know yet of what the other did may make one too many. Without common names each would make as many as are wanted.
  expect((await deletions()).length).toBeLessThan(5);
  await expect.poll(async () => (await send("GET", `${path}/a`)).status).toMatchObject(ALL);
});

test("both together count each pod of a Job once", async () => {
  const path = "/apis/batch/v1/namespaces/default/jobs";
  const spec = { parallelism: 10, completions: 10, template: { spec: { ...template.spec, restartPolicy: "Never" } } };
  await send("POST", path, { apiVersion: "batch/v1", kind: "Job", metadata: { name: "j" }, spec });
  const pods = () => podsOf("job-name%3Dj");
  await expect.poll(async () => (await pods()).length).toBe(10);
  for (let left = 9; left > 0; ) {
    const pod = (await pods()).find(({ status }) => status.phase !== "Succeeded");
    const json = { ...pod, status: { ...pod.status, phase: "Succeeded" } };
    try {
      await send("PUT", `${CORE}/pods/${pod.metadata.name}/status`, json);
      left -= 1;
    } catch (error) {
      // One that both had made was one too many.
      if (!isApiError(error, "NotFound")) throw error;
    }
  }
  // The slower of the two tries again a little later.
  await expect.poll(async () => (await send("GET", `${path}/j`)).status).toMatchObject(NINE);
  await expect.poll(async () => (await pods()).length).toBe(10);
});

test("both together make one claim for each that a pod asks for by template", async () => {
  const group = "/apis/resource.k8s.io/v1/namespaces/default";
  const requests = [{ name: "r", exactly: { deviceClassName: "gpu" } }];
  await send("POST", `${group}/resourceclaimtemplates`, {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaimTemplate",
    metadata: { name: "t" },
    spec: { spec: { devices: { requests } } },
  });
  const names = Array.from({ length: 8 }, (_, at) => `c${at}`);
  const resourceClaims = names.map((name) => ({ name, resourceClaimTemplateName: "t" }));
  const spec = { ...template.spec, resourceClaims };
  await send("POST", `${CORE}/pods`, { apiVersion: "v1", kind: "Pod", metadata: { name: "claiming" }, spec });
  const recorded = async () => (await send("GET", `${CORE}/pods/claiming`)).status.resourceClaimStatuses ?? [];
  await expect.poll(async () => (await recorded()).length).toBe(8);
  const claims = (await send("GET", `${group}/resourceclaims`)).items as any[];
  const nameOf = ({ resourceClaimName }: any) => resourceClaimName;
  expect(claims.map(({ metadata }) => metadata.name).toSorted()).toEqual((await recorded()).map(nameOf).toSorted());
});

test("both together make one pod of a DaemonSet on each Node, and replace as many at a time as may be unavailable", async () => {
  const path = "/apis/apps/v1/namespaces/default/daemonsets";
  const nodes = Array.from({ length: 8 }, (_, at) => `n${at}`);
  for (const name of nodes) await send("POST", "/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name } });
  const labels = { app: "d" };
  const spec = { selector: { matchLabels: labels }, template: { ...template, metadata: { labels } } };
  await send("POST", path, { apiVersion: "apps/v1", kind: "DaemonSet", metadata: { name: "d" }, spec });
  const pods = () => podsOf("app%3Dd");
  await expect.poll(async () => (await pods()).length).toBe(8);
  const target = ({ spec }: any) =>
    spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0]
      .values[0];
  expect((await pods()).map(target).toSorted()).toEqual(nodes);
  const conditions = [{ type: "Ready", status: "True", lastTransitionTime: new Date().toISOString() }];
  for (const { metadata, spec } of await pods()) {
    await send("PATCH", `${CORE}/pods/${metadata.name}/status`, { status: { phase: "Running", conditions } });
    expect(spec.nodeName).toBeUndefined();
  }
  await expect.poll(async () => (await send("GET", `${path}/d`)).status).toMatchObject({ numberAvailable: 8 });
  const before = (await deletions()).length;
  await send("PATCH", `${path}/d`, { spec: { template: { metadata: { annotations: { changed: "yes" } } } } });
  // The new pod is not ready, so that no other is replaced.
  await expect.poll(async () => (await send("GET", `${path}/d`)).status).toMatchObject({ updatedNumberScheduled: 1 });
  await settled();
  expect((await deletions()).length - before).toBe(1);
  expect(await pods()).toHaveLength(8);
});
