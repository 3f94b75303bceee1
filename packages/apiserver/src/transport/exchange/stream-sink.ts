// Lets a streaming response write to a connection no faster than the client reads.

import type { Writable } from "node:stream";
import type { ByteSink } from "../api-response.ts";
import { PART_BYTES } from "../backpressure/write-in-parts.ts";

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
    if (chunk.length > PART_BYTES) return this.#writeInParts(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
    if (this.#writable.write(chunk)) return true;
    this.#drained ??= this.#untilDrained();
    return this.#drained;
  }

  /** The writer waits, and keeps all of it meanwhile. */
  async #writeInParts(chunk: Uint8Array): Promise<boolean> {
    using _held = this.#hold(chunk.length);
    for (let at = 0; at < chunk.length && isOpen(this.#writable); at += PART_BYTES) {
      if (!this.#writable.write(chunk.subarray(at, at + PART_BYTES))) await untilDrained(this.#writable);
    }
    return isOpen(this.#writable);
  }

  async #untilDrained(): Promise<boolean> {
    using _held = this.#hold(this.#writable.writableLength);
    await untilDrained(this.#writable);
    this.#drained = undefined;
    return isOpen(this.#writable);
  }
}

/** Resolves when more can be written, or never again. */
const untilDrained = (writable: Writable): Promise<void> =>
  new Promise((resolve) => {
    const settle = (): void => {
      writable.off("drain", settle).off("close", settle);
      resolve();
    };
    writable.on("drain", settle).on("close", settle);
    // It may have been too much.
    if (!isOpen(writable)) settle();
  });

const isOpen = (writable: Writable): boolean => !writable.destroyed && !writable.writableEnded && !writable.closed;
