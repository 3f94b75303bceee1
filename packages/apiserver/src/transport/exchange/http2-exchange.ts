// An exchange on one HTTP/2 stream, through the stream API, which costs half as much as the compatibility API.

import { constants, type IncomingHttpHeaders, type OutgoingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { RequestHeaders } from "../api-request.ts";
import { JoinedBody, type ResponseHeaders, type SentBytes } from "../api-response.ts";
import { endInParts, PART_BYTES } from "../backpressure/write-in-parts.ts";
import type { Connection } from "../connections/connection.ts";
import type { Exchange } from "./exchange.ts";
import { isBodiless } from "./exchange.ts";
import { withRepeatedHeaders } from "./repeated-headers.ts";

/** They speak about an HTTP/1.1 connection, and are an error here. */
export const CONNECTION_HEADERS: readonly string[] = [
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
];
const FORBIDDEN: ReadonlySet<string> = new Set(CONNECTION_HEADERS);
const WITH_CONTENT = { endStream: false };
const WITHOUT_CONTENT = { endStream: true };

export const http2Exchange = (
  stream: ServerHttp2Stream,
  received: IncomingHttpHeaders,
  rawHeaders: readonly string[],
  connection: Connection,
): Exchange => new Http2Exchange(stream, received, rawHeaders, connection);

export class Http2Exchange implements Exchange {
  readonly method: string;
  readonly target: string;
  readonly headers: RequestHeaders;
  readonly httpVersion = "2.0";
  /**
   * Node reads it when the stream closes. If it is read before, Node destroys the stream while the response is being written: it makes an error that is never
   * reported, and the stream stays until the next full collection, which frees all of them in one pause.
   */
  readonly endsByItself = true;
  readonly host: string;
  readonly connection: Connection;
  readonly body: ServerHttp2Stream | undefined;
  protected readonly stream: ServerHttp2Stream;

  constructor(
    stream: ServerHttp2Stream,
    received: IncomingHttpHeaders,
    rawHeaders: readonly string[],
    connection: Connection,
  ) {
    this.method = received[":method"] ?? "";
    this.target = received[":path"] ?? "";
    this.headers = withRepeatedHeaders(withoutPseudoHeaders(received), rawHeaders);
    this.host = received[":authority"] ?? received.host ?? "";
    this.connection = connection;
    this.body = stream.endAfterHeaders ? undefined : stream;
    this.stream = stream;
  }

  isClosed(): boolean {
    return this.stream.destroyed || this.stream.closed || this.stream.aborted;
  }

  send(status: number, headers: ResponseHeaders, bytes: SentBytes | undefined): void {
    const { stream } = this;
    const head = http2Headers(status, headers);
    if (bytes === undefined || isBodiless(status)) {
      stream.respond(head, WITHOUT_CONTENT);
    } else {
      head["content-length"] = typeof bytes === "string" ? Buffer.byteLength(bytes) : bytes.length;
      stream.respond(head, WITH_CONTENT);
      if (bytes instanceof JoinedBody) endInParts(stream, bytes.parts, bytes.length);
      else if (bytes.length > PART_BYTES) endInParts(stream, [asBytes(bytes)], head["content-length"]);
      else stream.end(bytes);
    }
    if (this.body !== undefined && !stream.readableEnded) askToStopSending(stream);
  }

  begin(status: number, headers: ResponseHeaders): ServerHttp2Stream {
    this.stream.respond(http2Headers(status, headers), WITH_CONTENT);
    return this.stream;
  }

  cut(): void {
    this.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  }

  abandon(): void {
    this.cut();
    // A reset waits behind what the connection does not take.
    this.stream.destroy();
  }

  onClose(listener: (complete: boolean) => void): void {
    const { stream } = this;
    let open = true;
    const onEnd = (): void => {
      if (!open) return;
      open = false;
      listener(!stream.aborted && stream.writableEnded && stream.rstCode === constants.NGHTTP2_NO_ERROR);
    };
    // A stream that the client resets stays half open here until its end is read.
    stream.on("aborted", onEnd).on("close", onEnd);
  }
}

/** RFC 9113, section 8.1: after a whole response the rest of the request is not wanted. */
function askToStopSending(stream: ServerHttp2Stream): void {
  stream.once("finish", () => stream.close(constants.NGHTTP2_NO_ERROR));
}

const asBytes = (body: Uint8Array | string): Uint8Array => (typeof body === "string" ? Buffer.from(body) : body);

function http2Headers(status: number, headers: ResponseHeaders): OutgoingHttpHeaders {
  const head: OutgoingHttpHeaders = { ":status": status };
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || FORBIDDEN.has(name.toLowerCase())) continue;
    head[name] = typeof value === "string" ? value : [...value];
  }
  return head;
}

export function withoutPseudoHeaders(received: IncomingHttpHeaders): RequestHeaders {
  const headers: { [name: string]: string | readonly string[] | undefined } = Object.create(null);
  for (const name in received) {
    if (!name.startsWith(":")) headers[name] = received[name];
  }
  return headers;
}
