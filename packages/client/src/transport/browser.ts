// Sends requests with `fetch`: the browser handles trust and certificates.

import { trimTrailing } from "@postern/apimachinery/text/trim-trailing";
import type { Transport } from "./transport.ts";

export function createBrowserTransport(deps: {
  /** Base URL or path, such as `/kubernetes/management`. */
  readonly server: string;
  readonly fetch: typeof globalThis.fetch;
}): Transport {
  const { server, fetch } = deps;
  const base = trimTrailing(server, "/");
  return {
    async send({ method, path, headers, body, signal }) {
      const response = await fetch(base + path, {
        method,
        headers: { ...headers },
        // A redirect would send the credential to another host.
        redirect: "error",
        ...(body === undefined ? {} : { body }),
        ...(signal === undefined ? {} : { signal }),
      });
      return {
        status: response.status,
        header: (name) => response.headers.get(name) ?? undefined,
        body: readChunks(response.body),
      };
    },
    async [Symbol.asyncDispose]() {},
  };
}

/** Not every browser can iterate over a stream. */
async function* readChunks(stream: ReadableStream<Uint8Array> | null): AsyncIterable<Uint8Array> {
  if (stream === null) return;
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel();
  }
}
