// Connections that end behind their requests, so that their clients open others: those that move to another listener of the port, those drawn by
// chance, and all of a listener that retires.

import type { ServerHttp2Session } from "node:http2";
import { Server } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Clock, Random, Scheduler } from "../../runtime/clock.ts";
import { quickTurn } from "./quick-turn.ts";

export type DepartingConnection = {
  readonly socket: TLSSocket;
  /** Requests under way. */
  active: number;
  session: ServerHttp2Session | undefined;
  /** It ends behind its next answer, or behind the requests that are under way. */
  isLeaving: boolean;
  /** No request was under way at the last look, and none has come since. */
  isQuiet: boolean;
};

type DepartureOptions = {
  readonly clock: Pick<Clock, "elapsed">;
  readonly scheduler: Scheduler;
  readonly random: Random;
  /** The share of requests over HTTP/2, up to 1, behind which their connection ends. Default: 0. */
  readonly goawayChance?: number;
};

/** How often a listener that retires looks for connections without a request. */
const QUIET_MS = 2_000;

export class Departures {
  readonly #server: Server;
  readonly #connections: ReadonlyMap<unknown, DepartingConnection>;
  readonly #options: DepartureOptions;
  #isRetiring = false;
  #ended: Promise<void> | undefined;

  constructor(server: Server, connections: ReadonlyMap<unknown, DepartingConnection>, options: DepartureOptions) {
    this.#server = server;
    this.#connections = connections;
    this.#options = options;
  }

  get isRetiring(): boolean {
    return this.#isRetiring;
  }

  /** Connections that stay. */
  get staying(): number {
    let count = 0;
    for (const { isLeaving } of this.#connections.values()) if (!isLeaving) count += 1;
    return count;
  }

  /** So many connections, the oldest first, end behind their requests. */
  move(count: number): void {
    let left = count;
    for (const connection of this.#connections.values()) {
      if (left <= 0) return;
      if (connection.isLeaving) continue;
      leave(connection);
      left -= 1;
    }
  }

  /** The connection may end behind the request that has just come. */
  leaveByChance(connection: DepartingConnection): void {
    const { goawayChance = 0, random } = this.#options;
    if (goawayChance > 0 && Buffer.from(random.bytes(4)).readUInt32BE() < goawayChance * 2 ** 32) leave(connection);
  }

  /**
   * Stops accepting, and refuses no request: each connection ends behind its requests, however long they take. Resolves when every connection is
   * closed, by whatever.
   */
  async retire(): Promise<void> {
    await quickTurn(this.#options.clock);
    const ended = this.stopListening();
    if (this.#isRetiring) return await ended;
    this.#isRetiring = true;
    for (const connection of this.#connections.values()) leave(connection);
    let timer: Disposable | undefined;
    const look = (): void => {
      for (const connection of this.#connections.values()) {
        if (connection.active > 0 || connection.socket.alpnProtocol === "h2") continue;
        if (connection.isQuiet) connection.socket.end();
        connection.isQuiet = true;
      }
      timer = this.#options.scheduler.schedule(QUIET_MS, look);
    };
    look();
    await ended;
    timer?.[Symbol.dispose]();
  }

  /** Resolves when every connection is closed. Open ones stay. */
  stopListening(): Promise<void> {
    // Not that of the HTTP server, which ends connections without a request.
    this.#ended ??= new Promise((resolve) => Server.prototype.close.call(this.#server, () => resolve()));
    return this.#ended;
  }
}

/**
 * A client of HTTP/1.1 hears of it in the next answer: it may be sending a request already. That of a request which crosses the GOAWAY of a session
 * learns from this that nothing of it was done: it sends it again on another connection (RFC 9113, section 6.8).
 */
function leave(connection: DepartingConnection): void {
  if (connection.isLeaving) return;
  connection.isLeaving = true;
  connection.session?.close();
}
