// Relays the response of a target as it arrives, no faster than the caller reads it.

import { asError } from "@postern/apimachinery/steps/caught";
import {
  type ApiResponse,
  type ByteSink,
  PeerFault,
  RelayedBody,
  type ResponseHeaders,
} from "@postern/apiserver/transport/api-response";
import type { UpstreamResponse } from "../../foundation/upstream/upstream-response.ts";
import { withReturnedLength } from "./returned-headers.ts";

/** RFC 9110, sections 15.3.6 and 15.4.5: what a 204 or 205 has for a body is not for its reader, and a 304 has the length of what was not sent. */
const isBodiless = (status: number): boolean => status === 204 || status === 205 || status === 304;

/** A body that has come whole with its head goes out in one piece with it, as most do. */
export function relayResponse(response: UpstreamResponse, headers: ResponseHeaders, method: string): ApiResponse {
  const { statusCode: status } = response;
  const withLength = (): ResponseHeaders => withReturnedLength(headers, response.headers);
  if (isBodiless(status)) {
    response.destroy();
    return { status, headers: status === 304 ? withLength() : headers, body: { type: "bytes", bytes: "" } };
  }
  const whole = response.whole();
  if (whole === undefined) {
    return {
      status,
      headers: withLength(),
      body: { type: "stream", run: (sink, signal) => relay(response, sink, signal) },
    };
  }
  // The length of a response to HEAD is that of what was not sent.
  return { status, headers: method === "HEAD" ? withLength() : headers, body: new RelayedBody(whole) };
}

const relay = (response: UpstreamResponse, sink: ByteSink, signal: AbortSignal): Promise<void> =>
  whileWanted(response, signal, async () => {
    for await (const chunk of response) {
      const taken = sink.write(chunk);
      const isOpen = typeof taken === "boolean" ? taken : await unlessAborted(taken, signal);
      // Leaving the loop closes the connection to the target.
      if (!isOpen) return;
    }
  });

/**
 * Runs work that reads the response, which ends with the signal. Rejects where the target breaks off or the signal aborts, so that the caller can tell that the
 * answer is not whole; with PeerFault where the target is at fault.
 */
export async function whileWanted(
  response: UpstreamResponse,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  if (signal.aborted) return response.destroy();
  const onAbort = (): void => response.destroy(asError(signal.reason));
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await work();
  } catch (error) {
    if (signal.aborted || response.errored === undefined) throw error;
    throw new PeerFault("the target broke off its response", { cause: error });
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
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
