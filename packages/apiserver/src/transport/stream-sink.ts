// Lets a streaming response write to a connection no faster than the client reads.

import type { Writable } from "node:stream";
import type { ByteSink } from "./api-response.ts";

/** `hold` counts bytes that wait for the client, until what it returns is disposed. */
export const createStreamSink = (writable: Writable, hold: (bytes: number) => Disposable): ByteSink =>
  new StreamSink(writable, hold);

class StreamSink implements ByteSink {
  readonly #writable: Writable;
  readonly #hold: (bytes: number) => Disposable;
  /** All writers wait for the same event: one listener is enough. */
  #drained: Promise<boolean> | undefined;

  constructor(writable: Writable, hold: (bytes: number) => Disposable) {
    this.#writable = writable;
    this.#hold = hold;
  }

  get bufferedBytes(): number {
    return this.#writable.writableLength;
  }

  write(chunk: Uint8Array | string): boolean | Promise<boolean> {
    if (!isOpen(this.#writable)) return false;
    if (this.#writable.write(chunk)) return true;
    this.#drained ??= this.#untilDrained();
    return this.#drained;
  }

  #untilDrained(): Promise<boolean> {
    const writable = this.#writable;
    const held = this.#hold(writable.writableLength);
    return new Promise((resolve) => {
      const settle = (): void => {
        held[Symbol.dispose]();
        writable.off("drain", settle).off("close", settle);
        this.#drained = undefined;
        resolve(isOpen(writable));
      };
      writable.on("drain", settle).on("close", settle);
      // It may have been too much.
      if (!isOpen(writable)) settle();
    });
  }
}

const isOpen = (writable: Writable): boolean => !writable.destroyed && !writable.writableEnded && !writable.closed;
