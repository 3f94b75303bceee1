// FRONT_THREADS=3 in the environment: servers of tests have so many threads that serve requests. It needs the build and a Node whose threads can share a port.

import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { RawValue } from "../foundation/config/option.ts";
import type { ServerSurroundings } from "../main.ts";

const BUNDLE = new URL("../../../cli/bundle/", import.meta.url);

/** Given to a server that runs in the process of its test; nothing by default. */
export function threadsOfTests(): {
  readonly flags?: Record<string, RawValue>;
  readonly surroundings?: ServerSurroundings;
} {
  const { FRONT_THREADS: threads } = process.env;
  if (threads === undefined) return {};
  const name = readdirSync(fileURLToPath(BUNDLE)).find((file) => /^front-thread-\w+\.js$/.test(file));
  if (name === undefined) throw new Error("FRONT_THREADS needs the build: npm run build");
  return {
    // Threads do not share memory.
    flags: { threads, store: "sqlite" },
    surroundings: { startFrontThread: (options) => new Worker(new URL(name, BUNDLE), { ...options, execArgv: [] }) },
  };
}
