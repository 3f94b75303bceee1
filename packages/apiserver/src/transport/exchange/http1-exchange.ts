// An exchange over HTTP/1.1, and a request to leave HTTP/1.1.

import { type IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { RequestHeaders, UpgradeRequest } from "../api-request.ts";
import { JoinedBody, type ResponseHeaders, type SentBytes } from "../api-response.ts";
import { LONG_ANSWER_BYTES } from "../backpressure/unread-answers.ts";
import { endInParts, PART_BYTES, writeInParts } from "../backpressure/write-in-parts.ts";
import { clientGoneError } from "../client-gone-error.ts";
import type { Connection } from "../connections/connection.ts";
import { readByStream } from "../node-internals.ts";
import type { Exchange } from "./exchange.ts";
import { isBodiless } from "./exchange.ts";
import type { ApiRequestOptions } from "./exchange-request.ts";
import { discardBody } from "./read-body.ts";
import { withRepeatedHeaders } from "./repeated-headers.ts";

/** When the server is stopping, every connection closes behind its current response. */
export type Http1Options = ApiRequestOptions & { readonly answers: ShortAnswers };

/** Short answers of the requests that have been read together, which are written together behind them (ADR 134). */
export type ShortAnswers = {
  end(response: ServerResponse, bytes: SentBytes | undefined): void;
  /** Writes those that wait. */
  write(): void;
};

/** Writing this many answers together takes some hundreds of microseconds. */
const WRITTEN_TOGETHER = 32;

export function createShortAnswers(): ShortAnswers {
  let waiting: { readonly response: ServerResponse; readonly bytes: SentBytes | undefined }[] = [];
  const write = (): void => {
    const answers = waiting;
    waiting = [];
    for (const { response, bytes } of answers) {
      try {
        endWith(response, bytes);
      } catch {
        // Its connection ends; the answers behind it are those of others.
        response.destroy();
      }
    }
  };
  return {
    end(response, bytes) {
      waiting.push({ response, bytes });
      if (waiting.length === 1) setImmediate(write);
      else if (waiting.length === WRITTEN_TOGETHER) write();
    },
    write,
  };
}

export const http1Exchange = (
  request: IncomingMessage,
  response: ServerResponse,
  connection: Connection,
  options: Http1Options,
): Exchange => new Http1Exchange(request, response, connection, options);

class Http1Exchange implements Exchange {
  readonly method: string;
  readonly target: string;
  readonly headers: RequestHeaders;
  readonly httpVersion = "1.1";
  readonly host: string;
  readonly connection: Connection;
  readonly body: IncomingMessage | undefined;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #options: Http1Options;

  constructor(request: IncomingMessage, response: ServerResponse, connection: Connection, options: Http1Options) {
    const { headers } = request;
    const hasBody = headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
    this.method = request.method ?? "";
    this.target = request.url ?? "";
    this.headers = withRepeatedHeaders(headers, request.rawHeaders);
    this.host = headers.host ?? "";
    this.connection = connection;
    this.body = hasBody ? request : undefined;
    this.#request = request;
    this.#response = response;
    this.#options = options;
  }

  isClosed(): boolean {
    return this.#response.destroyed || this.#response.closed || this.#request.socket.destroyed;
  }

  send(status: number, headers: ResponseHeaders, bytes: SentBytes | undefined): void {
    const response = this.#response;
    const isUnread = this.#isUnread();
    const isLong = bytes !== undefined && lengthOf(bytes) >= LONG_ANSWER_BYTES;
    // A write can be under way when its reader has the whole answer.
    if (isLong) readByStream(this.#request.socket);
    response.writeHead(status, this.#head(status, headers, bytes));
    if (!isUnread) {
      if (isLong) endWith(response, bytes);
      else this.#options.answers.end(response, bytes);
      return;
    }
    // Closing with data unread makes the operating system reset the connection, which can take the response with it.
    const written = new Promise<void>((resolve) => writeInParts(response, piecesOf(bytes), resolve));
    const { limits, scheduler, bodyThrottle: throttle } = this.#options;
    const options = { stallTimeoutMs: limits.bodyStallTimeoutMs, scheduler, throttle };
    const discarded = discardBody(this.#request, limits.maxUnreadBodyBytes, options);
    void Promise.all([written, discarded]).then(() => response.end());
  }

  begin(status: number, headers: ResponseHeaders): ServerResponse {
    readByStream(this.#request.socket);
    this.#response.writeHead(status, this.#head(status, headers, undefined));
    this.#response.flushHeaders();
    return this.#response;
  }

  cut(): void {
    this.#request.socket.destroy();
  }

  abandon(): void {
    this.cut();
  }

  onClose(listener: (complete: boolean) => void): void {
    const response = this.#response;
    const { socket } = this.#request;
    const tell = (): void => {
      response.off("close", tell);
      socket.off("close", tell);
      listener(response.writableFinished);
    };
    response.on("close", tell);
    // Until it is its turn, Node tells the response of a pipelined request nothing.
    if (response.socket === null) socket.on("close", tell);
  }

  #isUnread(): boolean {
    return this.body !== undefined && !this.#request.complete;
  }

  /** Names and values in turns, which Node writes as they are. */
  #head(status: number, headers: ResponseHeaders, bytes: SentBytes | undefined): string[] {
    const head: string[] = [];
    for (const name in headers) {
      const value = headers[name];
      if (typeof value === "string") head.push(name, value);
      else for (const each of value ?? []) head.push(name, each);
    }
    if (bytes !== undefined && !isBodiless(status)) head.push("content-length", String(lengthOf(bytes)));
    // The rest of an unread body would otherwise be taken for the next request's wait, however long it is.
    if (this.#options.serverStopping.aborted || this.#isUnread() || TOO_LONG.includes(status))
      head.push("connection", "close");
    return head;
  }
}

/** A head that was refused took milliseconds to read: as in Go, the next one takes a handshake first. */
const TOO_LONG: readonly number[] = [414, 431];

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
      if (socket.destroyed) throw clientGoneError();
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
    abandon: () => void socket.destroy(),
    onClose(listener) {
      socket.on("close", () => listener(answered));
    },
  };
}

function withLength(status: number, headers: ResponseHeaders, bytes: SentBytes | undefined): ResponseHeaders {
  if (bytes === undefined || isBodiless(status)) return headers;
  return { ...headers, "content-length": String(lengthOf(bytes)) };
}

const lengthOf = (bytes: SentBytes): number => (typeof bytes === "string" ? Buffer.byteLength(bytes) : bytes.length);

/** Longer bodies are not worth a copy. */
const MAX_COPIED = 16 * 1024;

/** Head and body in one write, where that is short: each character of this text is a byte, as those of the headers are. */
function endWith(response: ServerResponse, bytes: SentBytes | undefined): void {
  if (bytes instanceof JoinedBody && bytes.length > MAX_COPIED) {
    endInParts(response, bytes.parts, bytes.length);
    return;
  }
  const body = asBytes(bytes);
  if (body === undefined) response.end();
  else if (body.length > PART_BYTES) endInParts(response, [body], body.length);
  else if (body.length > MAX_COPIED) response.end(body);
  else response.end(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("latin1"), "latin1");
}

function piecesOf(body: SentBytes | undefined): readonly Uint8Array[] {
  if (body instanceof JoinedBody) return body.parts;
  return body === undefined ? [] : [asBytes(body)];
}

/** Before a text, Node would write the headers in the encoding of the text, which spoils those that hold UTF-8 already. */
function asBytes(body: SentBytes): Uint8Array;
function asBytes(body: SentBytes | undefined): Uint8Array | undefined;
function asBytes(body: SentBytes | undefined): Uint8Array | undefined {
  if (body instanceof JoinedBody) return body.bytes;
  return typeof body === "string" ? Buffer.from(body) : body;
}

/** Node's types want lists that may be written to, which it does not do. */
const mutableHeaders = (headers: ResponseHeaders): { [name: string]: string | string[] } =>
  headers as { [name: string]: string | string[] };
