// Runs real members of etcd for tests: one, or several that form a cluster.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lastingPorts } from "../../testing/lasting-ports.ts";

/** Undefined where etcd is installed; where it is not, the reason to skip, except on CI, where it has to be. */
export function whyNoEtcd(): string | undefined {
  if (spawnSync("etcd", ["--version"]).status === 0 || process.env["CI"] !== undefined) return undefined;
  return "etcd is not installed (apt-get install etcd-server)";
}

export type EtcdMember = {
  readonly endpoint: string;
  /** SIGSTOP keeps its connections open, as a network does that swallows everything. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** kill -9. */
  readonly kill: () => Promise<void>;
  /** Again, with the data it had. */
  readonly restart: () => Promise<void>;
};

export type EtcdCluster = {
  [Symbol.asyncDispose](): Promise<void>;
  readonly members: readonly EtcdMember[];
  readonly endpoints: readonly string[];
  /** Where the members keep what they have, a folder each. */
  readonly folder: string;
};

export type StartEtcdOptions = {
  /** How many members; 1 when absent. */
  readonly size?: number;
  /** Further flags of every member. */
  readonly flags?: readonly string[];
  readonly scheme?: "http" | "https";
  /** Where the members run, one each; all on this machine when absent. */
  readonly hosts?: readonly EtcdHost[];
};

export type EtcdHost = {
  readonly address: string;
  /** Beginning of a command line that runs there, such as `ip netns exec n1`. */
  readonly run: readonly string[];
};

export async function startEtcd(options: StartEtcdOptions = {}): Promise<EtcdCluster> {
  const { flags = [], scheme = "http", hosts } = options;
  const size = hosts?.length ?? options.size ?? 1;
  // In memory where that is possible: tests are about what etcd says, not about the disk.
  const folder = await mkdtemp(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "postern-etcd-"));
  // A host of its own has all ports free that this machine has.
  const ports = await lastingPorts(2 * size);
  const address = (index: number) => hosts?.[index]?.address ?? "127.0.0.1";
  const names = Array.from({ length: size }, (_, index) => `m${index}`);
  const peer = (index: number) => `http://${address(index)}:${ports[size + index]}`;
  const cluster = names.map((name, index) => `${name}=${peer(index)}`).join(",");
  const processes: ChildProcess[] = [];

  const launch = async (index: number) => {
    const client = `${scheme}://${address(index)}:${ports[index]}`;
    const [program = "etcd", ...before] = [...(hosts?.[index]?.run ?? []), "etcd"];
    const child = spawn(
      program,
      [
        ...before,
        ...["--name", names[index]!, "--data-dir", join(folder, names[index]!)],
        ...["--listen-client-urls", client, "--advertise-client-urls", client],
        ...["--listen-peer-urls", peer(index), "--initial-advertise-peer-urls", peer(index)],
        ...["--initial-cluster", cluster, "--initial-cluster-state", "new"],
        ...["--heartbeat-interval", size === 1 ? "10" : "50", "--election-timeout", size === 1 ? "100" : "500"],
        ...["--logger", "zap", "--log-level", "info"],
        ...flags,
      ],
      { stdio: ["ignore", "ignore", "pipe"] },
    );
    processes[index] = child;
    await untilReady(child);
  };
  await Promise.all(names.map((_, index) => launch(index)));

  const members = names.map(
    (_, index): EtcdMember => ({
      endpoint: `${address(index)}:${ports[index]}`,
      pause: () => void processes[index]!.kill("SIGSTOP"),
      resume: () => void processes[index]!.kill("SIGCONT"),
      kill: () => end(processes[index]!),
      restart: () => launch(index),
    }),
  );
  return {
    members,
    endpoints: members.map(({ endpoint }) => endpoint),
    folder,
    async [Symbol.asyncDispose]() {
      await Promise.all(processes.map(end));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}

function untilReady(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = "";
    child.on("error", reject);
    child.on("exit", () => reject(new Error(`etcd has exited: ${output}`)));
    child.stderr!.on("data", (chunk: Buffer) => {
      // Goes on reading afterwards, or the pipe fills up and etcd stands still.
      if (output.length < 100_000) output += chunk.toString();
      if (/serving client (requests|traffic)/.test(output)) resolve();
    });
  });
}
