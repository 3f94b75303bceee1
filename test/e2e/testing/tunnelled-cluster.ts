// A cluster whose agent connects it: a virtual cluster of a second server, and the agent as a process of its own.

import { type ChildProcess, spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { recordOutput } from "../../../tools/secret-scan/recorder-of-run.ts";
import { ENTRY, NODE } from "./postern-process.ts";
import { INSTANCES, MANAGEMENT, type Server } from "./two-posterns.ts";

export type AgentProcess = AsyncDisposable & {
  readonly pid: number;
  /** Its log so far. */
  output(): string;
  /** Resolves with the exit code, or with the name of the signal that ended it. */
  stop(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals>;
};

export type AgentStart = {
  /** Absent: its state is the Secret that the manifests make. */
  readonly stateFile?: string;
  readonly kubeconfig: string;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Prefix of the command line, such as `ip netns exec n1`. */
  readonly run?: readonly string[];
};

export function startAgent({ stateFile, kubeconfig, flags = [], env = {}, run = [] }: AgentStart): AgentProcess {
  const state = stateFile === undefined ? [] : ["--state-file", stateFile];
  const [program = NODE, ...args] = [...run, NODE, ENTRY, "agent", ...state, "--kubeconfig", kubeconfig, ...flags];
  const child: ChildProcess = spawn(program, args, {
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text) => (printed += text));
  const exited = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once("exit", (code, signal) => resolve(code ?? signal ?? 1));
  });
  void exited.then(() => recordOutput(`postern agent (${stateFile ?? kubeconfig})`, printed));
  return {
    pid: child.pid ?? 0,
    output: () => printed,
    async stop(signal = "SIGTERM") {
      child.kill(signal);
      return await exited;
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      await exited;
    },
  };
}

/** Writes a kubeconfig for a virtual cluster of the server that may act as others there. */
export async function writeFarKubeconfig(far: Server, path: string): Promise<string> {
  const asked = await far.send(`${INSTANCES}/demo/kubeconfig`, { spec: { clientCert: true } });
  await writeFile(path, asked.status.kubeConfig, { mode: 0o600 });
  return path;
}

/** Makes the Cluster where there is none, and a join value for it. */
export async function joinValue(near: Server, name: string): Promise<string> {
  const found = await near.http(`${MANAGEMENT}/clusters/${name}`, { key: near.key });
  if (found.status === 404) {
    await near.create(`${MANAGEMENT}/clusters`, { kind: "Cluster", metadata: { name }, spec: { networkPeer: true } });
  }
  const { status } = await near.create(`${MANAGEMENT}/clusters/${name}/join`, { kind: "ClusterJoin" });
  return status.url.slice(status.url.lastIndexOf("/") + 1);
}

/** The state of an agent that is about to join. */
export async function writeAgentState(
  near: Server,
  path: string,
  join: string,
  url = near.process.url,
): Promise<string> {
  const state = { server: url, "ca.crt": await readFile(near.process.caFile, "utf8"), join };
  await writeFile(path, JSON.stringify(state), { mode: 0o600 });
  return path;
}

/** Joins a virtual cluster of the far server, and starts its agent. */
export async function connectByAgent(
  { near, far, directory }: { readonly near: Server; readonly far: Server; readonly directory: string },
  name: string,
  surroundings: Pick<AgentStart, "env"> = {},
): Promise<{ readonly agent: AgentProcess; readonly start: AgentStart }> {
  const kubeconfig = await writeFarKubeconfig(far, join(directory, `${name}.kubeconfig`));
  const stateFile = await writeAgentState(near, join(directory, `${name}-agent.key`), await joinValue(near, name));
  const start = { stateFile, kubeconfig, ...surroundings };
  return { agent: startAgent(start), start };
}
