// A fault that a tenant can use stops the thread of its cluster, and nothing else: the management API and other clusters go on, those that ran in the
// same thread come back, and the cluster at fault runs alone, then pauses.

import { readdir, readFile } from "node:fs/promises";
import { BEHIND } from "@postern/apiserver/runtime/give-way";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { adminKey, type HttpClient, httpClient, openResponse } from "../e2e/testing/http-client.ts";
import { type OwnServer, startOwnServer } from "../e2e/testing/own-server.ts";
import { CONFIG_MAPS, createCluster, INSTANCES, metric, POLL, pathOf } from "./testing/threads/clusters.ts";
import { buildVulnerable, ENDLESS, FAILING, GREEDY, type VulnerableBuild } from "./testing/threads/vulnerable-build.ts";

const KEYS = "/apis/management.postern/v1/ownedaccesskeys";
const CLUSTERS = ["one", "two", "three"];

let build: VulnerableBuild;
beforeAll(async () => {
  build = await buildVulnerable();
}, 300_000);
afterAll(() => build?.[Symbol.asyncDispose]());

describe.each([1, 2])("with %i cluster threads", (threads) => {
  let server: OwnServer;
  let send: HttpClient;
  let admin = "";
  const inCluster = (cluster: string, path: string) => send(pathOf(cluster, path), { key: admin });

  beforeAll(async () => {
    server = await startOwnServer(
      // Each thread that serves requests has cluster threads of its own, and pauses of its own.
      ["--threads", "1", "--cluster-threads", String(threads), "--memory-limit-mib", "1024"],
      { entry: build.entry },
    );
    [send, admin] = [await httpClient(server), await adminKey(server)];
    for (const name of CLUSTERS) await createCluster(send, admin, name);
  }, 300_000);
  afterAll(() => server?.[Symbol.asyncDispose]());

  it.runIf(process.platform === "linux")(
    "a thread that works for one tenant leaves the processors to the first thread",
    async () => {
      const yaml = `{apiVersion: v1, kind: ConfigMap, metadata: {name: long}, data: {a: "${"x".repeat(100_000)}"}}`;
      const headers = { "content-type": "application/yaml" };
      const made = await send(pathOf("one", CONFIG_MAPS), { key: admin, method: "POST", headers, body: yaml });
      expect(made.status, made.text).toBe(201);
      const [first, ...others] = await prioritiesOf(server.pid);
      expect(others.filter((priority) => priority === Math.min(19, Number(first) + BEHIND)).length).toBe(threads + 1);
    },
  );

  it("an endless loop ends with its thread, while others are served and keys are revoked", async () => {
    const watch = await openResponse(server, pathOf("two", `${CONFIG_MAPS}?watch=true`), admin);
    let isAttackOver = false;
    const attack = inCluster("one", `${CONFIG_MAPS}/${ENDLESS}`).finally(() => {
      isAttackOver = true;
    });
    let served = 0;
    while (!isAttackOver) {
      const name = `short-lived-${served}`;
      const made = await send(KEYS, {
        key: admin,
        body: { metadata: { name }, spec: { type: "User", user: "admin" } },
      });
      expect(made.status, made.text).toBe(201);
      const { key } = made.body.spec;
      expect((await send(KEYS, { key })).status).toBe(200);
      expect((await send(`${KEYS}/${name}`, { key: admin, method: "DELETE" })).status).toBe(200);
      expect((await send(KEYS, { key })).status).toBe(401);
      served++;
    }
    expect(served).toBeGreaterThan(0);
    const refused = await attack;
    expect(refused.status, refused.text).toBe(503);
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
    if (threads === 1) await watch.ended;
    for (const name of ["demo", ...CLUSTERS]) {
      await expect.poll(async () => (await inCluster(name, CONFIG_MAPS)).status, POLL).toBe(200);
    }
    expect(await metric(send, admin, "postern_thread_restarts_total", "stalled")).toBe(1);
    expect(await metric(send, admin, "postern_thread_quarantined_clusters")).toBe(1);
    expect(await metric(send, admin, "postern_thread_clusters", "alone-1")).toBe(1);
    const told = () => send("/api/v1/namespaces/p-default/events", { key: admin });
    await expect.poll(async () => (await told()).text, POLL).toContain("ClusterThreadEnded");
  });

  it("a cluster that does it again pauses, and its instance says why", async () => {
    expect((await inCluster("one", `${CONFIG_MAPS}/${ENDLESS}`)).status).toBe(503);
    const paused = await inCluster("one", CONFIG_MAPS);
    expect(paused.status, paused.text).toBe(503);
    expect(paused.text).toContain("the virtual cluster is paused");
    const readyOf = async () => {
      const { body } = await send(`${INSTANCES}/one`, { key: admin });
      return body.status.conditions.find(({ type }: { type: string }) => type === "Ready");
    };
    await expect.poll(async () => (await readyOf()).reason, POLL).toBe("CrashLoopBackOff");
    expect((await inCluster("two", CONFIG_MAPS)).status).toBe(200);
    await expect.poll(async () => (await inCluster("one", CONFIG_MAPS)).status, POLL).toBe(200);
    await expect.poll(async () => (await readyOf()).status, POLL).toBe("True");
  });

  it("memory that grows without end ends with its thread", async () => {
    expect((await inCluster("two", `${CONFIG_MAPS}/${GREEDY}`)).status).toBe(503);
    await expect.poll(async () => (await inCluster("three", CONFIG_MAPS)).status, POLL).toBe(200);
    await expect.poll(async () => (await inCluster("two", CONFIG_MAPS)).status, POLL).toBe(200);
    expect(await metric(send, admin, "postern_thread_restarts_total", "memory")).toBe(1);
  });

  it("an error that nothing catches ends its thread alone", async () => {
    expect([200, 404, 503]).toContain((await inCluster("three", `${CONFIG_MAPS}/${FAILING}`)).status);
    await expect.poll(() => metric(send, admin, "postern_thread_restarts_total", "crashed"), POLL).toBe(1);
    await expect.poll(async () => (await inCluster("three", CONFIG_MAPS)).status, POLL).toBe(200);
    expect((await send(KEYS, { key: admin })).status).toBe(200);
  });
});

/** As `nice` has them: of the first thread, and of all others of the process. */
async function prioritiesOf(pid: number): Promise<readonly number[]> {
  const threads = (await readdir(`/proc/${pid}/task`)).sort((a, b) => Number(a) - Number(b));
  const stats = threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/stat`, "utf8"));
  // The name of a thread may have spaces.
  return (await Promise.all(stats)).map((stat) => Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[16]));
}
