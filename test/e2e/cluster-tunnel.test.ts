// A cluster that an agent connects, over real TLS: what works with a kubeconfig works through the tunnel.

import { readFile, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { openStream, openWebSocket } from "./testing/open-streams.ts";
import { temporaryDirectory } from "./testing/postern-process.ts";
import { runSmallChart } from "./testing/small-chart.ts";
import {
  type AgentProcess,
  type AgentStart,
  connectByAgent,
  startAgent,
  writeAgentState,
} from "./testing/tunnelled-cluster.ts";
import { clusterPath, INSTANCES, MANAGEMENT, ownAddress, type Server, startServer } from "./testing/two-posterns.ts";
import { writeKubeconfig } from "./testing/write-kubeconfig.ts";

const WAIT = { timeout: 60_000, interval: 100 };
const SPACES = `${MANAGEMENT}/namespaces/p-default/spaceinstances`;
/** A vcluster whose kubeconfig names a loopback address is looked for inside its cluster. */
const FAR_ADDRESS = ownAddress();
/** The connected cluster, through the tunnel, and at the far server itself. */
const THROUGH = "/kubernetes/cluster/edge";
const DIRECT = clusterPath("demo");

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let near: Server;
let far: Server;
let agent: AgentProcess;
let farAuthority: Buffer;

const clusterStatus = async (): Promise<any> => (await near.send(`${MANAGEMENT}/clusters/edge`)).status;
const conditionOf = async (type: string): Promise<any> =>
  (await clusterStatus()).conditions?.find((condition: { type: string }) => condition.type === type);

/** The far cluster's own RBAC decides about callers, by their names here. */
async function letAdminIn(): Promise<void> {
  const binding = {
    ...{ apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding", metadata: { name: "near-admin" } },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "admin" }],
  };
  const path = `${DIRECT}/apis/rbac.authorization.k8s.io/v1/clusterrolebindings`;
  const { status } = await far.http(path, { key: far.key, body: binding });
  expect([201, 409]).toContain(status);
  await expect
    .poll(async () => (await near.http(`${THROUGH}/api/v1/namespaces`, { key: near.key })).status, WAIT)
    .toBe(200);
}

beforeAll(async () => {
  directory = await temporaryDirectory();
  const flags = ["--proxy-health-check-interval-seconds", "1"];
  [near, far] = await Promise.all([
    startServer(join(directory.path, "near"), flags),
    startServer(join(directory.path, "far"), FAR_ADDRESS === undefined ? [] : ["--bind-address", FAR_ADDRESS]),
  ]);
  farAuthority = await readFile(far.process.caFile);
  ({ agent } = await connectByAgent({ near, far, directory: directory.path }, "edge"));
});
afterAll(async () => {
  await agent?.[Symbol.asyncDispose]();
  await near?.[Symbol.asyncDispose]();
  await far?.[Symbol.asyncDispose]();
  await directory?.[Symbol.asyncDispose]();
});

describe("a cluster that an agent connects", () => {
  it("is Connected and Initialized, and shows version and agent", async () => {
    await expect.poll(() => clusterStatus(), WAIT).toMatchObject({ phase: "Initialized", online: true });
    expect(await conditionOf("Connected")).toMatchObject({ status: "True", reason: "AgentConnected" });
    expect(await conditionOf("AgentOutdated")).toMatchObject({ status: "False", reason: "VersionsMatch" });
    const { version } = await far.send(`${DIRECT}/version`).then((answer) => ({ version: answer.gitVersion }));
    await expect.poll(async () => (await clusterStatus()).agent?.connections, WAIT).toBe(2);
    expect((await clusterStatus()).version).toBe(version);
  });

  it("has its API: reads, writes, apply, and a watch that sees them as they happen", async () => {
    await letAdminIn();
    const maps = `${THROUGH}/api/v1/namespaces/default/configmaps`;
    await using watch = await openStream(near, `${maps}?watch=1`);
    const made = await near.send(maps, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "made" },
      data: { a: "b" },
    });
    expect(made.metadata.uid).toBe(
      (await far.send(`${DIRECT}/api/v1/namespaces/default/configmaps/made`)).metadata.uid,
    );
    await expect.poll(() => watch.text(), WAIT).toContain('"name":"made"');
    await far.send(`${DIRECT}/api/v1/namespaces/default/configmaps/made`, { data: { a: "c" } }, "PATCH");
    await expect.poll(() => watch.text(), WAIT).toContain('"a":"c"');
    const applied = await near.http(`${maps}/applied?fieldManager=test`, {
      method: "PATCH",
      key: near.key,
      body: JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "applied" }, data: { x: "y" } }),
      headers: { "content-type": "application/apply-patch+yaml" },
    });
    expect(applied.status, applied.text).toBe(201);
    const all = await near.send(`${maps}?limit=500`);
    expect(all.items.map(({ metadata }: any) => metadata.name)).toEqual(expect.arrayContaining(["applied", "made"]));
  });

  it("takes a body of megabytes, and gives one", async () => {
    await letAdminIn();
    const data = { text: "x".repeat(900_000) };
    const maps = `${THROUGH}/api/v1/namespaces/default/configmaps`;
    await near.send(maps, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "large" }, data });
    const answers = await Promise.all(Array.from({ length: 8 }, () => near.send(`${maps}/large`)));
    for (const answer of answers) expect(answer.data.text.length).toBe(900_000);
  });

  it("takes upgrades: a watch over a WebSocket", async () => {
    await letAdminIn();
    const socket = await openWebSocket(near, `${THROUGH}/api/v1/namespaces/default/configmaps?watch=1`);
    await near.send(`${THROUGH}/api/v1/namespaces/default/configmaps`, {
      ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "over-websocket" } },
    });
    await expect.poll(() => socket.text(), WAIT).toContain("over-websocket");
    socket.close();
  });

  it("has spaces, whose namespaces are made through the tunnel", async () => {
    await near.create(SPACES, {
      kind: "SpaceInstance",
      metadata: { name: "team" },
      spec: { owner: { user: "admin" }, clusterRef: { cluster: "edge", namespace: "team-a" } },
    });
    await expect.poll(async () => (await near.send(`${SPACES}/team`)).status, WAIT).toMatchObject({ phase: "Ready" });
    expect((await far.send(`${DIRECT}/api/v1/namespaces/team-a`)).metadata.labels).toMatchObject({
      "app.kubernetes.io/managed-by": "postern",
    });
    const maps = "/kubernetes/project/default/space/team/api/v1/namespaces/team-a/configmaps";
    const made = await near.http(maps, {
      key: near.key,
      body: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "in-space" } },
    });
    expect(made.status, made.text).toBe(201);
    await near.send(`${SPACES}/team`, undefined, "DELETE");
  });

  it("takes a release of helm, its changes, and its end", async () => {
    await letAdminIn();
    const server = `${near.process.url}${THROUGH}`;
    const { key: token } = near;
    const { caFile } = near.process;
    const kubeconfig = await writeKubeconfig(join(directory.path, "through.kubeconfig"), { server, token, caFile });
    await runSmallChart(directory.path, kubeconfig, async () => {
      const path = `${DIRECT}/api/v1/namespaces/default/configmaps/of-helm`;
      return (await far.http(path, { key: far.key })).body.data;
    });
  });

  it.runIf(FAR_ADDRESS !== undefined)("has a vcluster, whose Secret is read through the tunnel", async () => {
    await far.create(INSTANCES, {
      kind: "VirtualClusterInstance",
      metadata: { name: "inner" },
      spec: { template: { accessPoint: { ingress: { enabled: true } } } },
    });
    await expect.poll(async () => (await far.send(`${INSTANCES}/inner`)).status.phase, WAIT).toBe("Ready");
    const asked = await far.send(`${INSTANCES}/inner/kubeconfig`, { spec: { clientCert: true } });
    await far.send(`${DIRECT}/api/v1/namespaces`, { metadata: { name: "p-default" } });
    const secret = { metadata: { name: "vc-inner" }, stringData: { config: asked.status.kubeConfig } };
    await far.send(`${DIRECT}/api/v1/namespaces/p-default/secrets`, secret);
    await near.create(INSTANCES, {
      kind: "VirtualClusterInstance",
      metadata: { name: "inner" },
      spec: { clusterRef: { cluster: "edge" } },
    });
    await expect
      .poll(async () => (await near.send(`${INSTANCES}/inner`)).status, WAIT)
      .toMatchObject({ phase: "Ready" });
    const maps = `${clusterPath("inner")}/api/v1/namespaces/default/configmaps`;
    await near.send(maps, { metadata: { name: "from-near" } });
    expect((await far.send(`${maps}/from-near`)).metadata.name).toBe("from-near");
  });

  it("answers requests, by the names of their callers", async () => {
    const path = `${THROUGH}/apis/authentication.k8s.io/v1/selfsubjectreviews`;
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
    const { userInfo } = (await near.send(path, review)).status;
    expect(userInfo.username).toBe("admin");
    expect(userInfo.groups.filter((group: string) => group.startsWith("system:"))).toEqual(["system:authenticated"]);
  });
});

describe("an external virtual cluster whose agent is known by its ServiceAccount", () => {
  const OUTER = "/kubernetes/project/default/virtualcluster/outer";
  let start: AgentStart;
  let stateFile = "";
  let outer: AgentProcess;
  const isReached = () =>
    expect.poll(async () => (await near.http(`${OUTER}/version`, { key: near.key })).status, WAIT).toBe(200);

  beforeAll(async () => {
    const accounts = `${DIRECT}/api/v1/namespaces/default/serviceaccounts`;
    await far.send(accounts, { metadata: { name: "agent" } });
    const asked = await far.send(`${accounts}/agent/token`, { spec: { audiences: [near.process.url] } });
    const tokenFile = join(directory.path, "token");
    await writeFile(tokenFile, asked.status.token, { mode: 0o600 });
    const spec = { external: true, networkPeer: true };
    await near.create(INSTANCES, { kind: "VirtualClusterInstance", metadata: { name: "outer" }, spec });
    const { status } = await near.create(`${INSTANCES}/outer/join`, { kind: "ClusterJoin" });
    const value = status.url.slice(status.url.lastIndexOf("/") + 1);
    stateFile = join(directory.path, "outer-agent.key");
    start = {
      stateFile: await writeAgentState(near, stateFile, value),
      kubeconfig: join(directory.path, "edge.kubeconfig"),
      flags: ["--identity-token-file", tokenFile],
    };
    outer = startAgent(start);
  });
  afterAll(() => outer?.[Symbol.asyncDispose]());

  it("keeps no key: it connects again with the token of its ServiceAccount", async () => {
    await isReached();
    const state = JSON.parse(await readFile(stateFile, "utf8"));
    expect(state).toMatchObject({ identity: "token", cluster: "outer", namespace: "p-default" });
    expect(Object.keys(state).filter((member) => ["key", "join", "key-made"].includes(member))).toEqual([]);
    await outer.stop("SIGKILL");
    outer = startAgent(start);
    await isReached();
    expect(outer.output()).toContain("token exchanged for a key");
  });

  it("signs client certificates, as asked through the tunnel, that are good at its own address", async () => {
    await isReached();
    const spec = { clientCert: true, server: `${far.process.url}${DIRECT}` };
    const { status } = await near.send(`${INSTANCES}/outer/kubeconfig`, { spec });
    const { user } = parse(status.kubeConfig).users[0];
    const [cert, key] = ["client-certificate-data", "client-key-data"].map((name) => Buffer.from(user[name], "base64"));
    const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
    const { userInfo } = await new Promise<any>((resolve, reject) => {
      const sent = request(`${spec.server}/apis/authentication.k8s.io/v1/selfsubjectreviews`, {
        ...{ method: "POST", ca: farAuthority, cert, key, agent: false },
        headers: { "content-type": "application/json" },
      });
      sent.on("error", reject);
      sent.once("response", (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk) => (text += chunk));
        response.on("end", () => {
          if (response.statusCode === 201) resolve(JSON.parse(text).status);
          else reject(new Error(text));
        });
      });
      sent.end(JSON.stringify(review));
    });
    expect(userInfo.username).toBe("admin");
  });
});
