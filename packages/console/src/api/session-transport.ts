// Requests in the session of the browser: writes carry its token, and what the answers tell about session and server is passed on.

import type { Transport } from "@postern/client/transport/transport";
import { CSRF_HEADER } from "../session/session.ts";
import type { Connection } from "./connection.ts";

export type SessionTransportOptions = {
  readonly inner: Transport;
  readonly csrfToken: string;
  readonly connection: Pick<Connection, "reached" | "lost">;
  /** The session may be over: an answer said so, or a watch ended, as watches do with their credential. */
  readonly onDoubt: () => void;
};

export function createSessionTransport(options: SessionTransportOptions): Transport {
  const { inner, csrfToken, connection, onDoubt } = options;
  // Views begin a dozen requests together, and to begin one takes a browser some milliseconds: each gets a task of its own.
  let turn = Promise.resolve();

  async function* followed(body: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined) {
    try {
      yield* body;
    } catch (error) {
      if (signal?.aborted !== true) connection.lost();
      throw error;
    } finally {
      if (signal?.aborted !== true) onDoubt();
    }
  }

  return {
    async send(request) {
      const { method, path, headers, signal } = request;
      const sent = method === "GET" ? request : { ...request, headers: { ...headers, [CSRF_HEADER]: csrfToken } };
      turn = turn.then(messageTask);
      await turn;
      signal?.throwIfAborted();
      const response = await inner.send(sent).catch((error: unknown) => {
        if (signal?.aborted !== true) connection.lost();
        throw error;
      });
      connection.reached();
      // Without a session one is nobody, who is refused with 403.
      if (response.status === 401 || response.status === 403) onDoubt();
      return /[?&]watch=true(&|$)/.test(path) ? { ...response, body: followed(response.body, signal) } : response;
    },
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  };
}

/** Timers would wait for some milliseconds. */
const messageTask = (): Promise<void> =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
