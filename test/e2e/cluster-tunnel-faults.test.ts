// Bad days of a tunnel: each part is killed and started again, and connections are cut in the middle of a watch and of a body.

import { readFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { join } from "node:path";
import { lastingPortFlags } from "@postern/stores/testing/lasting-ports";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type HttpProxy, startHttpProxy } from "./testing/http-proxy.ts";
import { ENTRY, NODE, temporaryDirectory, tool } from "./testing/postern-process.ts";
import { durableStoreFlags } from "./testing/stores.ts";
import { type AgentProcess, type AgentStart, connectByAgent, startAgent } from "./testing/tunnelled-cluster.ts";
import { clusterPath, MANAGEMENT, type Server, startServer } from "./testing/two-posterns.ts";

const WAIT = { timeout: 60_000, interval: 100 };
const THROUGH = "/kubernetes/cluster/edge";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let near: Server;
let far: Server;
let agent: AgentProcess;
let start: AgentStart;
let nearFlags: readonly string[];
/** An HTTP proxy on the agent's way to the platform, whose connections can be cut. */
let proxy: HttpProxy;

const statusAt = async (path: string): Promise<number> => (await near.http(path, { key: near.key })).status;
/** Threads that serve requests have tunnels of their own each. */
const isReached = () =>
  expect
    .poll(() => Promise.all(Array.from({ length: 10 }, () => statusAt(`${THROUGH}/version`))), WAIT)
    .toEqual(Array.from({ length: 10 }, () => 200));
const connectedStatus = async (): Promise<string> => {
  const { status } = await near.send(`${MANAGEMENT}/clusters/edge`);
  return status.conditions?.find(({ type }: { type: string }) => type === "Connected")?.status;
};

beforeAll(async () => {
  directory = await temporaryDirectory();
  proxy = await startHttpProxy();
  const nearDir = join(directory.path, "near");
  nearFlags = [
    ...["--proxy-health-check-interval-seconds", "1"],
    ...durableStoreFlags(nearDir),
    ...(await lastingPortFlags()),
  ];
  [near, far] = await Promise.all([startServer(nearDir, nearFlags), startServer(join(directory.path, "far"))]);
  const env = { HTTPS_PROXY: proxy.url };
  ({ agent, start } = await connectByAgent({ near, far, directory: directory.path }, "edge", { env }));
  await letAdminIn();
});
afterAll(async () => {
  await agent?.[Symbol.asyncDispose]();
  await near?.[Symbol.asyncDispose]();
  await far?.[Symbol.asyncDispose]();
  proxy?.close();
  await directory?.[Symbol.asyncDispose]();
});

describe("a tunnel", () => {
  it("goes through the HTTP proxy of the environment", async () => {
    await isReached();
    expect(proxy.targets()).toContain(new URL(near.process.url).host);
  });

  it("whose connections are cut ends watches, which begin anew, and comes back by itself", async () => {
    const watch = await openWatch();
    proxy.cut();
    await watch.ended;
    await isReached();
    const next = await openWatch();
    next.close();
  });

  it("that is cut in the middle of a body gives its caller no whole one", async () => {
    const maps = `${THROUGH}/api/v1/namespaces/default/configmaps`;
    const data = { text: "x".repeat(900_000) };
    for (let count = 0; count < 12; count++) {
      await near.send(maps, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: `large-${count}` }, data });
    }
    // Longer than what all buffers on the way hold: nothing of it is read until the cut.
    const body = await begin("/api/v1/namespaces/default/configmaps");
    proxy.cut();
    await expect(readAll(body)).rejects.toThrow();
    await isReached();
  });

  it("whose agent is killed is not connected, with a clear refusal, until it is started again", async () => {
    const watch = await openWatch();
    await agent.stop("SIGKILL");
    await watch.ended;
    await expect.poll(connectedStatus, WAIT).toBe("False");
    const refused = await near.http(`${THROUGH}/version`, { key: near.key });
    expect([refused.status, refused.body.details.causes[0].reason]).toEqual([503, "AgentNotConnected"]);
    agent = startAgent(start);
    await isReached();
    await expect.poll(connectedStatus, WAIT).toBe("True");
  });

  it("whose agent is stopped ends what is open in it, and the agent", async () => {
    const watch = await openWatch();
    expect(await agent.stop()).toBe(0);
    await watch.ended;
    agent = startAgent(start);
    await isReached();
  });

  it("comes back after the server was killed", async () => {
    await near.process.stop("SIGKILL");
    near = await startServer(near.process.dataDir, nearFlags);
    await isReached();
  });

  it("comes back after the cluster's own API server was away", async () => {
    const { http, key } = near;
    expect((await http(`${THROUGH}/version`, { key })).status).toBe(200);
    await far.process.stop("SIGKILL");
    const answer = await http(`${THROUGH}/version`, { key });
    expect(answer.status).toBe(503);
    expect(answer.body.message).toContain("API server");
  });

  it("has a line of postern doctor, once the server is stopped", async () => {
    await near.send(`${MANAGEMENT}/clusters`, {
      ...{ apiVersion: "management.postern/v1", kind: "Cluster", metadata: { name: "unjoined" } },
      spec: { networkPeer: true },
    });
    const { dataDir } = near.process;
    expect(await near.process.stop()).toBe(0);
    const { stdout } = await tool(NODE, [ENTRY, "doctor", "--data-dir", dataDir, ...nearFlags]);
    expect(stdout).toMatch(/cluster edge.*its agent connects it while the server runs/);
    expect(stdout).toMatch(/cluster unjoined.*no agent has joined/);
  });
});

/** The far cluster's own RBAC decides about callers, by their names here. */
async function letAdminIn(): Promise<void> {
  const group = "rbac.authorization.k8s.io";
  await far.send(`${clusterPath("demo")}/apis/${group}/v1/clusterrolebindings`, {
    ...{ apiVersion: `${group}/v1`, kind: "ClusterRoleBinding", metadata: { name: "near-admin" } },
    roleRef: { apiGroup: group, kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ apiGroup: group, kind: "User", name: "admin" }],
  });
}

async function begin(path: string): Promise<IncomingMessage> {
  const ca = await readFile(near.process.caFile);
  return await new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${near.key}` };
    const sent = request(`${near.process.url}${THROUGH}${path}`, { ca, agent: false, headers });
    sent.on("error", reject);
    sent.once("response", (response) => {
      response.on("error", () => undefined);
      resolve(response);
    });
    sent.end();
  });
}

async function readAll(response: IncomingMessage): Promise<void> {
  for await (const _ of response);
}

async function openWatch(): Promise<{ readonly ended: Promise<void>; close(): void }> {
  const response = await begin("/api/v1/namespaces/default/configmaps?watch=1");
  expect(response.statusCode).toBe(200);
  response.resume();
  const ended = new Promise<void>((resolve) => response.once("close", resolve));
  return { ended, close: () => void response.destroy() };
}
