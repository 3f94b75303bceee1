// A WebSocket on one HTTP/2 stream (RFC 8441). The rest of the server sees an upgrade like any other.

import { constants, type IncomingHttpHeaders, type OutgoingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { Duplex } from "node:stream";
import { asError, caught } from "@postern/apimachinery/steps/caught";
import type { Random } from "../../runtime/clock.ts";
import type { RequestHeaders, UpgradeRequest } from "../api-request.ts";
import { clientGoneError } from "../client-gone-error.ts";
import type { Connection } from "../connections/connection.ts";
import type { Exchange } from "./exchange.ts";
import { CONNECTION_HEADERS, Http2Exchange, withoutPseudoHeaders } from "./http2-exchange.ts";
import { withRepeatedHeaders } from "./repeated-headers.ts";

const WEB_SOCKET = "websocket";
const KEY_BYTES = 16;
const HEAD_END = "\r\n\r\n";

/** Node's types know of this header from a later release on. */
const protocolOf = (headers: IncomingHttpHeaders): string | undefined => {
  const value = headers[":protocol"];
  return typeof value === "string" ? value : undefined;
};

/** Whether a stream asks for a tunnel of a kind that is served. */
export const asksForTunnel = (headers: IncomingHttpHeaders): boolean =>
  headers[":method"] === "CONNECT" && protocolOf(headers) === WEB_SOCKET;

/**
 * The handshake is that of HTTP/1.1, with a key of our own, since HTTP/2 has none: handlers and the servers behind a proxy need it.
 */
export const http2TunnelExchange = (
  stream: ServerHttp2Stream,
  received: IncomingHttpHeaders,
  rawHeaders: readonly string[],
  connection: Connection,
  random: Random,
): Exchange => new TunnelExchange(stream, received, rawHeaders, connection, random);

class TunnelExchange extends Http2Exchange {
  override readonly method = "GET";
  override readonly headers: RequestHeaders;
  override readonly body = undefined;
  readonly upgrade: UpgradeRequest;
  #accepted = false;

  constructor(
    stream: ServerHttp2Stream,
    received: IncomingHttpHeaders,
    rawHeaders: readonly string[],
    connection: Connection,
    random: Random,
  ) {
    super(stream, received, rawHeaders, connection);
    this.headers = {
      ...withRepeatedHeaders(withoutPseudoHeaders(received), rawHeaders),
      connection: "Upgrade",
      upgrade: WEB_SOCKET,
      "sec-websocket-key": Buffer.from(random.bytes(KEY_BYTES)).toString("base64"),
    };
    this.upgrade = {
      protocol: WEB_SOCKET,
      accept: () => {
        if (stream.destroyed) throw clientGoneError();
        this.#accepted = true;
        return { socket: new Http2Tunnel(stream), head: new Uint8Array(0) };
      },
    };
  }

  override isClosed(): boolean {
    return this.#accepted || super.isClosed();
  }

  override cut(): void {
    this.stream.close(constants.NGHTTP2_CANCEL);
  }
}

/** Takes the head of an HTTP/1.1 response, and sends it as that of an HTTP/2 one; what comes behind it goes out as it is. */
class Http2Tunnel extends Duplex {
  readonly #stream: ServerHttp2Stream;
  /** Undefined once it is complete. */
  #head: string | undefined = "";

  constructor(stream: ServerHttp2Stream) {
    super({ allowHalfOpen: true });
    this.#stream = stream;
    const fail = (error: unknown): void => void this.destroy(asError(error));
    const onData = (chunk: Buffer): void => {
      if (!this.push(chunk)) stream.pause();
    };
    const onEnd = (): void => void this.push(null);
    const onClose = (): void => void this.destroy();
    stream.on("data", caught(fail, onData)).on("end", caught(fail, onEnd)).on("close", caught(fail, onClose));
    stream.pause();
  }

  override _read(): void {
    this.#stream.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    const content = this.#head === undefined ? chunk : this.#takeHead(this.#head, chunk);
    // A stream that is gone destroys this one, and fails the writes that wait.
    if (content.length === 0 || this.#stream.write(content)) callback();
    else this.#stream.once("drain", () => callback());
  }

  override _final(callback: (error?: Error | null) => void): void {
    this.#stream.end(() => callback());
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    const isOver = this.#stream.readableEnded && this.#stream.writableFinished;
    // RFC 8441, section 5: what is a reset of the connection elsewhere.
    if (!isOver) this.#stream.close(constants.NGHTTP2_CANCEL);
    callback(error);
  }

  /** Returns the part of `chunk` behind the head. */
  #takeHead(before: string, chunk: Buffer): Buffer {
    const text = before + chunk.toString("latin1");
    const end = text.indexOf(HEAD_END);
    if (end < 0) {
      this.#head = text;
      return Buffer.alloc(0);
    }
    this.#head = undefined;
    this.#stream.respond(http2Head(text.slice(0, end)), { endStream: false });
    return Buffer.from(text.slice(end + HEAD_END.length), "latin1");
  }
}

/** There is no 101 in HTTP/2, and no proof that a key was read. */
function http2Head(text: string): OutgoingHttpHeaders {
  const [statusLine = "", ...lines] = text.split("\r\n");
  const status = Number(statusLine.split(" ")[1]);
  const head: OutgoingHttpHeaders = { ":status": status === 101 ? 200 : status };
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).trim().toLowerCase();
    if (name === "sec-websocket-accept" || CONNECTION_HEADERS.includes(name)) continue;
    head[name] = line.slice(colon + 1).trim();
  }
  return head;
}
