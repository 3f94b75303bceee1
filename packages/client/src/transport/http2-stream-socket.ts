// An HTTP/2 stream as a socket, for clients and servers of HTTP/1.1 that speak over it.

import { constants, type Http2Stream } from "node:http2";
import { Duplex } from "node:stream";

/** This much is read ahead. */
const READ_AHEAD_BYTES = 64 << 10;

/**
 * A stream of Node's cannot be one itself: `http.Server` would read from the handle below it, and strings written together arrive
 * damaged with Node 20. Each write is one buffer here.
 */
export class Http2StreamSocket extends Duplex {
  readonly #stream: Http2Stream;

  constructor(stream: Http2Stream) {
    super({ allowHalfOpen: true, highWaterMark: READ_AHEAD_BYTES });
    this.#stream = stream;
    stream.on("data", (chunk: Buffer) => {
      if (!this.push(chunk)) stream.pause();
    });
    stream.on("end", () => this.push(null));
    stream.on("error", (error) => this.destroy(error));
    // The peer takes no more. Where it says so without an error code, Node would keep the stream until all that waits is written. What came, and its end,
    // is still read.
    stream.on("aborted", () => {
      if (stream.readableLength + this.readableLength > 0) this.once("end", () => this.destroy());
      else setImmediate(() => this.destroy());
    });
    stream.on("close", () => {
      // All that came is still read. An end that did not come is an error.
      if (!stream.readableEnded) this.destroy(streamClosed());
      else if (this.readableEnded) this.destroy();
      else this.once("end", () => this.destroy());
    });
  }

  override _read(): void {
    this.#stream.resume();
  }

  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    if (chunk.length === 0 || this.#stream.write(chunk)) callback();
    else this.#stream.once("drain", callback);
  }

  override _writev(chunks: readonly { readonly chunk: Buffer }[], callback: () => void): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), "", callback);
  }

  override _final(callback: () => void): void {
    this.#stream.end(callback);
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    const stream = this.#stream;
    // Behind an end of its own, the peer reads what has come. Otherwise it must not go on writing what waits there.
    const code = stream.writableFinished ? constants.NGHTTP2_NO_ERROR : constants.NGHTTP2_CANCEL;
    if (!stream.closed) stream.close(code);
    stream.destroy();
    callback(error);
  }

  // Methods of sockets: a stream has nothing to set.
  setNoDelay(): this {
    return this;
  }
  setKeepAlive(): this {
    return this;
  }
  setTimeout(): this {
    return this;
  }
}

/** As for a TCP connection: clients look at the code where they decide whether to send a request again. */
const streamClosed = (): Error => Object.assign(new Error("the stream was closed"), { code: "ECONNRESET" });
