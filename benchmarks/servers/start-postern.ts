// Starts Postern as users do, on a data directory of its own.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import type { MeasuredServer } from "./measured-server.ts";
import { startProcess } from "./start-process.ts";

/** The built command. */
export const MAIN = fileURLToPath(new URL("../../packages/cli/bin/postern.js", import.meta.url));

export type Postern = MeasuredServer & AsyncDisposable & { readonly startMilliseconds: number };

/**
 * One administrator owns all keys of a benchmark, far more than the defaults allow. One thread serves unless a benchmark asks for more: a further
 * one that began in the middle would change what is measured.
 */
const OF_ALL: readonly (readonly [flag: string, value: string])[] = [
  ["--access-key-max-per-owner", "0"],
  ["--access-key-max-mib-per-owner", "65536"],
  ["--threads", "1"],
];

/** Compared builds may be older than a flag, and refuse what they do not know. */
function flagsOfAll(main: string, own: readonly string[], node = process.execPath): readonly string[] {
  const help = execFileSync(node, [main, "serve", "--help"], { encoding: "utf8" });
  return OF_ALL.filter(([flag]) => help.includes(`${flag} `) && !own.includes(flag)).flat();
}

/** `main`: the built command; `nodeOptions`: such as `--cpu-prof`; `node`: another binary than the running one; `flags` of the server. */
export async function startPostern(
  dataDir: string,
  main: string,
  nodeOptions: readonly string[] = [],
  node?: string,
  flags: readonly string[] = [],
): Promise<Postern> {
  const ofAll = flagsOfAll(main, flags, node);
  const startedAt = performance.now();
  const server = await startProcess(
    [...nodeOptions, main, "serve", "--data-dir", dataDir, "--secure-port", "0", ...ofAll, ...flags],
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
