// Lets a streaming response write to a connection no faster than the client reads.

import type { Writable } from "node:stream";
import type { ByteSink } from "./api-response.ts";

export const createStreamSink = (writable: Writable): ByteSink => new StreamSink(writable);

class StreamSink implements ByteSink {
  readonly #writable: Writable;
  /** All writers wait for the same event: one listener is enough. */
  #drained: Promise<boolean> | undefined;

  constructor(writable: Writable) {
    this.#writable = writable;
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
    return new Promise((resolve) => {
      const settle = (): void => {
        writable.off("drain", settle).off("close", settle);
        this.#drained = undefined;
        resolve(isOpen(writable));
      };
      writable.on("drain", settle).on("close", settle);
    });
  }
}

const isOpen = (writable: Writable): boolean => !writable.destroyed && !writable.writableEnded && !writable.closed;
