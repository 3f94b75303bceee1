// Everything in this server that leans on private members of Node. Where Node changes one, the server goes on without what it was for, and a test fails.

import type { Http2SecureServer } from "node:http2";
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

/**
 * Node pauses its parser for a request that arrives while the answer before it is still being written. Its direct way from TLS to the parser
 * goes on with what is decrypted already, and ends the connection with "Parse Error: Paused". With a listener for data Node reads the socket
 * as a stream, which stops when it is paused.
 * Source: node/lib/_http_server.js, socketOnWrap and unconsume
 */
export function readByStream(socket: Socket): void {
  if (!socket.listeners("data").includes(ignore)) socket.on("data", ignore);
}

const ignore = (): void => {};

/**
 * Node puts its compatibility layer on every HTTP/2 stream once there is a listener for "request", which here means HTTP/1.1 alone.
 * Source: node/lib/internal/http2/core.js, setupCompat
 */
export function leaveOutCompatibility(server: Http2SecureServer): void {
  server.removeAllListeners("newListener");
}

/** Settings that the half of the server for HTTP/1.1 reads from it, and takes as no option. Source: node/lib/_http_server.js */
export type Http1Settings = {
  readonly maxHeaderSize: number;
  readonly headersTimeout: number;
  readonly keepAliveTimeout: number;
  readonly requestTimeout: number;
  readonly timeout: number;
  readonly requireHostHeader: boolean;
  readonly connectionsCheckingInterval: number;
};

export function setHttp1(server: Http2SecureServer, settings: Http1Settings): void {
  Object.assign(server, settings);
}

/**
 * Takes the listeners off the server that begin the handshake of a new connection at once, and returns what begins it.
 * Source: node/lib/_tls_wrap.js, tlsConnectionListener
 */
export function takeHandshakes(server: Http2SecureServer): (socket: Socket) => void {
  const starters = server.listeners("connection");
  server.removeAllListeners("connection");
  return (socket) => {
    for (const starter of starters) Reflect.apply(starter, server, [socket]);
  };
}
