// A request: on the wire, where HTTP/1.1 and HTTP/2 have a common interface, and for all later stages, independent of the protocol.

import type { X509Certificate } from "node:crypto";
import type { Duplex, Readable, Writable } from "node:stream";
import type { Awaitable } from "../runtime/awaitable.ts";
import type { ResponseHeaders, SentBytes } from "./api-response.ts";
import type { Connection } from "./connection.ts";
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
  /** Peer address without port. */
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
  /** The body as it arrives, for proxying; undefined after `body` was called. */
  abstract bodyStream(this: Pick<ApiRequest, "bodyStream">): NodeJS.ReadableStream;
  /** Present when the client asked to leave HTTP on this connection (WebSocket, SPDY). */
  abstract readonly upgrade?: UpgradeRequest | undefined;
  /** Aborted when the client went away, the deadline passed or the server stops. */
  abstract readonly signal: AbortSignal;
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
  Pick<ApiRequest, "path" | "basePath" | "requestUri" | "headers" | "peerCertificate" | "body" | "bodyStream">
>;

export type RequestParts = Omit<ApiRequest, "with">;

/** A request that came by no connection. */
export const requestOf = (parts: RequestParts): ApiRequest => Object.assign(Object.create(ApiRequest.prototype), parts);

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

// One request and its response on the wire, whatever the protocol: what HTTP/1.1 and HTTP/2 have to offer alike.

export type Exchange = {
  readonly method: string;
  /** The request target as sent. */
  readonly target: string;
  readonly headers: RequestHeaders;
  readonly httpVersion: "1.1" | "2.0";
  readonly host: string;
  readonly connection: Connection;
  readonly upgrade?: UpgradeRequest;
  /** Undefined when the request has no body. */
  readonly body: Readable | undefined;
  /** True where the end of a body need not be read. */
  readonly endsByItself?: boolean;
  /** True once nothing can be sent any more. */
  isClosed(): boolean;
  /** Sends the whole response; without `bytes` its head alone. */
  send(status: number, headers: ResponseHeaders, bytes: SentBytes | undefined): void;
  /** Sends the head at once, and gives what the body is to be written to. */
  begin(status: number, headers: ResponseHeaders): Writable;
  /** Ends the response so that the client can tell it is not whole. */
  cut(): void;
  /** Calls back once at the end of the exchange; `complete` if the whole response was sent. */
  onClose(listener: (complete: boolean) => void): void;
};

/** The length of the body that the client declared, where it is a number. */
export function contentLengthOf({ headers }: Pick<Exchange, "headers">): number | undefined {
  const text = headers["content-length"];
  return typeof text === "string" && /^\d+$/.test(text) ? Number(text) : undefined;
}

/** Responses of these codes have no body, not even an empty one. */
export const isBodiless = (status: number): boolean => status === 204 || status === 304 || status < 200;

/** Node keeps the first `Authorization` and joins repeated unknown headers by comma, which a group name may hold. */
const isIdentityHeader = (name: string): boolean => name === "authorization" || name.startsWith("impersonate");

const LOWER_CASE_BIT = 0x20;
const INITIALS: readonly number[] = ["a", "i"].map((letter) => letter.charCodeAt(0));

/** `headers` with a list for each identity header that was sent more than once. `rawHeaders` alternates names and values. */
export function withRepeatedHeaders(headers: RequestHeaders, rawHeaders: readonly string[]): RequestHeaders {
  let values: Map<string, string[]> | undefined;
  let repeated = false;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const raw = rawHeaders[at] ?? "";
    if (!INITIALS.includes(raw.charCodeAt(0) | LOWER_CASE_BIT)) continue;
    const name = raw.toLowerCase();
    if (!isIdentityHeader(name)) continue;
    values ??= new Map();
    const sofar = values.get(name);
    if (sofar === undefined) values.set(name, [rawHeaders[at + 1] ?? ""]);
    else {
      sofar.push(rawHeaders[at + 1] ?? "");
      repeated = true;
    }
  }
  if (values === undefined || !repeated) return headers;
  return { ...headers, ...Object.fromEntries([...values].filter(([, list]) => list.length > 1)) };
}
