// Starts Postern as users do, on a data directory of its own.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import type { MeasuredServer } from "./measured-server.ts";
import { startProcess } from "./start-process.ts";

/** The built command. */
export const MAIN = fileURLToPath(new URL("../../packages/cli/bin/postern.js", import.meta.url));

export type Postern = MeasuredServer & AsyncDisposable & { readonly startMilliseconds: number };

/** `main`: the built command; `nodeOptions`: such as `--cpu-prof`; `node`: another binary than the running one; `flags` of the server. */
export async function startPostern(
  dataDir: string,
  main: string,
  nodeOptions: readonly string[] = [],
  node?: string,
  flags: readonly string[] = [],
): Promise<Postern> {
  const startedAt = performance.now();
  const server = await startProcess(
    [...nodeOptions, main, "serve", "--data-dir", dataDir, "--secure-port", "0", ...flags],
    node,
  );
  const startMilliseconds = performance.now() - startedAt;
  const kubeConfig = readFileSync(join(dataDir, "admin.kubeconfig"), "utf8");
  return {
    target: {
      url: server.url,
      ca: readFileSync(join(dataDir, "ca.crt"), "utf8"),
      token: /token: (\S+)/.exec(kubeConfig)?.[1] ?? "",
    },
    pid: server.pid,
    startMilliseconds,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
