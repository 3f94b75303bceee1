// Hosts of their own on this machine: network namespaces on one bridge, any of which can be cut off from the others.

import { spawnSync } from "node:child_process";
import type { EtcdHost } from "@postern/stores/etcd/testing/start-etcd";

export type Network = {
  readonly hosts: readonly EtcdHost[];
  /** The address of this machine in it, by which each host reaches what listens here. */
  readonly gateway: string;
  /** Nothing goes from this host to the others, or to those given, any more, nor from them to it; this machine still reaches it. */
  readonly isolate: (index: number, from?: readonly number[]) => void;
  /** Undoes an `isolate` from the same. */
  readonly join: (index: number, from?: readonly number[]) => void;
  /** Takes the link of a host down: nothing leaves or reaches it, and no peer hears of it. */
  readonly setLink: (index: number, state: "up" | "down") => void;
  /** A share of the packets that come to a host is lost from now on. False where the kernel or its programs cannot do it. */
  readonly lose: (index: number, percent: number) => boolean;
  [Symbol.dispose](): void;
};

function ip(...args: string[]): void {
  const { status, stderr, error } = spawnSync("ip", args);
  if (status !== 0) throw new Error(`ip ${args.join(" ")}: ${error?.message ?? stderr.toString()}`);
}

/** Any other failure is one of the test, and no reason to leave it out. */
const isRefused = (error: unknown): boolean =>
  error instanceof Error && /not permitted|permission denied|ENOENT/i.test(error.message);

const NETWORKS = 250;
const bridgeName = (id: number): string => `pb${id}`;

/** A network that this machine does not use, of as many as there are addresses for: a bridge is made once. */
function makeBridge(): number | undefined {
  for (let tried = 0; tried < NETWORKS; tried++) {
    const id = (process.pid + tried) % NETWORKS;
    try {
      ip("link", "add", bridgeName(id), "type", "bridge");
      return id;
    } catch (error) {
      if (isRefused(error)) return undefined;
      if (!(error instanceof Error && /file exists/i.test(error.message))) throw error;
    }
  }
  throw new Error("all networks of tests are in use: delete those that were left behind, ip link delete pb<n>");
}

/** Undefined where this user may not make networks, or `ip` is not installed. */
export function createNetwork(size: number): Network | undefined {
  const id = makeBridge();
  if (id === undefined) return undefined;
  const bridge = bridgeName(id);
  const subnet = `10.231.${id}`;
  const name = (index: number) => `pn${id}-${index}`;
  const address = (index: number) => `${subnet}.${index + 10}`;
  const indices = Array.from({ length: size }, (_, index) => index);
  const dispose = () => {
    for (const index of indices) spawnSync("ip", ["netns", "delete", name(index)]);
    spawnSync("ip", ["link", "delete", bridge]);
  };
  try {
    ip("address", "add", `${subnet}.1/24`, "dev", bridge);
    ip("link", "set", bridge, "up");
    for (const index of indices) {
      const [outside, inside] = [`pv${id}-${index}`, "eth0"];
      ip("netns", "add", name(index));
      ip("link", "add", outside, "type", "veth", "peer", "name", inside, "netns", name(index));
      ip("link", "set", outside, "master", bridge, "up");
      ip("-n", name(index), "address", "add", `${address(index)}/24`, "dev", inside);
      ip("-n", name(index), "link", "set", inside, "up");
      ip("-n", name(index), "link", "set", "lo", "up");
    }
  } catch (error) {
    dispose();
    if (!isRefused(error)) throw error;
    return undefined;
  }
  const others = (index: number) => indices.filter((other) => other !== index);
  return {
    hosts: indices.map((index) => ({ address: address(index), run: ["ip", "netns", "exec", name(index)] })),
    isolate: (index, from = others(index)) => {
      for (const other of from) {
        ip("-n", name(index), "route", "add", "blackhole", address(other));
        ip("-n", name(other), "route", "add", "blackhole", address(index));
      }
    },
    join: (index, from = others(index)) => {
      for (const other of from) {
        ip("-n", name(index), "route", "delete", "blackhole", address(other));
        ip("-n", name(other), "route", "delete", "blackhole", address(index));
      }
    },
    gateway: `${subnet}.1`,
    setLink: (index, state) => ip("-n", name(index), "link", "set", "eth0", state),
    lose(index, percent) {
      const inside = ["netns", "exec", name(index)];
      const netem = ["tc", "qdisc", "add", "dev", "eth0", "root", "netem", "loss", `${percent}%`];
      const random = ["-m", "statistic", "--mode", "random", "--probability", String(percent / 100)];
      // Debian's iptables speaks to nf_tables, and iptables-legacy to kernels without them.
      const drops = ["iptables", "iptables-legacy"].map((program) => [program, "-A", "INPUT", ...random, "-j", "DROP"]);
      return [netem, ...drops].some((command) => spawnSync("ip", [...inside, ...command]).status === 0);
    },
    [Symbol.dispose]: dispose,
  };
}
