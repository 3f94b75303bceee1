// The limits of one listener, so that no client can exhaust the server.

import type { BacklogLimits } from "./watch-backlog.ts";

export type TransportLimits = {
  /** Connections with a valid credential. */
  readonly maxConnections: number;
  /** Connections after their handshake without one. */
  readonly maxStrangers: number;
  /** Connections before the end of their TLS handshake: each costs more than a hundred requests. */
  readonly maxHandshakes: number;
  /** How much of each of these one source may have, or one user; between 0 and 1. */
  readonly sourceShare: number;
  /** How long a connection without a valid credential may be idle. */
  readonly strangerTimeoutMs: number;
  readonly handshakeTimeoutMs: number;
  /** All header lines of one request, its path and query included. */
  readonly maxHeaderBytes: number;
  readonly headersTimeoutMs: number;
  /** How long the client may send nothing in the middle of a body. */
  readonly bodyStallTimeoutMs: number;
  /** How long an idle HTTP/1.1 connection is kept. */
  readonly keepAliveTimeoutMs: number;
  /** How often a client of HTTP/2 is asked whether it is there. Three times as long after it has gone its connection ends. */
  readonly pingMs: number;
  /** Per HTTP/2 connection. */
  readonly maxConcurrentStreams: number;
  /** Per HTTP/2 connection, in MiB. */
  readonly maxSessionMemory: number;
  readonly watchBacklog: BacklogLimits;
  /** Bytes of answers that clients may leave unread, all together. */
  readonly unreadAnswerBytes: number;
  /** How much of an unwanted body is still read, so that the client reads the refusal. */
  readonly maxUnreadBodyBytes: number;
};

export const DEFAULT_TRANSPORT_LIMITS: TransportLimits = {
  maxConnections: 20_000,
  maxStrangers: 4_096,
  maxHandshakes: 512,
  sourceShare: 0.25,
  strangerTimeoutMs: 30_000,
  handshakeTimeoutMs: 5_000,
  // Go's default, which clients rely on: label selectors of 70 kB are real.
  maxHeaderBytes: 1 << 20,
  headersTimeoutMs: 30_000,
  bodyStallTimeoutMs: 30_000,
  // Longer than Go's client keeps an idle connection, so that the server is never the one that closes it.
  keepAliveTimeoutMs: 120_000,
  // As often as client-go asks.
  pingMs: 30_000,
  maxConcurrentStreams: 250,
  maxSessionMemory: 32,
  watchBacklog: { perWatch: 8 << 20, perConnection: 16 << 20, total: 128 << 20 },
  unreadAnswerBytes: 128 << 20,
  maxUnreadBodyBytes: 4 << 20,
};

/** Requests that one HTTP/1.1 connection may send without waiting for answers: nothing else bounds them. No client of Kubernetes sends two. */
export const MAX_PIPELINED = 100;

/** Times the streams that a client may have open. Informers that begin anew under load take back and open as many together. */
export const OPENED_IN_A_TURN = 2;

/** SETTINGS of one connection in a turn of the event loop. Clients send one, and another when they change their mind. */
export const SETTINGS_IN_A_TURN = 16;
