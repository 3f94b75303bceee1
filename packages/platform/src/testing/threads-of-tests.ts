// FRONT_THREADS=3 in the environment: servers of tests have so many threads that serve requests. It needs the build and a Node whose threads can share a port.

import { readdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { RawValue } from "../foundation/config/option.ts";
import type { ServerSurroundings } from "../main.ts";

const BUNDLE = new URL("../../../cli/bundle/", import.meta.url);

const builtAt = (file: string): number => statSync(new URL(file, BUNDLE)).mtimeMs;

/** Given to a server that runs in the process of its test; nothing by default. Further threads write their log to standard error. */
export function threadsOfTests(): {
  readonly flags?: Record<string, RawValue>;
  readonly surroundings?: ServerSurroundings;
} {
  const { FRONT_THREADS: threads } = process.env;
  if (threads === undefined) return {};
  // The files of the build before are there as well.
  const [name] = readdirSync(fileURLToPath(BUNDLE))
    .filter((file) => /^front-thread-\w+\.js$/.test(file))
    .sort((a, b) => builtAt(b) - builtAt(a));
  if (name === undefined) throw new Error("FRONT_THREADS needs the build: npm run build");
  return {
    // Threads do not share memory.
    flags: { threads, store: "sqlite" },
    surroundings: { startFrontThread: (options) => new Worker(new URL(name, BUNDLE), { ...options, execArgv: [] }) },
  };
}
