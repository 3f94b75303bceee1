// A request as all stages behind the transport see it, independent of the protocol.

import type { X509Certificate } from "node:crypto";
import type { Duplex } from "node:stream";
import type { Awaitable } from "../runtime/awaitable.ts";
import type { ConnectionBacklog } from "./watch-backlog.ts";

/** Header names in lower case; repeated headers joined as Node joins them, `set-cookie`-like ones as lists. */
export type RequestHeaders = { readonly [name: string]: string | readonly string[] | undefined };

/**
 * A class, so that the compiler refuses copies by spread, which would leave its methods and accessors behind: `with` makes them. And it
 * refuses methods that are called without their request.
 */
export abstract class ApiRequest {
  /** Upper case. */
  abstract readonly method: string;
  /** Percent-encoded path as sent, below the base path of the server that handles it, without the query. */
  abstract readonly path: string;
  /** The path prefix that was taken off on the way here, such as `/kubernetes/management`; "" at the root. */
  abstract readonly basePath: string;
  abstract readonly query: URLSearchParams;
  /** Path and query for audit and logs alone: as the client sent them, and without credentials once the chain of filters has begun. */
  abstract readonly requestUri: string;
  abstract readonly headers: RequestHeaders;
  abstract readonly httpVersion: "1.1" | "2.0";
  /** Address of the client, without port: of the peer, or the one that a trusted proxy has named. */
  abstract readonly remoteAddress: string;
  /** Host name and port the client used (`:authority` or Host). */
  abstract readonly host: string;
  /** Stands for the connection: the same object with every request on it. */
  abstract readonly connection?: object;
  /** Counts what waits for the watches of the connection. */
  abstract readonly backlog?: ConnectionBacklog;
  /** Marks the connection: a valid credential has been used on it. */
  abstract know?(this: Pick<ApiRequest, "know">, user: string): void;
  /** The client's certificate, not verified: authenticators check the chain against the CA they trust. */
  abstract peerCertificate(this: Pick<ApiRequest, "peerCertificate">): X509Certificate | undefined;
  /**
   * The whole body, read once; at once where it has arrived. Fails with ApiError 413 past `limitBytes`, 408-like errors when the client
   * stalls, and with what `onBytes` throws, which is called with the length of each part.
   */
  abstract body(
    this: Pick<ApiRequest, "body">,
    limitBytes: number,
    onBytes?: (count: number) => void,
  ): Awaitable<Uint8Array>;
  /** The whole body where it has been read on the way here, and `body` gives it again. */
  declare readonly wholeBody?: Uint8Array;
  /** The body as it arrives, for proxying; undefined after `body` was called. */
  abstract bodyStream(this: Pick<ApiRequest, "bodyStream">): NodeJS.ReadableStream;
  /** Present when the client asked to leave HTTP on this connection (WebSocket, SPDY). */
  abstract readonly upgrade?: UpgradeRequest | undefined;
  /** Aborted when the client went away, the deadline passed or the server stops. */
  abstract readonly signal: AbortSignal;
  /** Calls back once with the reason when `signal` is aborted, immediately if it is. Costs less than the signal, which may not exist yet. */
  abstract onAbort?(this: Pick<ApiRequest, "onAbort">, listener: (reason: unknown) => void): Disposable;
  /** Aborts `signal`: for the deadline and for a credential that is revoked. */
  abstract abort?(this: Pick<ApiRequest, "abort">, reason: unknown): void;
  /** Aborted when the server begins to stop, while requests that do not last may still be finished. */
  abstract readonly serverStopping?: AbortSignal;

  /** The same request with other members. It shares body and cancellation with this one. */
  with(this: ApiRequest, changes: RequestChanges): ApiRequest {
    return Object.assign(Object.create(Object.getPrototypeOf(this)), this, changes);
  }
}

export type RequestChanges = Partial<
  Pick<
    ApiRequest,
    "path" | "basePath" | "requestUri" | "headers" | "peerCertificate" | "body" | "wholeBody" | "bodyStream"
  >
>;

export type RequestParts = Omit<ApiRequest, "with">;

/** A request that came by no connection. */
export const requestOf = (parts: RequestParts): ApiRequest => Object.assign(Object.create(ApiRequest.prototype), parts);

export type UpgradeRequest = {
  /** The value of the Upgrade header, such as `websocket` or `SPDY/3.1`. */
  readonly protocol: string;
  /**
   * Takes the raw connection over. The caller writes the 101 itself; `head` is what already came after the headers. Throws ApiError 499 where the
   * connection has closed: it would not say so again.
   */
  accept(): { readonly socket: Duplex; readonly head: Uint8Array };
};

/** The first value of a header, or "" when absent. */
export function headerOf(request: Pick<ApiRequest, "headers">, name: string): string {
  const value = request.headers[name];
  if (value === undefined) return "";
  return typeof value === "string" ? value : (value[0] ?? "");
}
