// The connections to one target that are kept for the next request.

import type { Scheduler } from "@postern/apiserver/runtime/clock";
import { UpstreamConnection } from "./upstream-connection.ts";
import type { Dial } from "./upstream-dialer.ts";
import { LostConnectionError } from "./upstream-failure.ts";

export type UpstreamPool = {
  take(): UpstreamConnection;
  /** A new connection, for one use. */
  open(): UpstreamConnection;
  /** Closes those that carry no request. Others follow behind theirs. */
  close(): void;
};

export type UpstreamPoolOptions = {
  /** The name of the target, with its port where that is not the default one. */
  readonly host: string;
  readonly dial: Dial;
  readonly idleTimeoutMs: number;
  readonly scheduler: Scheduler;
};

const MAX_FREE = 32;
/** A target closes a connection when its time has passed there, and a request may be on its way. */
const KEEP_ALIVE_MARGIN_MS = 1_000;

/** `until` on the clock of `performance`. */
type Free = { readonly connection: UpstreamConnection; readonly until: number };

export function createUpstreamPool({ host, dial, idleTimeoutMs, scheduler }: UpstreamPoolOptions): UpstreamPool {
  /** The last one was used last. */
  let free: Free[] = [];
  let isClosed = false;
  let sweeping: Disposable | undefined;

  function keep(connection: UpstreamConnection): void {
    const keptMs = Math.min(idleTimeoutMs, connection.keepAliveSeconds * 1_000 - KEEP_ALIVE_MARGIN_MS);
    if (isClosed || keptMs <= 0 || free.length >= MAX_FREE) {
      connection.destroy(new LostConnectionError());
      return;
    }
    free.push({ connection, until: performance.now() + keptMs });
    sweeping ??= scheduler.schedule(idleTimeoutMs, sweep);
  }

  /** One timer for all: a timer each would cost every request two. */
  function sweep(): void {
    const now = performance.now();
    for (const { connection, until } of [...free]) if (until <= now) connection.destroy(new LostConnectionError());
    sweeping = free.length === 0 ? undefined : scheduler.schedule(idleTimeoutMs / 2, sweep);
  }

  const create = (keeps: boolean): UpstreamConnection =>
    new UpstreamConnection({
      ...{ dial, host, keeps, onFree: keep },
      onClosed(connection) {
        free = free.filter((each) => each.connection !== connection);
      },
    });

  return {
    take() {
      for (let last = free.pop(); last !== undefined; last = free.pop()) {
        if (last.until > performance.now()) return last.connection;
        last.connection.destroy(new LostConnectionError());
      }
      return create(true);
    },
    open: () => create(false),
    close() {
      isClosed = true;
      sweeping?.[Symbol.dispose]();
      for (const { connection } of free) connection.destroy(new LostConnectionError());
    },
  };
}
