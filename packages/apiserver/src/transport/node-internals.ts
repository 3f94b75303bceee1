// Everything in this server that leans on private members of Node. Where Node changes one, the server goes on without what it was for, and a test fails.

import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";

/**
 * The handle of a stream. A session of HTTP/2 has the one under its socket to itself, and `socket.pause` does not reach it. These two methods do: all
 * streams of Node have them, and its own sockets use them so.
 * Source: node/lib/net.js, Socket.prototype.pause; node/src/stream_base.h
 */
type Handle = { readStop?(): unknown; readStart?(): unknown };

/** Undefined once the socket is closed. */
export function handleOf(socket: Socket): Handle | undefined {
  // Not in Node's types.
  return (socket as { _handle?: Handle | null })._handle ?? undefined;
}

export const readNoFurther = (socket: TLSSocket): unknown => handleOf(socket)?.readStop?.();
export const readOn = (socket: TLSSocket): unknown => handleOf(socket)?.readStart?.();

/**
 * Takes the listener off the socket by which Node ends a session of HTTP/2 whose connection has closed, and returns it: all streams of the session end in it. Undefined
 * where there is none: then Node ends them itself.
 * Source: node/lib/internal/http2/core.js, socketOnClose
 */
export function takeSessionEnd(socket: TLSSocket): (() => void) | undefined {
  const listener = socket.listeners("close").find(({ name }) => name === "socketOnClose");
  if (listener === undefined) return undefined;
  socket.removeListener("close", listener as () => void);
  return () => listener.call(socket);
}
