// How many threads serve requests, and whether they can share one port here.

import { availableParallelism } from "node:os";
import type { Configuration } from "../foundation/config/configuration.ts";
import { ConfigurationError } from "../foundation/config/configuration-error.ts";

export type Machine = { readonly platform: string; readonly nodeVersion: string; readonly processors: number };

export const ownMachine = (): Machine => ({
  platform: process.platform,
  nodeVersion: process.versions.node,
  processors: availableParallelism(),
});

type Threads = Pick<Configuration, "threads" | "maxThreads" | "store">;

/** `first` from the start on, up to `most` under load. */
export type FrontCount = { readonly first: number; readonly most: number };

export const ONE_FRONT: FrontCount = { first: 1, most: 1 };

/** More than four were never measured. */
const MOST = 4;

/** Throws ConfigurationError where the options ask for more than there can be. */
export function frontCount(configuration: Threads, machine: Machine): FrontCount {
  const fault = faultOfThreads(configuration, machine);
  if (fault !== undefined) throw new ConfigurationError(fault);
  const { threads, maxThreads } = configuration;
  if (threads !== undefined) return { first: threads, most: threads };
  if (maxThreads !== undefined) return { first: 1, most: maxThreads };
  return { first: 1, most: whyOne(configuration, machine) === undefined ? Math.min(machine.processors, MOST) : 1 };
}

/** Undefined: there is none. */
export function faultOfThreads(configuration: Threads, machine: Machine): string | undefined {
  const { threads, maxThreads } = configuration;
  if ((threads ?? maxThreads ?? 1) === 1) return undefined;
  const why = whyOne(configuration, machine);
  const flag = threads === undefined ? `--max-threads ${maxThreads}` : `--threads ${threads}`;
  return why && `${flag} needs ${why}, or leave ${flag.split(" ")[0]} at 1`;
}

function whyOne({ store }: Threads, { platform, nodeVersion }: Machine): string | undefined {
  const [major = 0, minor = 0] = nodeVersion.split(".").map(Number);
  if (platform !== "linux" || major < 23 || (major === 23 && minor < 1)) {
    return `Linux with Node 23.1 or later, where threads can listen on one port, and this is Node ${nodeVersion} on ${platform}: use Node 24`;
  }
  return store.kind === "memory" ? "a store that threads can share: use --store with SQLite or etcd" : undefined;
}
