// What one listener takes before it refuses, so that no client can use up the server.

export type TransportLimits = {
  readonly maxConnections: number;
  /** TLS handshakes going on at one time; further connections are dropped until some are done. */
  readonly maxHandshakes: number;
  readonly handshakeTimeoutMs: number;
  /** All header lines of one request, its path and query included. */
  readonly maxHeaderBytes: number;
  readonly headersTimeoutMs: number;
  /** How long the client may send nothing in the middle of a body. */
  readonly bodyStallTimeoutMs: number;
  /** How long an idle HTTP/1.1 connection is kept. */
  readonly keepAliveTimeoutMs: number;
  /** Per HTTP/2 connection. */
  readonly maxConcurrentStreams: number;
  /** Per HTTP/2 connection, in MiB. */
  readonly maxSessionMemory: number;
  /** How much of a body that nobody wants is still taken, so that the client gets to read why. */
  readonly maxUnreadBodyBytes: number;
};

export const DEFAULT_TRANSPORT_LIMITS: TransportLimits = {
  maxConnections: 20_000,
  maxHandshakes: 256,
  handshakeTimeoutMs: 10_000,
  // Go's default, which clients rely on: label selectors of 70 kB are real.
  maxHeaderBytes: 1 << 20,
  headersTimeoutMs: 30_000,
  bodyStallTimeoutMs: 30_000,
  // Longer than Go's client keeps an idle connection, so that the server is never the one that closes it.
  keepAliveTimeoutMs: 120_000,
  maxConcurrentStreams: 250,
  maxSessionMemory: 32,
  maxUnreadBodyBytes: 4 << 20,
};
