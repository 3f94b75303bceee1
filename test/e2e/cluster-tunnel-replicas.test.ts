// An agent behind a load balancer of two servers on one etcd: each of them reaches the cluster, a value is used once, and a leave ends all.

import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { type EtcdCluster, startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { shareIdentity, temporaryDirectory } from "./testing/postern-process.ts";
import {
  type AgentProcess,
  joinValue,
  startAgent,
  writeAgentState,
  writeFarKubeconfig,
} from "./testing/tunnelled-cluster.ts";
import { MANAGEMENT, type Server, startServer } from "./testing/two-posterns.ts";

const WAIT = { timeout: 60_000, interval: 200 };

describe.skipIf(whyNoEtcd() !== undefined)("a tunnel to two servers", () => {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let etcd: EtcdCluster;
  let far: Server;
  let agent: AgentProcess | undefined;
  let balancer: Awaited<ReturnType<typeof startBalancer>>;
  const servers: Server[] = [];

  beforeAll(async () => {
    directory = await temporaryDirectory();
    etcd = await startEtcd();
    const flags = ["--store", `etcd://${etcd.endpoints.join(",")}`, "--proxy-health-check-interval-seconds", "1"];
    const [one, other] = [join(directory.path, "one"), join(directory.path, "other")];
    servers.push(await startServer(one, flags));
    await shareIdentity(one, other);
    servers.push(await startServer(other, flags));
    far = await startServer(join(directory.path, "far"));
    balancer = await startBalancer(servers.map(({ process }) => Number(new URL(process.url).port)));
  });
  afterAll(async () => {
    await agent?.[Symbol.asyncDispose]();
    for (const server of servers) await server[Symbol.asyncDispose]();
    await far?.[Symbol.asyncDispose]();
    balancer?.close();
    await etcd?.[Symbol.asyncDispose]();
    await directory?.[Symbol.asyncDispose]();
  });

  const first = (): Server => servers[0] as Server;
  const reasonAt = async (server: Server): Promise<string> => {
    const { body } = await server.http("/kubernetes/cluster/edge/api", { key: first().key });
    return body?.details?.causes?.[0]?.reason ?? body?.reason ?? body?.kind;
  };

  it("has a value that one of them takes", async () => {
    const value = await joinValue(first(), "raced");
    const body = { value, clusterUid: "0b0e5c7e-0000-4000-8000-00000000000a" };
    const answers = await Promise.all([0, 1, 0, 1].map((at) => (servers[at] as Server).http("/join", { body })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 403, 403, 403]);
  });

  it("is opened to each of them, which reach the cluster by themselves", async () => {
    const kubeconfig = await writeFarKubeconfig(far, join(directory.path, "far.kubeconfig"));
    const value = await joinValue(first(), "edge");
    const stateFile = await writeAgentState(first(), join(directory.path, "edge-agent.key"), value, balancer.url);
    agent = startAgent({ stateFile, kubeconfig });
    for (const server of servers) await expect.poll(() => reasonAt(server), WAIT).toBe("APIVersions");
    await expect.poll(() => agent?.output().match(/"tunnel opened"/g)?.length, WAIT).toBe(4);
  });

  it("is closed at each of them when the cluster leaves", async () => {
    await first().send(`${MANAGEMENT}/clusters/edge`, { spec: { networkPeer: false } }, "PATCH");
    await expect.poll(() => agent?.output().match(/"tunnel closed"/g)?.length, WAIT).toBe(4);
    for (const server of servers) expect(await reasonAt(server)).not.toBe("APIVersions");
  });
});

/** Leads each connection to the next of the ports. */
async function startBalancer(ports: readonly number[]) {
  const open = new Set<Socket>();
  let count = 0;
  const server = createServer((client) => {
    const target = connect(ports[count++ % ports.length] ?? 0, "127.0.0.1");
    for (const [one, other] of [
      [client, target],
      [target, client],
    ] as const) {
      open.add(one);
      one.on("error", () => undefined);
      one.once("close", () => {
        open.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
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
