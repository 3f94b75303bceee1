// Keeps tunnels open: two to each server of the platform, with the newest key.

import { setTimeout as sleep } from "node:timers/promises";
import type { AgentLog } from "./agent-log.ts";
import type { KeyOptions } from "./held-key.ts";
import { type OpenedTunnel, PlatformRefusal, type PlatformRequests } from "./platform-requests.ts";
import type { AgentTunnel } from "./serve-tunnel.ts";

export type Connections = {
  /** Tunnels that are open with the newest key. */
  readonly open: number;
  /** Attempts that failed since the start. */
  readonly failures: number;
  /** Runs until the signal is aborted; then all tunnels are closed, behind the requests in them. */
  run(signal: AbortSignal): Promise<void>;
  /** Looks at the state again: the key may be another one. */
  wake(): void;
};

export type ConnectionsDeps = {
  readonly requests: Pick<PlatformRequests, "openTunnel" | "servers">;
  /** The key as it is now. */
  readonly key: (options: KeyOptions) => Promise<string>;
  readonly serve: (opened: OpenedTunnel) => AgentTunnel;
  /** Ends connections without a request, and others behind their responses. */
  readonly drain: () => void;
  readonly log: AgentLog;
  readonly random: () => number;
};

const TUNNELS_PER_SERVER = 2;
/** A server that starts later is found after this. */
const COUNT_SERVERS_MS = 30_000;
/** Behind a load balancer, a connection often leads to a server that has enough. */
const SAME_SERVER_PAUSE_MS = 1_000;
const BACKOFF = { firstMs: 250, mostMs: 30_000 };
const DRAIN_MS = 10_000;

type Open = { readonly tunnel: AgentTunnel; readonly serverId: string; readonly key: string };

export function createConnections(deps: ConnectionsDeps): Connections {
  const { requests, serve, log, random } = deps;
  const open = new Set<Open>();
  let servers = 1;
  let countedAt = Number.NEGATIVE_INFINITY;
  let key = "";
  let failures = 0;
  let wake = (): void => undefined;

  const withKey = (): Open[] => [...open].filter((each) => each.key === key);
  const atServer = (id: string): number => withKey().filter(({ serverId }) => serverId === id).length;
  const isComplete = (): boolean => {
    const ids = new Set(withKey().map(({ serverId }) => serverId));
    return ids.size >= servers && [...ids].every((id) => atServer(id) >= TUNNELS_PER_SERVER);
  };

  /** Resolves after the time, or once something happens. */
  async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    wake = () => woken.abort();
    await sleep(milliseconds, undefined, { signal: AbortSignal.any([signal, woken.signal]) }).catch(() => undefined);
  }

  async function dial(signal: AbortSignal): Promise<"new" | "enough"> {
    const opened = await requests.openTunnel(key, signal);
    servers = opened.servers;
    countedAt = performance.now();
    if (atServer(opened.serverId) >= TUNNELS_PER_SERVER) {
      opened.socket.destroy();
      return "enough";
    }
    const entry: Open = { tunnel: serve(opened), serverId: opened.serverId, key };
    open.add(entry);
    log.info("tunnel opened", { server: opened.serverId, serverVersion: opened.serverVersion, servers });
    void entry.tunnel.closed.then(() => {
      open.delete(entry);
      log.info("tunnel closed", { server: entry.serverId });
      wake();
    });
    return "new";
  }

  async function countServers(signal: AbortSignal): Promise<void> {
    if (performance.now() - countedAt < COUNT_SERVERS_MS) return;
    countedAt = performance.now();
    servers = await requests.servers(key, signal);
  }

  /** One look; resolves with how long to wait for the next. */
  async function step(options: KeyOptions, signal: AbortSignal): Promise<number> {
    key = await deps.key(options);
    await countServers(signal);
    if (!isComplete()) {
      return (await dial(signal)) === "new" ? 0 : SAME_SERVER_PAUSE_MS * (0.5 + random());
    }
    // Those with an older key are replaced by now.
    for (const { tunnel, key: older } of open) if (older !== key) tunnel.drain();
    return COUNT_SERVERS_MS;
  }

  return {
    get open() {
      return withKey().length;
    },
    get failures() {
      return failures;
    },
    wake: () => wake(),
    async run(signal) {
      let inRow = 0;
      let isRefused = false;
      while (!signal.aborted) {
        let waitMs: number;
        try {
          waitMs = await step({ isRefused }, signal);
          inRow = 0;
          isRefused = false;
        } catch (error) {
          if (signal.aborted) break;
          failures += 1;
          isRefused = error instanceof PlatformRefusal && (error.status === 401 || error.status === 403);
          waitMs = Math.min(BACKOFF.mostMs, BACKOFF.firstMs * 2 ** inRow) * (0.5 + random());
          inRow += 1;
          const message = error instanceof Error ? error.message : String(error);
          log.warn("no tunnel", { reason: message, retryInMs: Math.round(waitMs) });
        }
        if (waitMs > 0) await pause(waitMs, signal);
      }
      deps.drain();
      for (const { tunnel } of open) tunnel.drain();
      await Promise.race([Promise.all([...open].map(({ tunnel }) => tunnel.closed)), sleep(DRAIN_MS)]);
      for (const { tunnel } of open) tunnel[Symbol.dispose]();
    },
  };
}
