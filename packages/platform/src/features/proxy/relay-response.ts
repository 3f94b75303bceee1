// Hands the response of a target on as it arrives, no faster than the caller takes it.

import type { IncomingMessage } from "node:http";
import { asError } from "@postern/apimachinery/steps/caught";
import {
  type ApiResponse,
  type ByteSink,
  PeerFault,
  type ResponseHeaders,
} from "@postern/apiserver/transport/api-response";

/** RFC 9110, sections 15.3.6 and 15.4.5: what a 204 or 205 has for a body is not for its reader, and a 304 has the length of what was not sent. */
const isBodiless = (status: number): boolean => status === 204 || status === 205 || status === 304;

export function relayResponse(response: IncomingMessage, headers: ResponseHeaders): ApiResponse {
  const status = response.statusCode ?? 0;
  if (isBodiless(status)) {
    response.resume();
    const { "content-length": _, ...others } = headers;
    return { status, headers: status === 304 ? headers : others, body: { type: "bytes", bytes: "" } };
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
  } catch (error) {
    if (signal.aborted || !response.errored) throw error;
    throw new PeerFault("the target broke off its response", { cause: error });
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** Its body is not read. A connection on which nothing is left to read may be used again. */
function abandon(response: IncomingMessage): void {
  if (response.complete) response.resume();
  else response.destroy();
}

/** Not a race with one promise for all chunks, which would collect reactions for as long as the stream lasts. */
function unlessAborted(taken: Promise<boolean>, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    const settled = (): void => signal.removeEventListener("abort", onAbort);
    taken.finally(settled).then(resolve, reject);
  });
}
