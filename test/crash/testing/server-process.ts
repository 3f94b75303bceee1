// A real server that can be stopped, killed and started again at the same address, and clients of it.

import { readFile } from "node:fs/promises";
import { lastingPortFlags } from "@postern/stores/testing/lasting-ports";
import { type PosternSurroundings, startPostern } from "../../e2e/testing/postern-process.ts";
import { type ApiClient, apiClient } from "./api-client.ts";

export type ServerProcess = AsyncDisposable & {
  readonly url: string;
  readonly client: ApiClient;
  readonly caFile: string;
  /** Undefined where the server did not make the first administrator. */
  readonly adminKey: string | undefined;
  /** SIGSTOP keeps its connections open, and what is sent to it waits. */
  pause(): void;
  resume(): void;
  /** Of a server with ENDED_THREADS: one of its threads ends. */
  endThread(): void;
  /** kill -9. */
  kill(): Promise<void>;
  /** Again, at the same address and with the data that it had; resolves when it is ready. */
  restart(): Promise<void>;
  /** Everything that it has printed in this life. */
  output(): string;
};

/** On the port that the flags name, or on one that is its own in all its lives. */
export async function startServerProcess(
  dataDir: string,
  flags: readonly string[] = [],
  surroundings: PosternSurroundings = {},
): Promise<ServerProcess> {
  const all = flags.includes("--secure-port") ? flags : [...flags, ...(await lastingPortFlags())];
  let server = await startPostern(dataDir, all, surroundings);
  const { url, caFile, adminKubeconfig } = server;
  const client = apiClient(url, await readFile(caFile, "utf8"));
  const kubeConfig = await readFile(adminKubeconfig, "utf8").catch(() => "");
  return {
    url,
    client,
    caFile,
    adminKey: /token: (\S+)/.exec(kubeConfig)?.[1],
    pause: () => void process.kill(server.pid, "SIGSTOP"),
    resume: () => void process.kill(server.pid, "SIGCONT"),
    endThread: () => void process.kill(server.pid, "SIGUSR2"),
    async kill() {
      await server.stop("SIGKILL");
    },
    async restart() {
      server = await startPostern(dataDir, all, surroundings);
    },
    output: () => server.output(),
    async [Symbol.asyncDispose]() {
      client[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}
