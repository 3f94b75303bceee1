// A Node whose threads can serve one port, and connections that stay with the thread that the kernel has given them to.

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { Agent } from "node:https";
import { join } from "node:path";
import { agentClient, type HttpClient } from "./http-client.ts";
import { NODE, type PosternProcess, REPOSITORY } from "./postern-process.ts";

/** From `npm run nodes`. */
const NEWER_NODE = join(REPOSITORY, "tools/nodes/node_modules/node-24/bin/node");

const sharesPorts = (node: string): boolean => {
  const version = execFileSync(node, ["--version"], { encoding: "utf8" });
  const [major = 0, minor = 0] = version.slice(1).split(".").map(Number);
  return process.platform === "linux" && (major > 23 || (major === 23 && minor >= 1));
};

/** Undefined where there is none. */
export const NODE_WITH_THREADS: string | undefined = [NODE, NEWER_NODE].find(
  (node) => existsSync(node) && sharesPorts(node),
);

export const WHY_NO_THREADS = "threads that share a port need Linux and Node 23.1 or later: npm run nodes";

export type Connections = Disposable & {
  /** Each sends its requests over one connection, one after the other. */
  readonly clients: readonly HttpClient[];
};

/** So many that hardly ever all are at one thread. */
export async function openConnections(
  server: PosternProcess,
  count: number,
  clientOf: typeof agentClient = agentClient,
): Promise<Connections> {
  const ca = await readFile(server.caFile);
  const agents = Array.from({ length: count }, () => new Agent({ ca, keepAlive: true, maxSockets: 1 }));
  return {
    clients: agents.map((agent) => clientOf(server.url, agent)),
    [Symbol.dispose]() {
      for (const agent of agents) agent.destroy();
    },
  };
}
