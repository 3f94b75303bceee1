// Whether several threads can serve one port here.

import type { Configuration } from "../foundation/config/configuration.ts";
import { ConfigurationError } from "../foundation/config/configuration-error.ts";

export type Machine = { readonly platform: string; readonly nodeVersion: string };

type Threads = Pick<Configuration, "threads" | "store">;

/** Throws ConfigurationError where --threads asks for more than there can be. */
export function assertThreadsAreServed(configuration: Threads, machine: Machine): void {
  const fault = faultOfThreads(configuration, machine);
  if (fault !== undefined) throw new ConfigurationError(fault);
}

/** Undefined: there is none. */
export function faultOfThreads({ threads, store }: Threads, { platform, nodeVersion }: Machine): string | undefined {
  if (threads === 1) return undefined;
  const [major = 0, minor = 0] = nodeVersion.split(".").map(Number);
  if (platform !== "linux" || major < 23 || (major === 23 && minor < 1)) {
    return `--threads ${threads} needs Linux with Node 23.1 or later, where threads can listen on one port, and this is Node ${nodeVersion} on ${platform}: use Node 24, or leave --threads at 1`;
  }
  return store.kind === "memory"
    ? `--threads ${threads} needs a store that threads can share: use --store with SQLite or etcd, or leave --threads at 1`
    : undefined;
}
