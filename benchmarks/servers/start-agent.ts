// A cluster that is connected by an agent, which runs as a process of its own.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Target } from "../load/order.ts";
import { GROUP } from "./access-key-object.ts";
import { askText, RefusedError } from "./ask-text.ts";
import { MAIN } from "./start-postern.ts";

const NAME = "edge";
/** Of the management API: the whole cluster, by the names of its users. */
export const TUNNELLED_CLUSTER = `/kubernetes/cluster/${NAME}`;
const ATTEMPTS = 300;
const PAUSE_MS = 100;

export type StartedAgent = AsyncDisposable & { readonly pid: number };

export type AgentOptions = {
  /** The data directory of the platform, where the files of the agent are written too. */
  readonly folder: string;
  readonly main?: string;
  readonly node?: string;
  readonly nodeOptions?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

/** Resolves when requests pass. `cluster` has to let the user `admin` in. */
export async function startAgent(platform: Target, cluster: Target, options: AgentOptions): Promise<StartedAgent> {
  const { folder, main = MAIN, node = process.execPath, nodeOptions = [], env = {} } = options;
  const clusters = `/apis/${GROUP}/v1/clusters`;
  await askText(platform, "POST", clusters, JSON.stringify({ metadata: { name: NAME }, spec: { networkPeer: true } }));
  const made = JSON.parse(await askText(platform, "POST", `${clusters}/${NAME}/join`, "{}"));
  const value = made.status.url.slice(made.status.url.lastIndexOf("/") + 1);
  const [stateFile, kubeconfig] = [join(folder, "agent-state.json"), join(folder, "agent.kubeconfig")];
  const state = { server: platform.url, "ca.crt": readFileSync(join(folder, "ca.crt"), "utf8"), join: value };
  writeFileSync(stateFile, JSON.stringify(state), { mode: 0o600 });
  const authority = Buffer.from(cluster.ca ?? "").toString("base64");
  const config = {
    ...{ apiVersion: "v1", kind: "Config", "current-context": "c" },
    clusters: [{ name: "c", cluster: { server: cluster.url, "certificate-authority-data": authority } }],
    contexts: [{ name: "c", context: { cluster: "c", user: "c" } }],
    users: [{ name: "c", user: { token: cluster.token } }],
  };
  writeFileSync(kubeconfig, JSON.stringify(config), { mode: 0o600 });
  const args = [...nodeOptions, main, "agent", "--state-file", stateFile, "--kubeconfig", kubeconfig];
  const child = spawn(node, args, {
    stdio: ["ignore", "ignore", "inherit"],
    env: { PATH: process.env["PATH"], ...env },
  });
  const exited = once(child, "exit");
  const stop = async (): Promise<void> => {
    // It writes its profile at its end.
    child.kill(nodeOptions.includes("--cpu-prof") ? "SIGTERM" : "SIGKILL");
    await exited;
  };
  for (let attempt = 0; ; attempt++) {
    try {
      await askText(platform, "GET", `${TUNNELLED_CLUSTER}/version`);
      break;
    } catch (error) {
      if (!(error instanceof RefusedError) || attempt === ATTEMPTS) {
        await stop();
        throw error;
      }
      await sleep(PAUSE_MS);
    }
  }
  return { pid: child.pid ?? 0, [Symbol.asyncDispose]: stop };
}
