// Closes an HTTP/2 session gracefully: the client learns the reason, and which requests were not processed.

import { constants, type ServerHttp2Session } from "node:http2";
import type { TLSSocket } from "node:tls";
import type { Scheduler } from "../runtime/clock.ts";

/** Time for the last frame to be read. */
const FAREWELL_MS = 1_000;

/**
 * RFC 9113, section 6.8: a code, and a text for people. Requests that were answered by then are whole; others are cut. The socket is closed also
 * where the client does not close its side.
 */
export function endSession(session: ServerHttp2Session, socket: TLSSocket, reason: string, scheduler: Scheduler): void {
  if (session.destroyed) return;
  session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, undefined, Buffer.from(reason));
  session.close();
  const timer = scheduler.schedule(FAREWELL_MS, () => {
    session.destroy();
    socket.destroy();
  });
  socket.once("close", () => timer[Symbol.dispose]());
}
