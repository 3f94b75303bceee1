// Another kube-apiserver forwards requests to two servers of one store, and to a server whose threads share the port: each of them knows the proxy by its
// certificate, and nothing that was taken away is left at one of them.

import { readFile, writeFile } from "node:fs/promises";
import { Agent } from "node:https";
import { createTeardown } from "@postern/apiserver/runtime/teardown";
import { whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Connections, NODE_WITH_THREADS, WHY_NO_THREADS } from "../e2e/testing/front-threads.ts";
import { adminKey, agentClient, type HttpClient, httpClient } from "../e2e/testing/http-client.ts";
import {
  type PosternProcess,
  type RunningTool,
  startPostern,
  startTool,
  temporaryDirectory,
} from "../e2e/testing/postern-process.ts";
import { startTwoOnEtcd } from "../e2e/testing/two-on-etcd.ts";
import { createFrontProxyFiles, type FrontProxyFiles } from "./testing/front-proxy-files.ts";

const API = "/apis/management.postern/v1";
const INSTANCES = `${API}/namespaces/p-default/virtualclusterinstances`;
const RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/p-default/rolebindings";
const WHO_AM_I = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const REVIEW = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
const MERGE = { "content-type": "application/merge-patch+json" };
const POLL = { timeout: 60_000, interval: 50 };
/** So many that hardly ever all are at one thread. */
const CONNECTIONS = 12;

type World = {
  readonly files: FrontProxyFiles;
  readonly servers: readonly PosternProcess[];
  readonly admin: string;
  /** By a certificate, over many connections to each server. */
  proxies(certificate: string): Promise<Connections>;
  readonly ask: HttpClient;
};

const named = (user: string, ...groups: string[]) => ({
  "x-remote-user": user,
  ...(groups.length === 0 ? {} : { "x-remote-group": groups }),
});

async function worldOf(files: FrontProxyFiles, servers: readonly PosternProcess[]): Promise<World> {
  const [first] = servers;
  if (first === undefined) throw new Error("no server");
  const admin = await adminKey(first);
  const ask = await httpClient(first);
  await vi.waitUntil(async () => (await ask(`${INSTANCES}/demo`, { key: admin })).body.status?.phase === "Ready", POLL);
  return {
    ...{ files, servers, admin, ask },
    async proxies(certificate) {
      const [cert, key] = await Promise.all(
        ["pem", "key"].map((kind) => readFile(files.path(`${certificate}.${kind}`))),
      );
      const agents: Agent[] = [];
      const clients: HttpClient[] = [];
      for (const server of servers) {
        const ca = await readFile(server.caFile);
        for (let at = 0; at < CONNECTIONS / servers.length; at++) {
          const agent = new Agent({ ca, ...(cert && { cert }), ...(key && { key }), keepAlive: true, maxSockets: 1 });
          agents.push(agent);
          clients.push(agentClient(server.url, agent));
        }
      }
      return {
        clients,
        [Symbol.dispose]() {
          for (const agent of agents) agent.destroy();
        },
      };
    },
  };
}

async function filesIn(directory: string): Promise<FrontProxyFiles> {
  const files = await createFrontProxyFiles(directory);
  for (const name of ["authority", "next"]) await files.makeAuthority(name);
  await files.makeCertificate("front-proxy", "front-proxy-client", "authority");
  await files.makeCertificate("later", "front-proxy-client", "next");
  await writeFile(files.path("trusted.pem"), await readFile(files.path("authority.pem")));
  return files;
}

const suite = (world: () => World): void => {
  /** Statuses of the answers on all connections, without repetitions. */
  const answers = async (certificate: string, user: string, path: string): Promise<readonly unknown[]> => {
    using connections = await world().proxies(certificate);
    const { clients } = connections;
    const found = await Promise.all(clients.map((client) => client(path, { headers: named(user, "devs") })));
    return [...new Set(found.map(({ status }) => status))];
  };
  const watch = (user: string, server: PosternProcess): RunningTool =>
    startTool("curl", [
      ...["--silent", "--no-buffer", "--cacert", server.caFile, "--header", `X-Remote-User: ${user}`],
      ...["--cert", world().files.path("front-proxy.pem"), "--key", world().files.path("front-proxy.key")],
      `${server.url}${INSTANCES}?watch=true`,
    ]);
  const bound = async (name: string, user: string): Promise<void> => {
    const made = await world().ask(RBAC, {
      key: world().admin,
      body: {
        metadata: { name },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "postern:project-viewer" },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
      },
    });
    expect(made.status, made.text).toBe(201);
  };

  it("is known on every connection, with its user and no other", async () => {
    using connections = await world().proxies("front-proxy");
    for (const client of connections.clients) {
      const { body } = await client(WHO_AM_I, { headers: named("eve", "system:masters"), body: REVIEW });
      expect(body.status.userInfo).toMatchObject({
        username: "host:eve",
        groups: ["host:system:masters", "system:authenticated"],
      });
    }
    expect(await answers("later", "eve", `${API}/projects`)).toEqual([403]);
  });

  it("gets what a role allows from the answer to the binding on, and nothing once that is gone", async () => {
    expect(await answers("front-proxy", "ida", `${INSTANCES}/demo`)).toEqual([403]);
    await bound("ida", "host:ida");
    expect(await answers("front-proxy", "ida", `${INSTANCES}/demo`)).toEqual([200]);
    const gone = await world().ask(`${RBAC}/ida`, { key: world().admin, method: "DELETE" });
    expect(gone.status).toBe(200);
    expect(await answers("front-proxy", "ida", `${INSTANCES}/demo`)).toEqual([403]);
  });

  it("ends with the User on every connection, also what is open", async () => {
    const { ask, admin, servers } = world();
    const user = { metadata: { name: "joe" }, spec: { subject: "host:joe" } };
    expect((await ask(`${API}/users`, { key: admin, body: user })).status).toBe(201);
    await bound("joe", "host:joe");
    expect(await answers("front-proxy", "joe", `${INSTANCES}/demo`)).toEqual([200]);
    const watches = servers.map((server) => watch("joe", server));
    for (const each of watches) await vi.waitUntil(() => each.output().includes('"demo"'), POLL);
    const body = { spec: { disabled: true } };
    expect((await ask(`${API}/users/joe`, { key: admin, method: "PATCH", headers: MERGE, body })).status).toBe(200);
    expect(await answers("front-proxy", "joe", `${INSTANCES}/demo`)).toEqual([401]);
    for (const each of watches) await vi.waitUntil(() => each.isOver(), POLL);
  });

  it("gives keys that every server takes, and that end soon", async () => {
    const { ask, admin } = world();
    const user = { metadata: { name: "kim" }, spec: { subject: "host:kim" } };
    expect((await ask(`${API}/users`, { key: admin, body: user })).status).toBe(201);
    using connections = await world().proxies("front-proxy");
    for (const [at, client] of connections.clients.entries()) {
      const body = { apiVersion: "management.postern/v1", kind: "OwnedAccessKey", metadata: { name: `kim-${at}` } };
      const made = await client(`${API}/ownedaccesskeys`, { headers: named("kim"), body: { ...body, spec: {} } });
      expect(made.status, made.text).toBe(201);
      expect(made.body.spec.ttl).toBe(3_600);
      for (const server of world().servers) {
        const other = await httpClient(server);
        expect((await other(`${API}/users/kim`, { key: made.body.spec.key })).status).toBe(200);
      }
    }
  });

  it("trusts a changed CA on every connection, and the earlier one on none", async () => {
    const { files, servers } = world();
    await bound("lea", "host:lea");
    const watches = servers.map((server) => watch("lea", server));
    for (const each of watches) await vi.waitUntil(() => each.output().includes('"demo"'), POLL);
    await writeFile(files.path("trusted.pem"), await readFile(files.path("next.pem")));
    const isOnly = async (certificate: string, status: number): Promise<boolean> =>
      (await answers(certificate, "lea", `${INSTANCES}/demo`)).every((found) => found === status);
    await vi.waitUntil(() => isOnly("later", 200), POLL);
    await vi.waitUntil(() => isOnly("front-proxy", 403), POLL);
    for (const each of watches) await vi.waitUntil(() => each.isOver(), POLL);
  });
};

describe.skipIf(whyNoEtcd() !== undefined)("a front proxy of two servers on one etcd", () => {
  const teardown = createTeardown();
  let world: World;
  beforeAll(async () => {
    const { path } = teardown.use(await temporaryDirectory());
    const files = await filesIn(path);
    const flags = ["--requestheader-client-ca-file", files.path("trusted.pem"), "--failed-logins-per-minute", "0"];
    const { servers } = teardown.use(await startTwoOnEtcd(startPostern, flags));
    world = await worldOf(files, servers);
  });
  afterAll(() => teardown.run());

  suite(() => world);
});

if (NODE_WITH_THREADS === undefined) process.stdout.write(`${WHY_NO_THREADS}\n`);

describe.skipIf(NODE_WITH_THREADS === undefined)("a front proxy of a server with two threads", () => {
  const teardown = createTeardown();
  let world: World;
  beforeAll(async () => {
    const { path } = teardown.use(await temporaryDirectory());
    const files = await filesIn(path);
    const flags = ["--requestheader-client-ca-file", files.path("trusted.pem"), "--failed-logins-per-minute", "0"];
    const server = teardown.use(
      await startPostern(files.path("data"), ["--threads", "2", ...flags], { node: NODE_WITH_THREADS ?? "" }),
    );
    world = await worldOf(files, [server]);
  });
  afterAll(() => teardown.run());

  suite(() => world);
});
