// Hands the response of a target on as it arrives, no faster than the caller takes it.

import type { IncomingMessage } from "node:http";
import type { ApiResponse, ByteSink, ResponseHeaders } from "@postern/apiserver/transport/api-response";

const isBodiless = (status: number): boolean => status === 204 || status === 304;

export function relayResponse(response: IncomingMessage, headers: ResponseHeaders): ApiResponse {
  const status = response.statusCode ?? 0;
  if (isBodiless(status)) {
    response.resume();
    return { status, headers, body: { type: "bytes", bytes: "" } };
  }
  return { status, headers, body: { type: "stream", run: (sink, signal) => relay(response, sink, signal) } };
}

/** Rejects where the target breaks off or the signal aborts, so that the caller can tell that the response is not whole. */
async function relay(response: IncomingMessage, sink: ByteSink, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return abandon(response);
  const onAbort = (): void => void response.destroy(asError(signal.reason));
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    for await (const chunk of response) {
      // The stream has no encoding set: its chunks are Buffers.
      const taken = sink.write(chunk as Buffer);
      const isOpen = typeof taken === "boolean" ? taken : await unlessAborted(taken, signal);
      // Leaving the loop closes the connection to the target.
      if (!isOpen) return;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** Nobody reads it. A connection on which nothing is left to read may be used again. */
function abandon(response: IncomingMessage): void {
  if (response.complete) response.resume();
  else response.destroy();
}

/** Not a race with one promise for all chunks, which would collect reactions for as long as the stream lasts. */
function unlessAborted(taken: Promise<boolean>, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    taken.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

const asError = (reason: unknown): Error =>
  reason instanceof Error ? reason : new Error("aborted", { cause: reason });
