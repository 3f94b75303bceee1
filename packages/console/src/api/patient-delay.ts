// Waits before a retry: as long as the server asked for, but not longer than the server is unreachable.

import { type Delay, systemDelay } from "@postern/client/delay";
import type { Connection } from "./connection.ts";

/** Ends early when another request was answered, or when the browser is online again. */
export const patientDelay =
  (connection: Pick<Connection, "subscribe" | "state">, online: EventTarget = globalThis): Delay =>
  async (milliseconds, signal) => {
    const early = new AbortController();
    const end = (): void => early.abort();
    const stop = connection.subscribe(() => connection.state().isReachable && end());
    online.addEventListener("online", end, { once: true });
    try {
      const both = signal === undefined ? early.signal : AbortSignal.any([signal, early.signal]);
      await systemDelay(milliseconds, both).catch(() => signal?.throwIfAborted());
    } finally {
      stop();
      online.removeEventListener("online", end);
    }
  };
