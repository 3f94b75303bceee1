// One request and its response on the wire, whatever the protocol: what HTTP/1.1 and HTTP/2 have to offer alike.

import type { Readable, Writable } from "node:stream";
import type { RequestHeaders, UpgradeRequest } from "../api-request.ts";
import type { ResponseHeaders, SentBytes } from "../api-response.ts";
import type { Connection } from "../connections/connection.ts";

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
  /** The same, and forgets what was written and not read, also where the connection takes nothing more. */
  abandon(): void;
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
