// An exchange over one HTTP/2 stream, through the stream API, which costs half of the compatibility API.

import { constants, type IncomingHttpHeaders, type OutgoingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { RequestHeaders } from "./api-request.ts";
import type { ResponseHeaders } from "./api-response.ts";
import type { Connection } from "./connection.ts";
import { type Exchange, isBodiless } from "./exchange.ts";
import { withRepeatedHeaders } from "./request-headers.ts";

/** They speak about an HTTP/1.1 connection, and are an error here. */
export const CONNECTION_HEADERS: readonly string[] = [
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
];
const WITH_CONTENT = { endStream: false };
const WITHOUT_CONTENT = { endStream: true };

export function http2Exchange(
  stream: ServerHttp2Stream,
  received: IncomingHttpHeaders,
  rawHeaders: readonly string[],
  connection: Connection,
): Exchange {
  const { ":method": method = "", ":path": target = "", ":authority": authority } = received;
  const hasBody = !stream.endAfterHeaders;
  return {
    method,
    target,
    headers: withRepeatedHeaders(withoutPseudoHeaders(received), rawHeaders),
    httpVersion: "2.0",
    host: authority ?? received.host ?? "",
    connection,
    body: hasBody ? stream : undefined,
    isClosed: () => stream.destroyed || stream.closed || stream.aborted,
    send(status, headers, bytes) {
      if (bytes === undefined || isBodiless(status)) {
        stream.respond(http2Headers(status, headers), WITHOUT_CONTENT);
      } else {
        const head = http2Headers(status, headers);
        head["content-length"] = typeof bytes === "string" ? Buffer.byteLength(bytes) : bytes.length;
        stream.respond(head, WITH_CONTENT);
        stream.end(bytes);
      }
      if (hasBody && !stream.readableEnded) askToStopSending(stream);
    },
    begin(status, headers) {
      stream.respond(http2Headers(status, headers), WITH_CONTENT);
      return stream;
    },
    cut: () => stream.close(constants.NGHTTP2_INTERNAL_ERROR),
    onClose(listener) {
      let open = true;
      const onEnd = (): void => {
        if (open) listener(!stream.aborted && stream.writableEnded && stream.rstCode === constants.NGHTTP2_NO_ERROR);
        open = false;
      };
      // A stream that the client resets stays half open here until somebody has read its end.
      stream.on("aborted", onEnd).on("close", onEnd);
    },
  };
}

/** RFC 9113, section 8.1: after a whole response the rest of the request is not wanted. */
function askToStopSending(stream: ServerHttp2Stream): void {
  stream.once("finish", () => stream.close(constants.NGHTTP2_NO_ERROR));
}

function http2Headers(status: number, headers: ResponseHeaders): OutgoingHttpHeaders {
  const head: OutgoingHttpHeaders = { ":status": status };
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || CONNECTION_HEADERS.includes(name.toLowerCase())) continue;
    head[name] = typeof value === "string" ? value : [...value];
  }
  return head;
}

function withoutPseudoHeaders(received: IncomingHttpHeaders): RequestHeaders {
  const headers: { [name: string]: string | readonly string[] | undefined } = Object.create(null);
  for (const name in received) {
    if (!name.startsWith(":")) headers[name] = received[name];
  }
  return headers;
}
