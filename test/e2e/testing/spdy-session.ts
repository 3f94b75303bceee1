// The server's side of SPDY/3.1, as far as kubectl uses it: streams that the client opens, data both ways, pings.
// Source: https://www.chromium.org/spdy/spdy-protocol/spdy-protocol-draft3-1/

import { Duplex } from "node:stream";
import { constants, createDeflate, createInflate } from "node:zlib";

const FRAME_HEAD = 8;
const CONTROL = 0x80;
const VERSION = 3;
const TYPES = { synStream: 1, synReply: 2, rstStream: 3, ping: 6, goAway: 7 } as const;
const FIN = 1;
const CANCEL = 5;

export type SpdyStream = Duplex & { readonly headers: Readonly<Record<string, string>> };

/** Calls `onStream` with each stream that the client opens, once it has been told yes. */
export class SpdySession {
  readonly #connection: Duplex;
  readonly #onStream: (stream: SpdyStream) => void;
  readonly #streams = new Map<number, OpenStream>();
  readonly #inflate = createInflate({ dictionary: DICTIONARY });
  readonly #deflate = createDeflate({ dictionary: DICTIONARY });
  /** One frame after the other: their headers share a compression context. */
  #work: Promise<void> = Promise.resolve();
  #pending = Buffer.alloc(0);

  constructor(connection: Duplex, head: Uint8Array, onStream: (stream: SpdyStream) => void) {
    this.#connection = connection;
    this.#onStream = onStream;
    connection.on("error", () => undefined);
    connection.on("data", (chunk: Buffer) => this.#take(chunk));
    const end = (): void => {
      for (const stream of this.#streams.values()) stream.destroy();
    };
    connection.once("end", () => {
      end();
      connection.end();
    });
    connection.once("close", end);
    this.#take(Buffer.from(head));
  }

  #take(chunk: Buffer): void {
    this.#pending = Buffer.concat([this.#pending, chunk]);
    for (;;) {
      if (this.#pending.length < FRAME_HEAD) return;
      const length = this.#pending.readUIntBE(5, 3);
      if (this.#pending.length < FRAME_HEAD + length) return;
      const head = this.#pending.subarray(0, FRAME_HEAD);
      const content = this.#pending.subarray(FRAME_HEAD, FRAME_HEAD + length);
      this.#pending = this.#pending.subarray(FRAME_HEAD + length);
      this.#work = this.#work.then(() => this.#onFrame(head, content)).catch(() => void this.#connection.destroy());
    }
  }

  async #onFrame(head: Buffer, content: Buffer): Promise<void> {
    const isLast = ((head[4] ?? 0) & FIN) !== 0;
    if (((head[0] ?? 0) & CONTROL) === 0) {
      const stream = this.#streams.get(head.readUInt32BE(0));
      if (content.length > 0) stream?.push(content);
      if (isLast) stream?.push(null);
      return;
    }
    const type = head.readUInt16BE(2);
    if (type === TYPES.synStream) await this.#open(content, isLast);
    else if (type === TYPES.rstStream) this.#streams.get(content.readUInt32BE(0))?.destroy();
    else if (type === TYPES.ping) this.#write(controlFrame(TYPES.ping, content));
    else if (type === TYPES.goAway) this.#connection.end();
  }

  async #open(content: Buffer, isLast: boolean): Promise<void> {
    const id = content.readUInt32BE(0);
    const headers = readHeaders(await run(this.#inflate, content.subarray(10)));
    const stream = new OpenStream(id, headers, (frame) => this.#write(frame));
    this.#streams.set(id, stream);
    stream.once("close", () => this.#streams.delete(id));
    // No headers in the reply: a block that says how many there are.
    const block = await run(this.#deflate, Buffer.alloc(4));
    this.#write(controlFrame(TYPES.synReply, Buffer.concat([content.subarray(0, 4), block])));
    if (isLast) stream.push(null);
    this.#onStream(stream);
  }

  #write(frame: Buffer): boolean {
    return this.#connection.writable && this.#connection.write(frame);
  }
}

class OpenStream extends Duplex {
  readonly headers: Readonly<Record<string, string>>;
  readonly #id: number;
  readonly #send: (frame: Buffer) => void;

  constructor(id: number, headers: Readonly<Record<string, string>>, send: (frame: Buffer) => void) {
    super({ allowHalfOpen: true });
    this.#id = id;
    this.headers = headers;
    this.#send = send;
    this.on("error", () => undefined);
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    this.#send(dataFrame(this.#id, 0, chunk));
    callback();
  }

  override _final(callback: () => void): void {
    this.#send(dataFrame(this.#id, FIN, Buffer.alloc(0)));
    callback();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    if (!this.writableFinished) {
      const content = Buffer.alloc(8);
      content.writeUInt32BE(this.#id, 0);
      content.writeUInt32BE(CANCEL, 4);
      this.#send(controlFrame(TYPES.rstStream, content));
    }
    callback(error);
  }
}

function controlFrame(type: number, content: Buffer): Buffer {
  const head = Buffer.alloc(FRAME_HEAD);
  head.writeUInt16BE((CONTROL << 8) | VERSION, 0);
  head.writeUInt16BE(type, 2);
  head.writeUIntBE(content.length, 5, 3);
  return Buffer.concat([head, content]);
}

function dataFrame(id: number, flags: number, content: Buffer): Buffer {
  const head = Buffer.alloc(FRAME_HEAD);
  head.writeUInt32BE(id, 0);
  head.writeUInt8(flags, 4);
  head.writeUIntBE(content.length, 5, 3);
  return Buffer.concat([head, content]);
}

/** Output for one block that ends with a flush. */
function run(codec: ReturnType<typeof createInflate>, block: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const onData = (chunk: Buffer): void => void chunks.push(chunk);
    codec.on("data", onData).once("error", reject);
    codec.write(block);
    codec.flush(constants.Z_SYNC_FLUSH, () => {
      codec.off("data", onData).off("error", reject);
      resolve(Buffer.concat(chunks));
    });
  });
}

function readHeaders(block: Buffer): Record<string, string> {
  let at = 0;
  const nextText = (): string => {
    const length = block.readUInt32BE(at);
    at += 4 + length;
    return block.toString("utf8", at - length, at);
  };
  const headers: Record<string, string> = {};
  const count = block.readUInt32BE(0);
  at = 4;
  for (let n = 0; n < count; n++) headers[nextText().toLowerCase()] = nextText();
  return headers;
}

/** Names that the compression begins with, each behind its length; then values. Section 2.6.10.1. */
const NAMES = [
  ..."options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow".split(
    " ",
  ),
  ..."authorization cache-control connection content-base content-encoding content-language content-length".split(" "),
  ..."content-location content-md5 content-range content-type date etag expect expires from host if-match".split(" "),
  ..."if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma".split(
    " ",
  ),
  ..."proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding".split(" "),
  ..."upgrade user-agent vary via warning www-authenticate method get status".split(" "),
  ...["200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin"],
];
const VALUES = [
  "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505",
  "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden",
  "404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable",
  "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT",
  "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,",
  "publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.",
];
const DICTIONARY = Buffer.concat([
  ...NAMES.map((name) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(name.length);
    return Buffer.concat([length, Buffer.from(name)]);
  }),
  Buffer.from(VALUES.join("")),
]);
