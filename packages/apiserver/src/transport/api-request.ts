// A request as every later stage sees it, whatever the wire protocol was.

import type { X509Certificate } from "node:crypto";
import type { Duplex } from "node:stream";
import type { ConnectionBacklog } from "./watch-backlog.ts";

/** Header names in lower case; repeated headers joined as Node joins them, `set-cookie`-like ones as lists. */
export type RequestHeaders = { readonly [name: string]: string | readonly string[] | undefined };

export type ApiRequest = {
  /** Upper case. */
  readonly method: string;
  /** Percent-encoded path as sent, below the base path of the server that handles it, without the query. */
  readonly path: string;
  /** The path prefix that was taken off on the way here, such as `/kubernetes/management`; "" at the root. */
  readonly basePath: string;
  readonly query: URLSearchParams;
  /** Path and query for audit and logs alone: as the client sent them, and without credentials once the chain of filters has begun. */
  readonly requestUri: string;
  readonly headers: RequestHeaders;
  readonly httpVersion: "1.1" | "2.0";
  /** Peer address without port. */
  readonly remoteAddress: string;
  /** Host name and port the client used (`:authority` or Host). */
  readonly host: string;
  /** Counts what waits for the watches of the connection. */
  readonly backlog?: ConnectionBacklog;
  /** Tells the connection that somebody has shown a valid credential on it. */
  know?(user: string): void;
  /** The client's certificate, not verified: authenticators check the chain against the CA they trust. */
  peerCertificate(): X509Certificate | undefined;
  /**
   * The whole body, read once. Rejects with ApiError 413 past `limitBytes`, 408-like errors when the client stalls, and with what
   * `onBytes` throws, which is called with the length of each part.
   */
  body(limitBytes: number, onBytes?: (count: number) => void): Promise<Uint8Array>;
  /** The body as it arrives, for proxying; undefined after `body` was called. */
  bodyStream(): NodeJS.ReadableStream;
  /** Present when the client asked to leave HTTP on this connection (WebSocket, SPDY). */
  readonly upgrade?: UpgradeRequest | undefined;
  /** Aborted when the client went away, the deadline passed or the server stops. */
  readonly signal: AbortSignal;
  /** Aborts `signal`: for the deadline and for a credential that is revoked. */
  abort?(reason: unknown): void;
  /** Aborted when the server begins to stop, while requests that do not last may still be finished. */
  readonly serverStopping?: AbortSignal;
};

export type UpgradeRequest = {
  /** The value of the Upgrade header, such as `websocket` or `SPDY/3.1`. */
  readonly protocol: string;
  /** Takes the raw connection over. The caller writes the 101 itself; `head` is what already came after the headers. */
  accept(): { readonly socket: Duplex; readonly head: Uint8Array };
};

/** The first value of a header, or "" when absent. */
export function headerOf(request: Pick<ApiRequest, "headers">, name: string): string {
  const value = request.headers[name];
  if (value === undefined) return "";
  return typeof value === "string" ? value : (value[0] ?? "");
}
