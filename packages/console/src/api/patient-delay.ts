// Waits before the server is asked again: as long as it is to be left alone, but no longer than it is away.

import { type Delay, systemDelay } from "@postern/client/delay";
import type { Connection } from "./connection.ts";

/** Ends early when the server has answered another request, and when the browser is online again. */
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
