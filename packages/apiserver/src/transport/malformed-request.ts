// Answers what is not HTTP: briefly, and then closes.

import type { Duplex } from "node:stream";

const STATUS: { readonly [code: string]: string } = {
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
};

/** `busy` when a response may be under way on the socket, into which nothing may be written. */
export function refuseMalformedRequest(error: Error, socket: Duplex, busy: boolean): void {
  // Errors of the parser carry their name here.
  const { code = "" } = error as NodeJS.ErrnoException;
  if (busy || code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = STATUS[code] ?? "400 Bad Request";
  const head = ["Content-Type: text/plain; charset=utf-8", `Content-Length: ${status.length}`, "Connection: close"];
  socket.end(`HTTP/1.1 ${status}\r\n${head.join("\r\n")}\r\n\r\n${status}`, () => socket.destroy());
}
