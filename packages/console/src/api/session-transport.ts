// Sends requests in the browser's session: adds the CSRF token to writes, and reports what responses say about session and server.

import type { Transport } from "@postern/client/transport/transport";
import { CSRF_HEADER } from "../session/session.ts";
import type { Connection } from "./connection.ts";

export type SessionTransportOptions = {
  readonly inner: Transport;
  readonly csrfToken: string;
  readonly connection: Pick<Connection, "reached" | "lost">;
  /** The session may be over: a response said so, or a watch ended, as watches do when their credential ends. */
  readonly onDoubt: () => void;
};

export function createSessionTransport(options: SessionTransportOptions): Transport {
  const { inner, csrfToken, connection, onDoubt } = options;
  // A page starts a dozen requests at once, and starting one takes the browser some milliseconds: each gets a task of its own.
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
      // Without a session, requests are anonymous and refused with 403.
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
