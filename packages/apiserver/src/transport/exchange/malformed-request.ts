// Responds to requests that Node's parser rejects: those with an unknown method like any other, all others with a short error before the connection
// is closed.

import type { Duplex } from "node:stream";
import { methodNotAllowedError } from "@postern/apimachinery/meta/api-error";

const STATUS: { readonly [code: string]: string } = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

/** An error of the parser, with the members it carries beside its text. */
export type ParserError = Error & { readonly code?: string; readonly rawPacket?: Uint8Array };

const REQUEST_LINE = /^[!#$%&'*+.^_`|~\w-]+ \/\S* HTTP\/1\.[01]\r\n/;
const MAX_REQUEST_LINE = 8_192;

/** `busy` when a response may be under way on the socket, into which nothing may be written. */
export function refuseMalformedRequest(error: ParserError, socket: Duplex, busy: boolean): void {
  if (busy || error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, contentType, body } = answerTo(error);
  const head = [`Content-Type: ${contentType}`, `Content-Length: ${Buffer.byteLength(body)}`, "Connection: close"];
  socket.end(`HTTP/1.1 ${status}\r\n${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}

function answerTo({ code = "", rawPacket = new Uint8Array(0) }: ParserError) {
  // The parser knows a fixed set of methods; another one gets the 405 that any path would answer it with.
  if (
    code === "HPE_INVALID_METHOD" &&
    REQUEST_LINE.test(Buffer.from(rawPacket).toString("latin1", 0, MAX_REQUEST_LINE))
  ) {
    const body = `${JSON.stringify(methodNotAllowedError().toStatus())}\n`;
    return { status: "405 Method Not Allowed", contentType: "application/json", body };
  }
  const status = STATUS[code] ?? "400 Bad Request";
  return { status, contentType: "text/plain; charset=utf-8", body: status };
}
