// The connections to one target: each carries one request at a time, and is kept for the next. They are undici's, without its pool, which does not say whether a
// request went out on a connection that was used before.

import Client from "undici/lib/dispatcher/client.js";
import { passOverContinue } from "./undici-internals.ts";
import { type Dial, LAST_REQUEST } from "./upstream-dialer.ts";

export type PooledConnection = {
  readonly client: Client;
  /** Whether it has carried a request to its end, so that the server may have closed it since. */
  readonly isReused: boolean;
  /** Ends the request on it. */
  destroy(reason: Error): void;
  /** Gives it back behind its request. Otherwise it is destroyed. */
  release(): void;
};

export type UpstreamPool = {
  take(): PooledConnection;
  /** A new connection, for one use. */
  open(): PooledConnection;
  /** Closes those that carry no request. Others follow behind theirs. */
  close(): void;
};

export type UpstreamPoolOptions = {
  /** An http or https URL. */
  readonly origin: string;
  readonly dial: Dial;
  readonly idleTimeoutMs: number;
};

const MAX_FREE = 32;

export function createUpstreamPool({ origin, dial, idleTimeoutMs }: UpstreamPoolOptions): UpstreamPool {
  /** The last one was used last. */
  const free: PooledConnection[] = [];
  let isClosed = false;

  function removeFree(connection: PooledConnection): boolean {
    const at = free.indexOf(connection);
    if (at >= 0) free.splice(at, 1);
    return at >= 0;
  }

  function create(keeps: boolean): PooledConnection {
    let socket: ReturnType<Dial> | undefined;
    let lost: Error | undefined;
    let isReused = false;
    let isLast = !keeps;
    const client = new Client(origin, {
      connect(_place, callback) {
        if (lost === undefined) {
          socket = dial((...result) => {
            // Undici uses what each Duplex has, whatever its type says.
            callback(...(result as Parameters<typeof callback>));
            if (result[1] === null) return;
            passOverContinue(result[1]);
            result[1].once(LAST_REQUEST, () => {
              isLast = true;
              if (removeFree(connection)) client.destroy(ignore);
            });
          });
        } else callback(new LostConnectionError(lost), null);
      },
      keepAliveTimeout: idleTimeoutMs,
      keepAliveMaxTimeout: idleTimeoutMs,
      // Time is bounded by the exchange, which knows what a request is.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const connection: PooledConnection = {
      client,
      get isReused() {
        return isReused;
      },
      destroy(reason) {
        client.destroy(reason, ignore);
        // Undici leaves one alone that is not connected yet.
        socket?.destroy();
      },
      release() {
        if (isLast || isClosed || client.destroyed || free.length >= MAX_FREE) return void client.destroy(ignore);
        isReused = true;
        free.push(connection);
      },
    };
    client.on("disconnect", (_origin, _clients, error) => {
      lost = error;
      if (removeFree(connection)) client.destroy(ignore);
    });
    // The request of a failed connection attempt gets its error.
    client.on("connectionError", ignore);
    return connection;
  }

  return {
    take: () => free.pop() ?? create(true),
    open: () => create(false),
    close() {
      isClosed = true;
      for (const { client } of free.splice(0)) client.destroy(ignore);
    },
  };
}

const ignore = (): void => {};

/**
 * The connection was closed before a request on it was sent. Undici would make another one for it, as often as a server closes them. Its cause
 * is undici's error, after which it would go on by itself.
 */
export class LostConnectionError extends Error {
  override readonly name = "LostConnectionError";
  declare readonly cause: Error;

  constructor(cause: Error) {
    super(cause.message, { cause });
  }
}
