// A member of a project holds streams open through each of its external clusters: each cluster is within its limit, all together are not.

import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { type ClientHttp2Session, connect } from "node:http2";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { FRONT_THREADS } from "../e2e/testing/postern-process.ts";
import { type AttackedServer, startAttacked } from "./testing/attacking.ts";

const ALLOWED = "127.0.0.9";
const TARGETS = ["a", "b", "c"];
const OF_TARGET = 800;
const OF_PROJECT = 2_048;
const OF_CONNECTION = 200;

let server: AttackedServer;
let cluster: Server;
const sessions: ClientHttp2Session[] = [];
beforeAll(async () => {
  server = await startAttacked(["--proxy-allowed-addresses", `${ALLOWED}/32`]);
  cluster = createServer(({ url = "" }, response) => {
    if (!url.includes("watch")) return void response.end("{}");
    response.flushHeaders();
  });
  await new Promise<void>((resolve) => cluster.listen({ host: ALLOWED, port: 0 }, resolve));
});
afterAll(async () => {
  for (const session of sessions) session.destroy();
  cluster?.closeAllConnections();
  cluster?.close();
  await server?.[Symbol.asyncDispose]();
});

async function createTarget(project: string, name: string): Promise<string> {
  const { port } = cluster.address() as AddressInfo;
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server: `http://${ALLOWED}:${port}` } }],
    users: [{ name, user: { token: "a-token-of-the-members" } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    "current-context": name,
  };
  const body = { metadata: { name: `vc-${name}` }, stringData: { config: JSON.stringify(config) } };
  await server.must({ path: `/api/v1/namespaces/p-${project}/secrets`, body });
  const instances = `namespaces/p-${project}/virtualclusterinstances`;
  await server.must({ path: instances, body: { metadata: { name }, spec: { external: true } } });
  return `/kubernetes/project/${project}/virtualcluster/${name}/api/v1/pods`;
}

/** How many answers begin, of so many watches, and what the refusals were. */
async function holdOpen(path: string, key: string, count: number): Promise<{ open: number; refused: string[] }> {
  const ca = await readFile(server.process.caFile);
  let open = 0;
  const refused: string[] = [];
  for (let at = 0; at < count; at += OF_CONNECTION) {
    const session = connect(server.process.url, { ca });
    session.on("error", () => undefined);
    sessions.push(session);
    const answers = Array.from({ length: Math.min(OF_CONNECTION, count - at) }, async () => {
      const stream = session.request({ ":path": `${path}?watch=true`, authorization: `Bearer ${key}` });
      stream.on("error", () => undefined);
      const status = await new Promise<number>((resolve) => {
        stream.on("response", (headers) => resolve(headers[":status"] ?? 0));
        stream.on("close", () => resolve(0));
      });
      if (status === 200) return void open++;
      let text = "";
      for await (const chunk of stream) text += chunk;
      refused.push(`${status} ${text === "" ? "" : JSON.parse(text).details?.causes?.[0]?.reason}`);
    });
    await Promise.all(answers);
  }
  return { open, refused };
}

test("all external clusters of a project together have so many streams, and those of another have theirs (security book 50)", async () => {
  const mallory = await server.user("mallory");
  for (const project of ["many", "few"]) {
    const members = [{ kind: "User", name: "mallory", clusterRole: "postern:project-admin" }];
    await server.must({ path: "projects", body: { metadata: { name: project }, spec: { members } } });
  }
  const mine = await Promise.all(TARGETS.map((name) => createTarget("many", name)));
  const other = await createTarget("few", "d");
  await vi.waitFor(async () => {
    for (const path of [...mine, other]) expect((await server.send({ path, as: mallory })).status).toBe(200);
  }, 20_000);
  const held = [];
  for (const path of mine) held.push(await holdOpen(path, mallory, OF_TARGET));
  const open = held.reduce((sum, each) => sum + each.open, 0);
  expect(open).toBeLessThanOrEqual(OF_PROJECT);
  // Each thread has a share of them, and the kernel gives a connection to one of the threads.
  expect(open).toBeGreaterThan(FRONT_THREADS === 1 ? OF_PROJECT - 100 : OF_PROJECT / 2);
  expect(new Set(held.flatMap(({ refused }) => refused))).toEqual(new Set(["503 TooManyConnections"]));
  expect((await holdOpen(other, mallory, 10)).open).toBe(10);
});
