// Ends HTTP/2 sessions: gracefully, so that the client learns the reason and which requests were not processed, and those that are dead. Streams of
// sessions that fail together end in turns.

import { constants, type ServerHttp2Session } from "node:http2";
import type { TLSSocket } from "node:tls";
import { createTurnBudget } from "../../limits/turn-budget.ts";
import type { Scheduler } from "../../runtime/clock.ts";
import { handleOf, takeSessionEnd } from "../node-internals.ts";

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

/** PINGs in a row. One may seem to be unanswered after the server itself stood still. */
const MAX_UNANSWERED = 2;

/**
 * Ends the session when its client has gone without a word, or has sent a frame that ends it: then nghttp2 reads no further, so that the end of
 * the connection would go unnoticed, and Node reports nothing.
 * Source: nghttp2/lib/nghttp2_session.c (nghttp2_session_want_read); node/src/node_http2.cc (MaybeStopReading)
 */
export function endDeadSession(
  session: ServerHttp2Session,
  socket: TLSSocket,
  scheduler: Scheduler,
  pingMs: number,
): void {
  let unanswered = 0;
  let timer: Disposable;
  const check = (): void => {
    if (session.destroyed) return;
    if (unanswered === MAX_UNANSWERED) {
      session.destroy();
      socket.destroy();
      return;
    }
    unanswered += 1;
    session.ping((error) => {
      if (error === null) unanswered = 0;
    });
    timer = scheduler.schedule(pingMs, check);
  };
  timer = scheduler.schedule(pingMs, check);
  socket.once("close", () => timer[Symbol.dispose]());
}

/** Those that end in one turn of the event loop; all of one session end together. Each costs about what opening it did. */
const STREAMS_IN_A_TURN = 128;

export type SessionEnds = {
  /** Lets the session end in its turn, whatever ends it. `openStreams` is the number of streams that end with it. */
  add(session: ServerHttp2Session, socket: TLSSocket, openStreams: () => number): void;
};

export function createSessionEnds(): SessionEnds {
  const budget = createTurnBudget(STREAMS_IN_A_TURN);
  const endInTurn = (openStreams: () => number, end: () => unknown): void => {
    const count = openStreams();
    if (count > 0 && budget.isOver()) {
      budget.later(end, openStreams);
      return;
    }
    budget.spend(count);
    end();
  };
  return {
    add(session, socket, openStreams) {
      let isEnding = false;
      const once = (end: () => void): void => {
        if (isEnding) return;
        isEnding = true;
        endInTurn(openStreams, end);
      };
      const destroy = session.destroy.bind(session);
      session.destroy = (error, code) => once(() => destroy(error, code));
      const onClose = takeSessionEnd(socket);
      if (onClose === undefined) return;
      // The session writes to the handle until it ends, and nothing else would keep it.
      const handle = handleOf(socket);
      const end = (): unknown => {
        onClose();
        return handle;
      };
      socket.once("close", () => endInTurn(openStreams, end));
    },
  };
}
