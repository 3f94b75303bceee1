// The frames of HTTP/2 on a connection: reads them from chunks of any length, and gathers those to be sent.
// Source: RFC 9113 sections 4 and 6.

import type { Duplex } from "node:stream";

export const frameType = {
  data: 0,
  headers: 1,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const flag = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 0x20 } as const;

export const setting = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
} as const;

/** Error codes: RFC 9113 section 7. */
export const http2Error = {
  none: 0,
  protocol: 1,
  flowControl: 3,
  frameSize: 6,
  refusedStream: 7,
  cancel: 8,
  compression: 9,
  enhanceYourCalm: 11,
  inadequateSecurity: 12,
} as const;

/** The connection cannot go on. */
export class Http2Error extends Error {
  override readonly name = "Http2Error";
  /** One of `http2Error`. */
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export type FrameReceiver = (type: number, flags: number, streamId: number, payload: Buffer) => void;

const HEAD_BYTES = 9;
/** The default, which either side may raise for what it receives. */
export const MAX_FRAME_BYTES = 16_384;

export class FrameReader {
  readonly #receive: FrameReceiver;
  #rest: Buffer | undefined;

  constructor(receive: FrameReceiver) {
    this.#receive = receive;
  }

  /** Throws Http2Error for a frame that is too large. */
  take(chunk: Buffer): void {
    const bytes = this.#rest === undefined ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (bytes.length - at >= HEAD_BYTES) {
      const word = bytes.readUInt32BE(at);
      const length = word >>> 8;
      if (length > MAX_FRAME_BYTES)
        throw new Http2Error(http2Error.frameSize, "the server has sent a frame that is too large");
      const end = at + HEAD_BYTES + length;
      if (end > bytes.length) break;
      const flags = bytes[at + 4] ?? 0;
      const streamId = bytes.readUInt32BE(at + 5) & 0x7fff_ffff;
      this.#receive(word & 0xff, flags, streamId, bytes.subarray(at + HEAD_BYTES, end));
      at = end;
    }
    this.#rest = at === bytes.length ? undefined : bytes.subarray(at);
  }
}

const SLAB_BYTES = 128 << 10;
/** As much is sent at once. The rest goes out together at the end of the turn of the event loop. */
const FULL_BYTES = 16 << 10;

export class FrameWriter {
  readonly #socket: Duplex;
  #slab = Buffer.allocUnsafe(SLAB_BYTES);
  /** What is in the slab from here to `#end` has not been given to the socket. */
  #begin = 0;
  #end = 0;
  #isScheduled = false;

  constructor(socket: Duplex) {
    this.#socket = socket;
  }

  /** Bytes outside of frames. */
  raw(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#slab.set(bytes, this.#end);
    this.#end += bytes.length;
    this.#sendSoon();
  }

  /** `payload` is copied. */
  frame(type: number, flags: number, streamId: number, payload: Uint8Array): void {
    const { length } = payload;
    this.#reserve(HEAD_BYTES + length);
    const slab = this.#slab;
    const at = this.#end;
    slab.writeUInt32BE(length * 256 + type, at);
    slab[at + 4] = flags;
    slab.writeUInt32BE(streamId, at + 5);
    slab.set(payload, at + HEAD_BYTES);
    this.#end = at + HEAD_BYTES + length;
    if (this.#end - this.#begin >= FULL_BYTES) this.flush();
    else this.#sendSoon();
  }

  flush(): void {
    if (this.#begin === this.#end) return;
    this.#socket.write(this.#slab.subarray(this.#begin, this.#end));
    this.#begin = this.#end;
  }

  #reserve(length: number): void {
    if (this.#end + length <= this.#slab.length) return;
    this.flush();
    // The socket may still read from the old one.
    this.#slab = Buffer.allocUnsafe(Math.max(SLAB_BYTES, length));
    this.#begin = 0;
    this.#end = 0;
  }

  #sendSoon(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.flush();
    });
  }
}

export function withoutPadding(flags: number, payload: Buffer): Buffer {
  if ((flags & flag.padded) === 0) return payload;
  const padding = payload[0] ?? 0;
  if (padding >= payload.length) throw protocolError("more padding than frame");
  return payload.subarray(1, payload.length - padding);
}

export function settingsOf(settings: readonly (readonly [name: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(6 * settings.length);
  for (const [index, [name, value]] of settings.entries()) {
    payload.writeUInt16BE(name, 6 * index);
    payload.writeUInt32BE(value, 6 * index + 2);
  }
  return payload;
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value, 0);
  return bytes;
}

export function readUInt32(payload: Buffer, at: number): number {
  if (payload.length < at + 4)
    throw new Http2Error(http2Error.frameSize, "the server has sent a frame that is too short");
  return payload.readUInt32BE(at);
}

export const protocolError = (what: string): Http2Error =>
  new Http2Error(http2Error.protocol, `the server has sent ${what}`);

const MAX_HEADER_BLOCK_BYTES = 64 << 10;

/** Puts header blocks together that come in several frames. */
export class HeaderBlocks {
  #partial: { readonly streamId: number; readonly isLast: boolean; readonly parts: Buffer[] } | undefined;
  #length = 0;

  /** No other frame may come before the rest. */
  get isPartial(): boolean {
    return this.#partial !== undefined;
  }

  /** The block that a frame HEADERS or CONTINUATION completes, and whether its stream ends with it. Throws Http2Error. */
  take(
    type: number,
    flags: number,
    streamId: number,
    payload: Buffer,
  ): { readonly isLast: boolean; readonly bytes: Buffer } | undefined {
    if (type === frameType.headers) {
      const content = withoutPadding(flags, payload);
      const bytes = (flags & flag.priority) === 0 ? content : content.subarray(PRIORITY_BYTES);
      const isLast = (flags & flag.endStream) !== 0;
      if ((flags & flag.endHeaders) !== 0) return { isLast, bytes };
      this.#partial = { streamId, isLast, parts: [bytes] };
      this.#length = bytes.length;
      return undefined;
    }
    const partial = this.#partial;
    if (partial?.streamId !== streamId) throw protocolError("a continuation of no header block");
    partial.parts.push(payload);
    this.#length += payload.length;
    if (this.#length > MAX_HEADER_BLOCK_BYTES)
      throw new Http2Error(http2Error.enhanceYourCalm, "the server has sent a header that is too large");
    if ((flags & flag.endHeaders) === 0) return undefined;
    this.#partial = undefined;
    return { isLast: partial.isLast, bytes: Buffer.concat(partial.parts) };
  }
}

const PRIORITY_BYTES = 5;
