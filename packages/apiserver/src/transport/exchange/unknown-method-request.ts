// Reads a request whose method Node's parser does not know, from the bytes that it gave up on, so that it is answered like any other.
// Source: RFC 9112, sections 3 and 5

import { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { ParserError } from "./malformed-request.ts";

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const UNKNOWN_METHOD_LINE = new RegExp(`^(${TOKEN}) (/[^\\s\\x00-\\x20\\x7f]*) HTTP/1\\.1$`);
const HEADER_LINE = new RegExp(`^(${TOKEN}):([^\\x00-\\x08\\x0a-\\x1f\\x7f]*)$`);
const END_OF_HEAD = "\r\n\r\n";

/** Headers with which there is more to a request than its head. */
const BODY_HEADERS = ["transfer-encoding", "upgrade", "expect", "trailer"];

/**
 * Undefined unless the bytes are exactly one whole head without a body behind it: what is doubtful is left to the general refusal.
 * The request has no parser, so its connection must be closed behind the answer.
 */
export function unknownMethodRequest(error: ParserError, socket: Duplex): IncomingMessage | undefined {
  const { code, rawPacket } = error;
  if (code !== "HPE_INVALID_METHOD" || rawPacket === undefined) return undefined;
  const text = Buffer.from(rawPacket).toString("latin1");
  if (text.indexOf(END_OF_HEAD) !== text.length - END_OF_HEAD.length) return undefined;
  const [requestLine = "", ...lines] = text.slice(0, -END_OF_HEAD.length).split("\r\n");
  const [, method, target] = UNKNOWN_METHOD_LINE.exec(requestLine) ?? [];
  const rawHeaders = lines.flatMap((line) => headerOf(line) ?? []);
  if (method === undefined || target === undefined || rawHeaders.length !== 2 * lines.length) return undefined;
  const names = rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
  if (names.filter((name) => name === "host").length !== 1) return undefined;
  if (names.some((name) => BODY_HEADERS.includes(name))) return undefined;
  if (names.some((name, at) => name === "content-length" && rawHeaders[2 * at + 1] !== "0")) return undefined;

  // Duplex is what the event promises; on a TLS listener it always is the TLS socket.
  const request = new IncomingMessage(socket as ConstructorParameters<typeof IncomingMessage>[0]);
  request.method = method;
  request.url = target;
  request.httpVersion = "1.1";
  request.httpVersionMajor = 1;
  request.httpVersionMinor = 1;
  request.rawHeaders = rawHeaders;
  // Repeated ones that say who sends are taken from the raw headers, as for every request; of others the last counts.
  request.headers = Object.fromEntries(names.map((name, at) => [name, rawHeaders[2 * at + 1]]));
  request.complete = true;
  return request;
}

/** Name and value; spaces and tabs, of which the value has no others at its ends, do not belong to it. */
function headerOf(line: string): readonly [name: string, value: string] | undefined {
  const [, name, value] = HEADER_LINE.exec(line) ?? [];
  return name === undefined || value === undefined ? undefined : [name, value.trim()];
}
