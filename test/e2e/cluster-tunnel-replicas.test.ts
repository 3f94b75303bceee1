// An agent behind a load balancer of two servers on one etcd: each of them reaches the cluster, a value is used once, and a leave ends all.

import { connect as connectTo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { joinSockets } from "./testing/join-sockets.ts";
import { FRONT_THREADS } from "./testing/postern-process.ts";
import {
  type AgentProcess,
  joinValue,
  startAgent,
  writeAgentState,
  writeFarKubeconfig,
} from "./testing/tunnelled-cluster.ts";
import { startTwoOnEtcd, type TwoOnEtcd } from "./testing/two-on-etcd.ts";
import { MANAGEMENT, type Server, startServer } from "./testing/two-posterns.ts";

const WAIT = { timeout: 60_000, interval: 200 };
/** Two to each thread that serves requests, of two servers. */
const TUNNELS = 4 * FRONT_THREADS;

describe.skipIf(whyNoEtcd() !== undefined)("a tunnel to two servers", () => {
  let two: TwoOnEtcd<Server>;
  let far: Server;
  let agent: AgentProcess | undefined;
  let balancer: Awaited<ReturnType<typeof startBalancer>>;
  let servers: readonly Server[] = [];

  beforeAll(async () => {
    two = await startTwoOnEtcd(startServer, ["--proxy-health-check-interval-seconds", "1"]);
    servers = two.servers;
    far = await startServer(join(two.directory, "far"));
    balancer = await startBalancer(servers.map(({ process }) => Number(new URL(process.url).port)));
  });
  afterAll(async () => {
    await agent?.[Symbol.asyncDispose]();
    await far?.[Symbol.asyncDispose]();
    balancer?.close();
    await two?.[Symbol.asyncDispose]();
  });

  const first = (): Server => servers[0] as Server;
  const reasonAt = async (server: Server, name = "edge"): Promise<string> => {
    const { body } = await server.http(`/kubernetes/cluster/${name}/api`, { key: first().key });
    return body?.details?.causes?.[0]?.reason ?? body?.reason ?? body?.kind;
  };

  async function connect(name: string): Promise<AgentProcess> {
    const kubeconfig = await writeFarKubeconfig(far, join(two.directory, "far.kubeconfig"));
    const value = await joinValue(first(), name);
    const stateFile = await writeAgentState(first(), join(two.directory, `${name}-agent.key`), value, balancer.url);
    const started = startAgent({ stateFile, kubeconfig });
    for (const server of servers) await expect.poll(() => reasonAt(server, name), WAIT).toBe("APIVersions");
    return started;
  }

  it("has a value that one of them takes", async () => {
    const value = await joinValue(first(), "raced");
    const body = { value, clusterUid: "0b0e5c7e-0000-4000-8000-00000000000a" };
    const answers = await Promise.all([0, 1, 0, 1].map((at) => (servers[at] as Server).http("/join", { body })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 403, 403, 403]);
  });

  it("is opened to each of them, which reach the cluster by themselves", async () => {
    agent = await connect("edge");
    await expect.poll(() => agent?.output().match(/"tunnel opened"/g)?.length, WAIT).toBe(TUNNELS);
  });

  it("is closed at each of them when the cluster leaves", async () => {
    await first().send(`${MANAGEMENT}/clusters/edge`, { spec: { networkPeer: false } }, "PATCH");
    await expect.poll(() => agent?.output().match(/"tunnel closed"/g)?.length, WAIT).toBe(TUNNELS);
    for (const server of servers) expect(await reasonAt(server)).not.toBe("APIVersions");
  });

  it("leads to the cluster through the other one while one of them is killed", async () => {
    const started = await connect("again");
    try {
      // Each thread that serves requests has tunnels of its own.
      await expect.poll(() => started.output().match(/"tunnel opened"/g)?.length, WAIT).toBe(TUNNELS);
      await servers[1]?.process.stop("SIGKILL");
      const reached = await Promise.all(Array.from({ length: 10 }, () => reasonAt(first(), "again")));
      expect(new Set(reached)).toEqual(new Set(["APIVersions"]));
    } finally {
      await started[Symbol.asyncDispose]();
    }
  });
});

/** Leads each connection to the next of the ports. */
async function startBalancer(ports: readonly number[]) {
  const open = new Set<Socket>();
  let count = 0;
  const server = createServer((client) => {
    const target = connectTo(ports[count++ % ports.length] ?? 0, "127.0.0.1");
    joinSockets(client, target, open);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `https://127.0.0.1:${port}`,
    close() {
      for (const socket of open) socket.destroy();
      server.close();
    },
  };
}
