// The client's side of one HTTP/2 connection: as much of RFC 9113 as calls of gRPC need, without a Node stream for each of them (ADR 135).
// What is received is taken at once, so that windows only limit what is on its way.

import type { Duplex } from "node:stream";
import { HeaderDecoder, type HeaderFields } from "./hpack.ts";
import {
  FrameReader,
  FrameWriter,
  flag,
  frameType,
  HeaderBlocks,
  Http2Error,
  http2Error,
  MAX_FRAME_BYTES,
  protocolError,
  readUInt32,
  setting,
  settingsOf,
  uint32,
  withoutPadding,
} from "./http2-frames.ts";

/** What one request and its response do. */
export interface Http2Stream {
  /** Set when they have come. */
  readonly headers: HeaderFields | undefined;
  readonly trailers: HeaderFields | undefined;
  /** Bytes of the body. They must not change until they are sent. */
  write(bytes: Uint8Array, isLast: boolean): void;
  /** Nothing more is received. */
  cancel(): void;
}

/** An error code of RFC 9113 section 7, if there is one, and the error that has ended the connection, if that was it. */
export type StreamEnd = { readonly code: number; readonly cause?: Error | undefined };

export type StreamObserver = {
  data(chunk: Buffer): void;
  /** Called once, but not after `cancel`. */
  closed(end: StreamEnd): void;
};

export type ConnectionObserver = {
  /** The server has sent its settings: it has accepted the connection. */
  accepted(): void;
  /** There can be no further streams. Those that run may end. */
  leaving(): void;
  /** Called once. */
  closed(error: Error | undefined): void;
};

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DEFAULT_WINDOW_BYTES = 65_535;
/** Large lists must not wait for an acknowledgement of every 64 kB. */
const STREAM_WINDOW_BYTES = 4 << 20;
const CONNECTION_WINDOW_BYTES = 16 << 20;
const LAST_STREAM_ID = 2 ** 31 - 1;
const NOTHING = new Uint8Array();
const ENDED: StreamEnd = { code: http2Error.none };

export class Http2Connection {
  readonly #socket: Duplex;
  readonly #observer: ConnectionObserver;
  readonly #output: FrameWriter;
  readonly #input = new FrameReader((...frame) => this.#receive(...frame));
  readonly #streams = new Map<number, Stream>();
  /** Streams that the server has no place for yet. */
  readonly #queued: Stream[] = [];
  /** Streams that wait for a window. */
  readonly #blocked = new Set<Stream>();
  readonly #pings: (() => void)[] = [];
  readonly #blocks = new HeaderBlocks();
  readonly #decoder = new HeaderDecoder();
  #nextId = 1;
  #maxStreams = Number.POSITIVE_INFINITY;
  #maxFrameBytes = MAX_FRAME_BYTES;
  #sendWindow = DEFAULT_WINDOW_BYTES;
  #initialSendWindow = DEFAULT_WINDOW_BYTES;
  #unacknowledged = 0;
  #isAccepted = false;
  #isLeaving = false;
  #isClosed = false;
  #lost: Error | undefined;

  /** Writes to the socket from the start. */
  constructor(socket: Duplex, observer: ConnectionObserver) {
    this.#socket = socket;
    this.#observer = observer;
    this.#output = new FrameWriter(socket);
    this.#output.raw(Buffer.from(PREFACE));
    this.#output.frame(
      frameType.settings,
      0,
      0,
      settingsOf([
        [setting.headerTableSize, 0],
        [setting.enablePush, 0],
        [setting.initialWindowSize, STREAM_WINDOW_BYTES],
      ]),
    );
    this.#output.frame(frameType.windowUpdate, 0, 0, uint32(CONNECTION_WINDOW_BYTES - DEFAULT_WINDOW_BYTES));
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("error", (error) => {
      this.#lost ??= error;
    });
    // The server has ended its side: it answers nothing more.
    socket.on("end", () => socket.destroy());
    socket.on("close", () => this.#close());
  }

  /** No further streams. */
  get isLeaving(): boolean {
    return this.#isLeaving || this.#isClosed;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get streams(): number {
    return this.#streams.size + this.#queued.length;
  }

  /** `block` is an encoded header block. Throws RangeError if the connection is leaving. */
  open(block: Buffer, observer: StreamObserver): Http2Stream {
    if (this.isLeaving) throw new RangeError("the connection takes no further streams");
    const stream = new Stream(this, block, observer);
    if (this.#streams.size < this.#maxStreams) this.#begin(stream);
    else this.#queued.push(stream);
    return stream;
  }

  ping(answered: () => void): void {
    this.#pings.push(answered);
    this.#output.frame(frameType.ping, 0, 0, Buffer.alloc(8));
  }

  destroy(error?: Error): void {
    this.#lost ??= error;
    this.#socket.destroy();
  }

  /** Sends what the windows allow. */
  send(stream: Stream): void {
    if (stream.id === 0) return;
    const { waiting } = stream;
    for (let first = waiting[0]; first !== undefined; first = waiting[0]) {
      const length = Math.min(first.length, this.#maxFrameBytes, this.#sendWindow, stream.sendWindow);
      if (length <= 0 && first.length > 0) {
        this.#blocked.add(stream);
        return;
      }
      if (length === first.length) waiting.shift();
      else waiting[0] = first.subarray(length);
      const isLast = stream.isEnding && waiting.length === 0;
      const part = length === first.length ? first : first.subarray(0, length);
      this.#output.frame(frameType.data, isLast ? flag.endStream : 0, stream.id, part);
      this.#sendWindow -= length;
      stream.sendWindow -= length;
      stream.hasEnded = isLast;
    }
    this.#blocked.delete(stream);
  }

  cancel(stream: Stream): void {
    if (stream.isOver) return;
    this.#reset(stream);
    this.#remove(stream);
  }

  #begin(stream: Stream): void {
    stream.id = this.#nextId;
    stream.sendWindow = this.#initialSendWindow;
    this.#nextId += 2;
    this.#streams.set(stream.id, stream);
    this.#output.frame(frameType.headers, flag.endHeaders, stream.id, stream.block);
    if (this.#nextId > LAST_STREAM_ID) this.#leave();
    this.send(stream);
  }

  #reset({ id }: Stream): void {
    if (id !== 0) this.#output.frame(frameType.rstStream, 0, id, uint32(http2Error.cancel));
  }

  #remove(stream: Stream): void {
    stream.isOver = true;
    this.#blocked.delete(stream);
    if (stream.id === 0) this.#queued.splice(this.#queued.indexOf(stream), 1);
    else this.#streams.delete(stream.id);
    while (this.#queued.length > 0 && this.#streams.size < this.#maxStreams && !this.isLeaving) {
      const next = this.#queued.shift();
      if (next !== undefined) this.#begin(next);
    }
    if (this.#isLeaving && this.streams === 0) {
      this.#endSocket();
    }
  }

  #end(stream: Stream, end: StreamEnd): void {
    this.#remove(stream);
    stream.observer.closed(end);
  }

  #take(chunk: Buffer): void {
    try {
      this.#input.take(chunk);
    } catch (error) {
      // Not the server's fault.
      if (!(error instanceof Http2Error)) throw error;
      this.#output.frame(frameType.goaway, 0, 0, Buffer.concat([uint32(0), uint32(error.code)]));
      this.#output.flush();
      this.destroy(error);
    }
  }

  #receive(type: number, flags: number, streamId: number, payload: Buffer): void {
    if (this.#isClosed) return;
    if (this.#blocks.isPartial && type !== frameType.continuation) throw protocolError("an interrupted header block");
    switch (type) {
      case frameType.data:
        this.#data(flags, streamId, payload);
        break;
      case frameType.headers:
      case frameType.continuation: {
        const block = this.#blocks.take(type, flags, streamId, payload);
        if (block !== undefined) this.#headers(block.isLast, streamId, block.bytes);
        break;
      }
      case frameType.rstStream: {
        const stream = this.#streams.get(streamId);
        if (stream !== undefined) this.#end(stream, { code: readUInt32(payload, 0) });
        break;
      }
      case frameType.settings:
        this.#settings(flags, payload);
        break;
      case frameType.pushPromise:
        throw protocolError("a push, which was not allowed");
      case frameType.ping:
        if ((flags & flag.ack) === 0) this.#output.frame(frameType.ping, flag.ack, 0, payload);
        else this.#pings.shift()?.();
        break;
      case frameType.goaway:
        this.#goaway(readUInt32(payload, 0) & 0x7fff_ffff);
        break;
      case frameType.windowUpdate:
        this.#windowUpdate(streamId, readUInt32(payload, 0) & 0x7fff_ffff);
    }
  }

  #data(flags: number, streamId: number, payload: Buffer): void {
    this.#unacknowledged += payload.length;
    if (this.#unacknowledged >= CONNECTION_WINDOW_BYTES / 2) {
      this.#output.frame(frameType.windowUpdate, 0, 0, uint32(this.#unacknowledged));
      this.#unacknowledged = 0;
    }
    const stream = this.#streams.get(streamId);
    // Of a stream that was cancelled.
    if (stream === undefined) return;
    const isLast = (flags & flag.endStream) !== 0;
    stream.unacknowledged += payload.length;
    if (!isLast && stream.unacknowledged >= STREAM_WINDOW_BYTES / 2) {
      this.#output.frame(frameType.windowUpdate, 0, streamId, uint32(stream.unacknowledged));
      stream.unacknowledged = 0;
    }
    stream.observer.data(withoutPadding(flags, payload));
    if (isLast) this.#finish(stream);
  }

  #headers(isLast: boolean, streamId: number, block: Buffer): void {
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    const fields = this.#decoder.decode(block);
    if (stream.headers !== undefined) stream.trailers = fields;
    // An informational response comes before the real one.
    else if (isLast || fields.get(":status")?.startsWith("1") !== true) stream.headers = fields;
    if (isLast) this.#finish(stream);
  }

  /** The server has ended the stream. It needs no rest of the request. */
  #finish(stream: Stream): void {
    if (stream.isOver) return;
    if (!stream.hasEnded) this.#reset(stream);
    this.#end(stream, ENDED);
  }

  #settings(flags: number, payload: Buffer): void {
    if ((flags & flag.ack) !== 0) return;
    for (let at = 0; at + 6 <= payload.length; at += 6)
      this.#set(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
    this.#output.frame(frameType.settings, flag.ack, 0, NOTHING);
    if (this.#isAccepted) return;
    this.#isAccepted = true;
    this.#observer.accepted();
  }

  #set(name: number, value: number): void {
    if (name === setting.maxConcurrentStreams) this.#maxStreams = value;
    else if (name === setting.maxFrameSize) this.#maxFrameBytes = value;
    else if (name === setting.initialWindowSize) {
      const change = value - this.#initialSendWindow;
      this.#initialSendWindow = value;
      for (const stream of this.#streams.values()) stream.sendWindow += change;
      if (change > 0) this.#sendBlocked();
    }
  }

  #windowUpdate(streamId: number, bytes: number): void {
    if (streamId === 0) {
      this.#sendWindow += bytes;
      this.#sendBlocked();
      return;
    }
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    stream.sendWindow += bytes;
    if (this.#blocked.has(stream)) this.send(stream);
  }

  #sendBlocked(): void {
    for (const stream of [...this.#blocked]) this.send(stream);
  }

  #goaway(lastId: number): void {
    this.#leave();
    const refused = [...this.#streams.values()].filter(({ id }) => id > lastId);
    for (const stream of [...this.#queued, ...refused]) {
      if (!stream.isOver) this.#end(stream, { code: http2Error.refusedStream });
    }
    if (this.streams === 0) this.#endSocket();
  }

  /** When everything is sent. */
  #endSocket(): void {
    this.#output.flush();
    this.#socket.end(() => this.#socket.destroy());
  }

  #leave(): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.#observer.leaving();
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const cause = this.#lost;
    for (const stream of [...this.#streams.values(), ...this.#queued]) {
      if (!stream.isOver)
        this.#end(stream, { code: stream.id === 0 ? http2Error.refusedStream : http2Error.none, cause });
    }
    this.#observer.closed(cause);
  }
}

class Stream implements Http2Stream {
  /** 0 while the server has no place for it. */
  id = 0;
  readonly block: Buffer;
  readonly observer: StreamObserver;
  readonly waiting: Uint8Array[] = [];
  headers: HeaderFields | undefined;
  trailers: HeaderFields | undefined;
  sendWindow = 0;
  unacknowledged = 0;
  /** The last bytes have been written. */
  isEnding = false;
  /** They have been sent. */
  hasEnded = false;
  isOver = false;
  readonly #connection: Http2Connection;

  constructor(connection: Http2Connection, block: Buffer, observer: StreamObserver) {
    this.#connection = connection;
    this.block = block;
    this.observer = observer;
  }

  write(bytes: Uint8Array, isLast: boolean): void {
    if (this.isOver || this.isEnding) return;
    this.isEnding = isLast;
    this.waiting.push(bytes);
    if (this.waiting.length === 1) this.#connection.send(this);
  }

  cancel(): void {
    this.#connection.cancel(this);
  }
}
