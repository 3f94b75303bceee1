// An exchange over HTTP/1.1, and a request to leave HTTP/1.1.

import { type IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Scheduler } from "../runtime/clock.ts";
import type { UpgradeRequest } from "./api-request.ts";
import type { ResponseHeaders } from "./api-response.ts";
import type { Connection } from "./connection.ts";
import { type Exchange, isBodiless } from "./exchange.ts";
import { discardBody } from "./read-body.ts";
import { withRepeatedHeaders } from "./request-headers.ts";
import type { TransportLimits } from "./transport-limits.ts";

export type Http1Options = {
  readonly limits: TransportLimits;
  readonly scheduler: Scheduler;
  /** True when the server is closing, and with it every connection behind its current response. */
  readonly isClosing: () => boolean;
};

export function http1Exchange(
  request: IncomingMessage,
  response: ServerResponse,
  connection: Connection,
  { limits, scheduler, isClosing }: Http1Options,
): Exchange {
  const { headers } = request;
  const hasBody = headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
  // The rest of an unread body would otherwise be taken for the next request's wait, however long it is.
  const isLast = (): boolean => isClosing() || (hasBody && !request.complete);
  const headersFor = (extra: ResponseHeaders): ResponseHeaders =>
    isLast() ? { ...extra, connection: "close" } : extra;
  return {
    method: request.method ?? "",
    target: request.url ?? "",
    headers: withRepeatedHeaders(headers, request.rawHeaders),
    httpVersion: "1.1",
    host: headers.host ?? "",
    connection,
    body: hasBody ? request : undefined,
    isClosed: () => response.destroyed || response.closed,
    send(status, given, bytes) {
      const unread = hasBody && !request.complete;
      response.writeHead(status, mutableHeaders(headersFor(withLength(status, given, bytes))));
      if (!unread) {
        response.end(asBytes(bytes));
        return;
      }
      // Closing with data unread makes the operating system reset the connection, which can take the response with it.
      if (bytes !== undefined) response.write(asBytes(bytes));
      const options = { stallTimeoutMs: limits.bodyStallTimeoutMs, scheduler };
      void discardBody(request, limits.maxUnreadBodyBytes, options).then(() => response.end());
    },
    begin(status, given) {
      response.writeHead(status, mutableHeaders(headersFor(given)));
      response.flushHeaders();
      return response;
    },
    cut: () => void request.socket.destroy(),
    onClose(listener) {
      response.on("close", () => listener(response.writableFinished));
    },
  };
}

/** `head` is what came behind the headers. Refusals are answered in HTTP, and the connection ends with them. */
export function http1UpgradeExchange(
  request: IncomingMessage,
  socket: Duplex,
  head: Uint8Array,
  connection: Connection,
): Exchange {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  let accepted = false;
  let answered = false;
  const respond = (status: number, headers: ResponseHeaders): ServerResponse => {
    // Duplex is what the event promises; on a TLS listener it always is the TLS socket.
    response.assignSocket(socket as Parameters<ServerResponse["assignSocket"]>[0]);
    response.on("finish", () => {
      answered = true;
      socket.end();
    });
    response.writeHead(status, mutableHeaders({ ...headers, connection: "close" }));
    return response;
  };
  const upgrade: UpgradeRequest = {
    protocol: request.headers.upgrade ?? "",
    accept() {
      accepted = true;
      return { socket, head };
    },
  };
  return {
    method: request.method ?? "",
    target: request.url ?? "",
    headers: withRepeatedHeaders(request.headers, request.rawHeaders),
    httpVersion: "1.1",
    host: request.headers.host ?? "",
    connection,
    upgrade,
    body: undefined,
    isClosed: () => accepted || socket.destroyed,
    send(status, headers, bytes) {
      respond(status, withLength(status, headers, bytes)).end(asBytes(bytes));
    },
    begin(status, headers) {
      const writable = respond(status, headers);
      writable.flushHeaders();
      return writable;
    },
    cut: () => void socket.destroy(),
    onClose(listener) {
      socket.on("close", () => listener(answered));
    },
  };
}

function withLength(status: number, headers: ResponseHeaders, bytes: Uint8Array | string | undefined): ResponseHeaders {
  if (bytes === undefined || isBodiless(status)) return headers;
  return { ...headers, "content-length": String(typeof bytes === "string" ? Buffer.byteLength(bytes) : bytes.length) };
}

/** Before a text, Node would write the headers in the encoding of the text, which spoils those that hold UTF-8 already. */
const asBytes = (body: Uint8Array | string | undefined): Uint8Array | undefined =>
  typeof body === "string" ? Buffer.from(body) : body;

/** Node's types want lists that may be written to, which it does not do. */
const mutableHeaders = (headers: ResponseHeaders): { [name: string]: string | string[] } =>
  headers as { [name: string]: string | string[] };
