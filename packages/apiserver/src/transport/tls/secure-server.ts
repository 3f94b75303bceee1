// The TLS server for HTTP/1.1 and HTTP/2 on one port, with all settings in one place.

import { createSecureServer, type Http2SecureServer, type SecureServerOptions } from "node:http2";
import type { SecureContextOptions, TlsOptions } from "node:tls";
import { leaveOutCompatibility, setHttp1 } from "../node-internals.ts";
import type { TransportLimits } from "../transport-limits.ts";
import { CIPHER_SUITES, KEY_EXCHANGE_GROUPS } from "./key-exchange.ts";

/** A serving certificate and its key. */
export type TlsCredentials = {
  /** PEM. */
  readonly key: string | Uint8Array;
  /** PEM, the server's own certificate first. */
  readonly cert: string | Uint8Array;
};

/** By default Node derives it from the command line, which differs between threads. */
const SESSION_CONTEXT = "postern";

/** `ticketKeys`: 48 bytes that listeners share; undefined: random ones. */
export const secureContextOf = (
  { key, cert }: TlsCredentials,
  ticketKeys?: Uint8Array,
): SecureContextOptions & Pick<TlsOptions, "ticketKeys"> => ({
  ...(ticketKeys === undefined ? {} : { ticketKeys: Buffer.from(ticketKeys), sessionIdContext: SESSION_CONTEXT }),
  key: asBuffer(key),
  cert: asBuffer(cert),
  minVersion: "TLSv1.2",
  ecdhCurve: KEY_EXCHANGE_GROUPS,
  ciphers: CIPHER_SUITES,
});

export function createTlsServer(
  tls: TlsCredentials,
  limits: TransportLimits,
  ticketKeys?: Uint8Array,
): Http2SecureServer {
  const server = createSecureServer({
    ...secureContextOf(tls, ticketKeys),
    allowHTTP1: true,
    // Authenticators check the chain: the handshake accepts any certificate.
    requestCert: true,
    rejectUnauthorized: false,
    handshakeTimeout: limits.handshakeTimeoutMs,
    maxSessionMemory: limits.maxSessionMemory,
    // Node ends a connection without a GOAWAY after so many; each is refused by itself, and its client tries again.
    maxSessionRejectedStreams: 10_000,
    settings: {
      maxConcurrentStreams: limits.maxConcurrentStreams,
      maxHeaderListSize: limits.maxHeaderBytes,
      // WebSockets of browsers that have an HTTP/2 connection already (RFC 8441).
      enableConnectProtocol: true,
    },
    ...SOCKET_OPTIONS,
    ...STREAM_RESETS,
    ...EMPTY_REQUESTS,
  });
  setHttp1(server, {
    maxHeaderSize: limits.maxHeaderBytes,
    headersTimeout: limits.headersTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    // Bodies have their own timeout, and watches none.
    requestTimeout: 0,
    timeout: 0,
    requireHostHeader: true,
    connectionsCheckingInterval: Math.min(limits.headersTimeoutMs, 10_000),
  });
  leaveOutCompatibility(server);
  return server;
}

/** Options of net.Server, which TLS passes on. */
const SOCKET_OPTIONS = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000 };

/**
 * How many streams a client may cancel at once and per second before its connection ends. kubectl and informers cancel many watches
 * together. From Node 22 on; earlier releases keep to the library's 1000 and 33.
 */
const STREAM_RESETS = { streamResetBurst: 5_000, streamResetRate: 200 } as Partial<SecureServerOptions>;

/** Of a request over HTTP/1.1 that has no body, no stream is read to its end. From Node 24.12 and 25.1 on; earlier releases read it. */
const EMPTY_REQUESTS = { optimizeEmptyRequests: true } as Partial<SecureServerOptions>;

const asBuffer = (pem: string | Uint8Array): string | Buffer => (typeof pem === "string" ? pem : Buffer.from(pem));
