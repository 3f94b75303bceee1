// Two real servers on three real members of etcd, each on a host of its own in one network that can be torn anywhere.

import { join } from "node:path";
import { type EtcdCluster, startEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { shareIdentity, temporaryDirectory } from "../../e2e/testing/postern-process.ts";
import { createNetwork, type Network } from "./network-namespaces.ts";
import { type ServerProcess, startServerProcess } from "./server-process.ts";

const MEMBERS = [0, 1, 2];
const SERVERS = [3, 4];
const PORT = "8443";
/** Files that have to be the same on every server. */
const SHARED_FILES = ["server.key", "ca.crt", "ca.key"];

export type Replica = ServerProcess & {
  /** No member of etcd is within its reach any more, though the test still is. */
  cutOff(): void;
  reconnect(): void;
};

export type Replicas = AsyncDisposable & {
  readonly etcd: EtcdCluster;
  readonly network: Network;
  readonly servers: readonly [Replica, Replica];
  readonly adminKey: string;
  /** A member that no other member reaches, though all servers do. */
  isolateMember(index: number): void;
  rejoinMember(index: number): void;
};

/** Undefined where this user may not make networks. */
export async function startReplicas(more: readonly string[] = []): Promise<Replicas | undefined> {
  const network = createNetwork(MEMBERS.length + SERVERS.length);
  if (network === undefined) return undefined;
  const undo: (() => unknown)[] = [() => network[Symbol.dispose]()];
  const tearDown = async (): Promise<void> => {
    for (const step of undo.toReversed()) await step();
  };
  try {
    const etcd = await startEtcd({ hosts: network.hosts.slice(0, MEMBERS.length) });
    undo.push(() => etcd[Symbol.asyncDispose]());
    const directory = await temporaryDirectory();
    undo.push(() => directory[Symbol.asyncDispose]());
    const folders = SERVERS.map((index) => join(directory.path, `server-${index}`));
    const start = async (number: number): Promise<Replica> => {
      const index = SERVERS[number] ?? 0;
      const host = network.hosts[index];
      // Each server asks another member first.
      const endpoints = [...etcd.endpoints.slice(number), ...etcd.endpoints.slice(0, number)];
      const flags = ["--store", `etcd://${endpoints.join(",")}`, "--bind-address", host?.address ?? ""];
      const server = await startServerProcess(
        folders[number] ?? "",
        [...flags, "--secure-port", PORT, ...more],
        host === undefined ? {} : { run: host.run },
      );
      undo.push(() => server[Symbol.asyncDispose]());
      return {
        ...server,
        cutOff: () => network.isolate(index, MEMBERS),
        reconnect: () => network.join(index, MEMBERS),
      };
    };
    const first = await start(0);
    await shareIdentity(folders[0] ?? "", folders[1] ?? "", SHARED_FILES);
    const second = await start(1);
    const others = (index: number): readonly number[] => MEMBERS.filter((other) => other !== index);
    return {
      etcd,
      network,
      servers: [first, second],
      adminKey: first.adminKey ?? "",
      isolateMember: (index) => network.isolate(index, others(index)),
      rejoinMember: (index) => network.join(index, others(index)),
      [Symbol.asyncDispose]: tearDown,
    };
  } catch (error) {
    await tearDown();
    throw error;
  }
}
