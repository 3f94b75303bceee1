// FRONT_THREADS=3 in the environment: servers of tests have so many threads that serve requests, with CLUSTER_THREADS=2 so many of virtual clusters.
// The former needs the build and a Node whose threads can share a port.

import { readdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { RawValue } from "../foundation/config/option.ts";
import type { ServerSurroundings } from "../main.ts";
import { logFileIn } from "./log-to-file.ts";

/** Flags of a server that a test sees through: further threads have neither what it gives to the first one, nor what it watches there. */
export const ONE_THREAD: Readonly<Record<string, RawValue>> = { threads: "1" };

/** So many count guesses and rates, each its share. */
export const FRONT_THREADS = Number(process.env["FRONT_THREADS"] ?? 1);

const BUNDLE = new URL("../../../cli/bundle/", import.meta.url);

/** Node leaves its types out. */
const LOGGING_THREAD = new URL("logging-thread.ts", import.meta.url);

const builtAt = (file: string): number => statSync(new URL(file, BUNDLE)).mtimeMs;

/** Given to a server that runs in the process of its test; nothing by default. Further threads write their log into the file of `logToFile`, too. */
export function threadsOfTests(
  directory: string,
  { loadConsole, loadDocumentation }: ServerSurroundings = {},
): {
  readonly flags?: Record<string, RawValue>;
  readonly surroundings?: ServerSurroundings;
} {
  const { FRONT_THREADS: threads, CLUSTER_THREADS: count } = process.env;
  const ofClusters = count === undefined ? {} : { "cluster-threads": count };
  if (threads === undefined) return { flags: ofClusters };
  // The files of the build before are there as well.
  const [name] = readdirSync(fileURLToPath(BUNDLE))
    .filter((file) => /^front-thread-\w+\.js$/.test(file))
    .sort((a, b) => builtAt(b) - builtAt(a));
  if (name === undefined) throw new Error("FRONT_THREADS needs the build: npm run build");
  return {
    flags: {
      threads,
      ...ofClusters,
      // Threads do not share memory.
      store: "sqlite",
      // Further threads have both from the build.
      ...(loadConsole === undefined && loadDocumentation === undefined ? { console: "false" } : {}),
    },
    surroundings: {
      startFrontThread: (options) =>
        new Worker(LOGGING_THREAD, {
          ...options,
          execArgv: [],
          env: { ...process.env, THREAD: new URL(name, BUNDLE).href, LOG_OF_THREAD: logFileIn(directory) },
        }),
    },
  };
}
