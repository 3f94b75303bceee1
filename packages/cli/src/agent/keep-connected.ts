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
/** A server that starts later, or a thread of one that begins under load, is found after this. Until then its requests to the cluster are refused. */
const COUNT_SERVERS_MS = 10_000;
/** Another one mostly takes the place of one that ended: for so long the servers are counted this often. */
const AFTER_AN_END = { withinMs: 60_000, countMs: 2_000 };
/** Behind a load balancer, a connection often leads to a server that has enough: each time in a row, the pause is twice as long. */
const SAME_SERVER_PAUSE = { firstMs: 100, mostMs: 1_000 };
const BACKOFF = { firstMs: 250, mostMs: 30_000 };
const DRAIN_MS = 10_000;

type Open = { readonly tunnel: AgentTunnel; readonly serverId: string; readonly key: string };

export const createConnections = (deps: ConnectionsDeps): Connections => new TunnelConnections(deps);

class TunnelConnections implements Connections {
  readonly #deps: ConnectionsDeps;
  readonly #open = new Set<Open>();
  #servers = 1;
  #countedAt = Number.NEGATIVE_INFINITY;
  #lastEndAt = Number.NEGATIVE_INFINITY;
  #enoughInRow = 0;
  #key = "";
  #failures = 0;
  /** Ends the pause. */
  #woken = new AbortController();

  constructor(deps: ConnectionsDeps) {
    this.#deps = deps;
  }

  get open(): number {
    return this.#withKey().length;
  }

  get failures(): number {
    return this.#failures;
  }

  wake(): void {
    this.#woken.abort();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { log, random } = this.#deps;
    let inRow = 0;
    let isRefused = false;
    while (!signal.aborted) {
      let waitMs: number;
      try {
        waitMs = await this.#step({ isRefused }, signal);
        inRow = 0;
        isRefused = false;
      } catch (error) {
        if (signal.aborted) break;
        this.#failures += 1;
        isRefused = error instanceof PlatformRefusal && (error.status === 401 || error.status === 403);
        waitMs = Math.min(BACKOFF.mostMs, BACKOFF.firstMs * 2 ** inRow) * (0.5 + random());
        inRow += 1;
        const message = error instanceof Error ? error.message : String(error);
        log.warn("no tunnel", { reason: message, retryInMs: Math.round(waitMs) });
      }
      if (waitMs > 0) await this.#pause(waitMs, signal);
    }
    await this.#drain();
  }

  /** One look; resolves with how long to wait for the next. */
  async #step(options: KeyOptions, signal: AbortSignal): Promise<number> {
    this.#key = await this.#deps.key(options);
    await this.#countServers(signal);
    if (!this.#isComplete()) {
      const isNew = (await this.#dial(signal)) === "new";
      this.#enoughInRow = isNew ? 0 : this.#enoughInRow + 1;
      if (isNew) return 0;
      const { firstMs, mostMs } = SAME_SERVER_PAUSE;
      return Math.min(mostMs, firstMs * 2 ** (this.#enoughInRow - 1)) * (0.5 + this.#deps.random());
    }
    this.#enoughInRow = 0;
    // Those with an older key are replaced by now.
    for (const { tunnel, key: older } of this.#open) if (older !== this.#key) tunnel.drain();
    return this.#countAgainMs();
  }

  #countAgainMs(): number {
    const { withinMs, countMs } = AFTER_AN_END;
    return performance.now() - this.#lastEndAt < withinMs ? countMs : COUNT_SERVERS_MS;
  }

  async #countServers(signal: AbortSignal): Promise<void> {
    if (performance.now() - this.#countedAt < this.#countAgainMs()) return;
    this.#countedAt = performance.now();
    this.#servers = await this.#deps.requests.servers(this.#key, signal);
  }

  #isComplete(): boolean {
    const ids = new Set(this.#withKey().map(({ serverId }) => serverId));
    return ids.size >= this.#servers && [...ids].every((id) => this.#countAt(id) >= TUNNELS_PER_SERVER);
  }

  async #dial(signal: AbortSignal): Promise<"new" | "enough"> {
    const { requests, serve, log } = this.#deps;
    const opened = await requests.openTunnel(this.#key, signal);
    this.#servers = opened.servers;
    this.#countedAt = performance.now();
    if (this.#countAt(opened.serverId) >= TUNNELS_PER_SERVER) {
      opened.socket.destroy();
      return "enough";
    }
    const entry: Open = { tunnel: serve(opened), serverId: opened.serverId, key: this.#key };
    this.#open.add(entry);
    log.info("tunnel opened", {
      server: opened.serverId,
      serverVersion: opened.serverVersion,
      servers: this.#servers,
    });
    void entry.tunnel.closed.then(() => {
      this.#open.delete(entry);
      log.info("tunnel closed", { server: entry.serverId });
      this.#lastEndAt = performance.now();
      this.wake();
    });
    return "new";
  }

  /** Resolves after the time, or once something happens. */
  async #pause(milliseconds: number, signal: AbortSignal): Promise<void> {
    this.#woken = new AbortController();
    const ended = AbortSignal.any([signal, this.#woken.signal]);
    await sleep(milliseconds, undefined, { signal: ended }).catch(() => undefined);
  }

  async #drain(): Promise<void> {
    this.#deps.drain();
    const open = [...this.#open];
    for (const { tunnel } of open) tunnel.drain();
    await Promise.race([Promise.all(open.map(({ tunnel }) => tunnel.closed)), sleep(DRAIN_MS)]);
    for (const { tunnel } of this.#open) tunnel[Symbol.dispose]();
  }

  /** Tunnels with the newest key. */
  #withKey(): readonly Open[] {
    return [...this.#open].filter(({ key }) => key === this.#key);
  }

  #countAt(serverId: string): number {
    return this.#withKey().filter((each) => each.serverId === serverId).length;
  }
}
