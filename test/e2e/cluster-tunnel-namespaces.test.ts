// A connected cluster in a network of its own, to which the platform has no route: the agent's way out is an HTTP proxy. The manifests are applied as they
// are served, and the agent has the ServiceAccount that they make. The cluster is one of a second server, or, with KUBE_APISERVER=/path/to/kube-apiserver,
// a real one (with the kube-controller-manager beside it, where there is one).

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { createNetwork, type Network } from "../crash/testing/network-namespaces.ts";
import { type HttpProxy, startHttpProxy } from "./testing/http-proxy.ts";
import { startKubeApiServer } from "./testing/kube-apiserver.ts";
import { kubernetesTools } from "./testing/kubernetes-tools.ts";
import { startNoisyRelay } from "./testing/noisy-relay.ts";
import { openStream, openWebSocket } from "./testing/open-streams.ts";
import { type PodCluster, servePodCluster } from "./testing/pod-cluster.ts";
import {
  FRONT_THREADS,
  kubectlWith,
  NODE,
  type Outcome,
  startTool,
  succeed,
  temporaryDirectory,
  tool,
} from "./testing/postern-process.ts";
import { runSmallChart } from "./testing/small-chart.ts";
import {
  type AgentProcess,
  joinValue,
  startAgent,
  writeAgentState,
  writeFarKubeconfig,
} from "./testing/tunnelled-cluster.ts";
import { INSTANCES, MANAGEMENT, type Server, startServer } from "./testing/two-posterns.ts";
import { writeKubeconfig } from "./testing/write-kubeconfig.ts";

const WAIT = { timeout: 60_000, interval: 200 };
const KUBE = process.env["KUBE_APISERVER"];
const THROUGH = "/kubernetes/cluster/edge";
const MAPS = "/api/v1/namespaces/default/configmaps";
const SPACES = `${MANAGEMENT}/namespaces/p-default/spaceinstances`;
const OUTER = "/kubernetes/project/default/virtualcluster/outer";
/** A dead peer is found after 15 s; and this machine may be busy. */
const HANGS_MS = 20_000 * 2;
const DELAY_MS = 50;
const LOST_PERCENT = 2;
const EVENTS = 40;
/** Connections, of which each thread is given some. */
const ASKED = FRONT_THREADS === 1 ? 1 : 8 * FRONT_THREADS;
/** The etcd of a run is at 127.0.0.1, which is another one in these networks. */
const STORE = ["--store", "sqlite"];

type Kubectl = (args: readonly string[], input?: string) => Promise<Outcome>;
/** The cluster, as its own administrators see it. */
type Cluster = AsyncDisposable & {
  readonly server: string;
  readonly caFile: string;
  readonly kubeconfig: string;
  readonly signs: boolean;
};

/** That of the platform, and that of the cluster. This machine is in both, and passes nothing from one to the other. */
const networks = createNetworks();

function createNetworks(): readonly [Network, Network] | undefined {
  const platform = createNetwork(1);
  const cluster = platform && createNetwork(1);
  if (cluster !== undefined && platform !== undefined) return [platform, cluster];
  platform?.[Symbol.dispose]();
  return undefined;
}

it.runIf(networks === undefined)("is left out", ({ skip }) => skip("network namespaces can only be made by root"));

describe.skipIf(networks === undefined)(`a cluster without a way in (${KUBE ?? "embedded"})`, () => {
  const [platformSide, clusterSide] = networks ?? [];
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let near: Server;
  let cluster: Cluster;
  let proxy: HttpProxy;
  let pods: PodCluster | undefined;
  const agents: AgentProcess[] = [];
  /** As an administrator of the cluster, in its network. */
  let inside: Kubectl;
  /** As a user of the platform. */
  let through: Kubectl;
  let throughConfig: string;

  const hostOf = (network: Network | undefined) => {
    const [host] = network?.hosts ?? [];
    if (host === undefined) throw new Error("there is no network");
    return host;
  };
  const gateway = (): string => clusterSide?.gateway ?? "";
  const path = (name: string): string => join(directory.path, name);
  const kubectl = async (config: string): Promise<Kubectl> =>
    kubectlWith(config, `${config}.cache`, (await kubernetesTools("1.35")).kubectl);
  const statusAt = async (at: string): Promise<number> => (await near.http(at, { key: near.key })).status;
  const isReached = async (): Promise<void> => {
    try {
      // Each thread that serves requests has tunnels of its own.
      const statuses = () => Promise.all(Array.from({ length: ASKED }, () => statusAt(`${THROUGH}/version`)));
      await expect.poll(async () => [...new Set(await statuses())], WAIT).toEqual([200]);
    } catch (error) {
      throw new Error(agents.map((agent) => agent.output()).join("\n"), { cause: error });
    }
  };
  const connected = async (): Promise<string> => {
    const { status } = await near.send(`${MANAGEMENT}/clusters/edge`);
    return status?.conditions?.find(({ type }: { type: string }) => type === "Connected")?.status;
  };
  /** A token of the ServiceAccount that the manifests make. */
  const accountToken = async (...args: readonly string[]): Promise<string> =>
    (await succeed(inside(["create", "token", "postern-agent", "--namespace", "postern-agent", ...args]))).trim();

  beforeAll(async () => {
    directory = await temporaryDirectory();
    const [ofPlatform, ofCluster] = [hostOf(platformSide), hostOf(clusterSide)];
    const flags = [...STORE, "--bind-address", ofPlatform.address, "--proxy-health-check-interval-seconds", "1"];
    near = await startServer(path("near"), flags, { run: ofPlatform.run });
    proxy = await startHttpProxy(gateway());
    cluster =
      KUBE === undefined
        ? await startEmbedded(path("far"), path("far.kubeconfig"))
        : await startKubeApiServer(KUBE, ofCluster, path("kube"));
    inside = await kubectl(cluster.kubeconfig);
    const { url, caFile } = near.process;
    throughConfig = await writeKubeconfig(path("through.kubeconfig"), {
      ...{ server: `${url}${THROUGH}`, token: near.key, caFile },
    });
    through = await kubectl(throughConfig);
  });
  afterAll(async () => {
    for (const agent of agents) await agent[Symbol.asyncDispose]();
    await pods?.[Symbol.asyncDispose]();
    proxy?.close();
    await cluster?.[Symbol.asyncDispose]();
    await near?.[Symbol.asyncDispose]();
    for (const network of networks ?? []) network[Symbol.dispose]();
    await directory?.[Symbol.asyncDispose]();
  });

  async function startEmbedded(dataDir: string, kubeconfig: string): Promise<Cluster> {
    const { address, run } = hostOf(clusterSide);
    const far = await startServer(dataDir, [...STORE, "--bind-address", address], { run });
    // Objects of the manifests are stored, and no pod is run.
    await far.send(`${INSTANCES}/demo`, { spec: { template: { workloads: "stored" } } }, "PATCH");
    await writeFarKubeconfig(far, kubeconfig);
    const server = parse(await readFile(kubeconfig, "utf8")).clusters[0].cluster.server;
    const { caFile } = far.process;
    return { server, caFile, kubeconfig, signs: true, [Symbol.asyncDispose]: () => far[Symbol.asyncDispose]() };
  }

  /** The error code of a connection from a host to an address; empty where it opens. */
  async function dial(network: Network | undefined, to: string): Promise<string> {
    const { hostname, port } = new URL(to);
    const script = `require("net").connect(${port}, "${hostname}").on("error", (e) => console.log(e.code)).on("connect", () => process.exit())`;
    const [program = NODE, ...args] = [...hostOf(network).run, NODE, "-e", script];
    return (await succeed(tool(program, args))).trim();
  }

  it("is reached by no address of the platform, nor the platform by one of its own", async () => {
    expect(await dial(platformSide, cluster.server)).toBe("ENETUNREACH");
    expect(await dial(clusterSide, near.process.url)).toBe("ENETUNREACH");
    expect(await dial(clusterSide, proxy.url)).toBe("");
  });

  it("is connected by the manifests as they are served, with their ServiceAccount, through the proxy", async () => {
    const value = await joinValue(near, "edge");
    const { status, text } = await near.http(`/join/${value}`);
    expect(status, text).toBe(200);
    expect(await succeed(inside(["apply", "-f", "-"], text))).toContain("deployment.apps/postern-agent created");
    const { server, caFile } = cluster;
    const account = { server, caFile, token: await accountToken(), namespace: "postern-agent" };
    const kubeconfig = await writeKubeconfig(path("agent.kubeconfig"), account);
    const { run } = hostOf(clusterSide);
    // Two replicas, as the manifests have them: they share the Secret.
    for (const pod of ["one", "other"])
      agents.push(startAgent({ kubeconfig, run, env: { HTTPS_PROXY: proxy.url, POD_NAME: pod } }));
    await isReached();
    await expect.poll(connected, WAIT).toBe("True");
    expect(proxy.targets()).toEqual([new URL(near.process.url).host]);
    const admin = await kubectl(near.process.adminKubeconfig);
    expect(await succeed(admin(["get", "clusters"]))).toMatch(/^edge +/m);
    // The ServiceAccount may impersonate, and read nothing itself.
    const own = await kubectl(kubeconfig);
    expect((await own(["get", "configmaps", "--namespace", "default"])).stderr).toContain("forbidden");
  });

  it("has two replicas, of which one is enough", async () => {
    const connections = async (): Promise<number> =>
      (await near.send(`${MANAGEMENT}/clusters/edge`)).status.agent?.connections;
    await expect.poll(connections, WAIT).toBe(4);
    await agents.shift()?.stop("SIGKILL");
    await expect.poll(connections, WAIT).toBe(2);
    const answers = await Promise.all(Array.from({ length: 20 }, () => statusAt(`${THROUGH}/version`)));
    expect(new Set(answers)).toEqual(new Set([200]));
  });

  it("has its own RBAC for the users of the platform", async () => {
    expect((await through(["get", "configmaps"])).stderr).toContain('User "admin" cannot list resource "configmaps"');
    await succeed(
      inside(["create", "clusterrolebinding", "near-admin", "--clusterrole=cluster-admin", "--user=admin"]),
    );
    await expect.poll(async () => (await through(["get", "configmaps"])).code, WAIT).toBe(0);
  });

  it("takes kubectl get, apply and a watch, which sees what others change", async () => {
    using watch = startTool((await kubernetesTools("1.35")).kubectl, [
      ...["--kubeconfig", throughConfig, "--cache-dir", `${throughConfig}.watch`],
      ...["get", "configmaps", "--watch", "--output", "jsonpath={.metadata.name}={.data.a}{'\\n'}"],
    ]);
    const map = (value: string): string =>
      JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "made" }, data: { a: value } });
    const apply = (value: string) => succeed(through(["apply", "--server-side", "-f", "-"], map(value)));
    expect(await apply("one")).toContain("configmap/made serverside-applied");
    await expect.poll(() => watch.output(), WAIT).toContain("made=one\n");
    await apply("two");
    expect(await succeed(inside(["get", "configmap", "made", "--output", "jsonpath={.data.a}"]))).toBe("two");
    await expect.poll(() => watch.output(), WAIT).toContain("made=two\n");
    await succeed(inside(["patch", "configmap", "made", "--patch", '{"data":{"a":"three"}}']));
    await expect.poll(() => watch.output(), WAIT).toContain("made=three\n");
  });

  // A kube-apiserver takes one with an Origin alone, which the platform takes from no client.
  it.runIf(KUBE === undefined)("takes an upgrade: a watch over a WebSocket", async () => {
    const socket = await openWebSocket(near, `${THROUGH}${MAPS}?watch=1`);
    await succeed(inside(["create", "configmap", "over-websocket"]));
    await expect.poll(() => socket.text(), WAIT).toContain("over-websocket");
    socket.close();
  });

  it.skipIf(KUBE === undefined)("takes what kubectl exec sends and gets, to a kubelet", async () => {
    pods = await servePodCluster(gateway());
    const { port, hostname } = new URL(pods.url);
    const node = { apiVersion: "v1", kind: "Node", metadata: { name: "node" } };
    await succeed(inside(["create", "-f", "-"], JSON.stringify(node)));
    const addresses = [{ type: "InternalIP", address: hostname }];
    const status = { addresses, daemonEndpoints: { kubeletEndpoint: { Port: Number(port) } } };
    await succeed(
      inside(["patch", "node", "node", "--subresource=status", "--type=merge", "--patch", JSON.stringify({ status })]),
    );
    const spec = { nodeName: "node", containers: [{ name: "main", image: "example.com/main", stdin: true }] };
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "web" }, spec };
    await succeed(inside(["create", "-f", "-"], JSON.stringify(pod)));
    const outcome = await through(["exec", "-i", "web", "--", "sh", "-c", "cat; exit 3"], "what was typed\n");
    expect(outcome, outcome.stderr).toMatchObject({ code: 3, stdout: "what was typed\n" });
  });

  it("takes a release of helm, its change, and its end", async () => {
    await runSmallChart(directory.path, throughConfig, async () => {
      const { code, stdout } = await inside(["get", "configmap", "of-helm", "--output", "json"]);
      return code === 0 ? JSON.parse(stdout).data : undefined;
    });
  });

  it("has a space, whose namespace is made through the tunnel", async () => {
    await near.create(SPACES, {
      kind: "SpaceInstance",
      metadata: { name: "team" },
      spec: { owner: { user: "admin" }, clusterRef: { cluster: "edge", namespace: "team-a" } },
    });
    await expect.poll(async () => (await near.send(`${SPACES}/team`)).status, WAIT).toMatchObject({ phase: "Ready" });
    const { url, caFile } = near.process;
    const server = `${url}/kubernetes/project/default/space/team`;
    const config = await writeKubeconfig(path("space.kubeconfig"), {
      ...{ server, token: near.key, caFile, namespace: "team-a" },
    });
    await succeed((await kubectl(config))(["create", "configmap", "in-space"]));
    expect(await succeed(inside(["get", "configmaps", "--namespace", "team-a"]))).toContain("in-space");
    await near.send(`${SPACES}/team`, undefined, "DELETE");
  });

  it("has kubeconfigs with a token and with a certificate, and one that leads past the platform", async () => {
    const spec = { external: true, networkPeer: true };
    await near.create(INSTANCES, { kind: "VirtualClusterInstance", metadata: { name: "outer" }, spec });
    const joined = await near.create(`${INSTANCES}/outer/join`, { kind: "ClusterJoin" });
    const value = joined.status.url.slice(joined.status.url.lastIndexOf("/") + 1);
    agents.push(
      startAgent({
        stateFile: await writeAgentState(near, path("outer-agent.key"), value),
        kubeconfig: path("agent.kubeconfig"),
        run: hostOf(clusterSide).run,
        env: { HTTPS_PROXY: proxy.url },
      }),
    );
    await expect.poll(() => statusAt(`${OUTER}/version`), WAIT).toBe(200);
    const whoami = ["auth", "whoami", "--output", "jsonpath={.status.userInfo.username}"];
    for (const [name, wanted] of [
      ["token", {}],
      ["certificate", { clientCert: true }],
      ...(cluster.signs ? [["past", { clientCert: true, server: cluster.server }] as const] : []),
    ] as const) {
      const { status } = await near.send(`${INSTANCES}/outer/kubeconfig`, { spec: wanted });
      const members = Object.keys(parse(status.kubeConfig).users[0].user).sort();
      expect(members, name).toEqual(name === "token" ? ["token"] : ["client-certificate-data", "client-key-data"]);
      const file = path(`${name}.kubeconfig`);
      await writeFile(file, status.kubeConfig, { mode: 0o600 });
      // The platform does not know the CA of the cluster.
      const trusted = name === "past" ? ["--certificate-authority", cluster.caFile] : [];
      expect(await succeed((await kubectl(file))([...trusted, ...whoami])), name).toBe("admin");
    }
  });

  it("is not connected while its link is down, answers that without a hang, and comes back", async () => {
    const watch = await openStream(near, `${THROUGH}${MAPS}?watch=1`);
    clusterSide?.setLink(0, "down");
    const begunAt = performance.now();
    const refused = await Promise.race([
      near.http(`${THROUGH}/version`, { key: near.key }),
      new Promise<never>((_, reject) => setTimeout(() => reject(new Error("a request hung")), HANGS_MS).unref()),
    ]);
    expect(refused.status).toBeGreaterThanOrEqual(502);
    await watch.ended;
    await expect.poll(connected, WAIT).toBe("False");
    const downMs = performance.now() - begunAt;
    clusterSide?.setLink(0, "up");
    await isReached();
    await expect.poll(connected, WAIT).toBe("True");
    process.stdout.write(`link down: refused, and the watch ended, within ${Math.round(downMs / 1_000)} s\n`);
  });

  it(`brings each event once and lists whole, ${2 * DELAY_MS} ms away with ${LOST_PERCENT} % lost`, async ({
    skip,
  }) => {
    if (clusterSide?.lose(0, LOST_PERCENT) !== true) return skip("neither netem nor iptables can lose packets here");
    const { hostname, port } = new URL(near.process.url);
    const relay = await startNoisyRelay({ host: hostname, port: Number(port) }, DELAY_MS);
    try {
      proxy.lead({ host: "127.0.0.1", port: Number(new URL(relay.url).port) });
      proxy.cut();
      await expect.poll(connected, WAIT).toBe("False");
      await isReached();
      const { metadata } = await near.send(`${THROUGH}${MAPS}`);
      await using watch = await openStream(
        near,
        `${THROUGH}${MAPS}?watch=1&resourceVersion=${metadata.resourceVersion}`,
      );
      const data = { text: "x".repeat(200_000) };
      const made: string[] = [];
      for (let count = 0; count < EVENTS; count++) {
        const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: `lossy-${count}` }, data };
        made.push((await near.send(`${THROUGH}${MAPS}`, map)).metadata.resourceVersion);
      }
      const seen = (): readonly string[] =>
        watch
          .text()
          .split("\n")
          .slice(0, -1)
          .map((line) => JSON.parse(line).object.metadata.resourceVersion);
      await expect.poll(() => seen().length, WAIT).toBeGreaterThanOrEqual(made.length);
      expect(seen()).toEqual(made);
      const [listed, direct] = [
        await near.send(`${THROUGH}${MAPS}`),
        JSON.parse(await succeed(inside(["get", "--raw", MAPS]))),
      ];
      const versions = ({ items }: any) =>
        items.map((item: any) => [item.metadata.name, item.metadata.resourceVersion]);
      expect(versions(listed)).toEqual(versions(direct));
    } finally {
      relay.close();
    }
  });
});
