// A connection that was taken over, for writers that do not wait: it gets long writes in parts, each when the one before has been taken.

import { Duplex } from "node:stream";
import { writeInParts } from "./write-in-parts.ts";

export class PartedSocket extends Duplex {
  readonly #socket: Duplex;

  constructor(socket: Duplex) {
    super({ allowHalfOpen: true });
    this.#socket = socket;
    const onData = (chunk: Buffer): void => {
      if (!this.push(chunk)) socket.pause();
    };
    const onEnd = (): void => void this.push(null);
    const onError = (error: Error): void => void this.destroy(error);
    const onClose = (): void => void this.destroy();
    socket.on("data", onData).on("end", onEnd).on("error", onError).on("close", onClose);
    socket.pause();
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, callback: () => void): void {
    this.#writeAll([chunk], callback);
  }

  override _writev(chunks: readonly { readonly chunk: Uint8Array }[], callback: () => void): void {
    this.#writeAll(
      chunks.map(({ chunk }) => chunk),
      callback,
    );
  }

  /** A connection that closes before destroys this one, and ends the writes that wait. */
  #writeAll(pieces: readonly Uint8Array[], callback: () => void): void {
    const socket = this.#socket;
    writeInParts(socket, pieces, () => {
      if (socket.writableNeedDrain) socket.once("drain", callback);
      else callback();
    });
  }

  override _final(callback: () => void): void {
    this.#socket.end(() => callback());
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#socket.destroy();
    callback(error);
  }
}
