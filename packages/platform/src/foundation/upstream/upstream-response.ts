// The response of a target: its head, and its body as it arrives, no faster than it is read.

import type { IncomingHttpHeaders } from "node:http";

/** How a response sets the pace of its connection. */
export type ResponseFlow = {
  pause(): void;
  resume(): void;
  /** Closes the connection in the middle of the response. */
  cut(reason: Error): void;
};

/** This much waits for a reader before the connection is read no further. */
const MAX_WAITING = 64 << 10;
/** A piece is an object, and a target may send pieces of a byte each. */
const PIECE_BYTES = 256;

/** To be iterated over once. Leaving the iteration before the end closes the connection. */
export class UpstreamResponse implements AsyncIterable<Buffer> {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  readonly #flow: ResponseFlow;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #isPaused = false;
  #hasEnded = false;
  #error: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(statusCode: number, headers: IncomingHttpHeaders, flow: ResponseFlow) {
    this.statusCode = statusCode;
    this.headers = headers;
    this.#flow = flow;
  }

  /** The body, where all of it has come and none has been read; otherwise undefined. */
  whole(): Buffer | undefined {
    if (!this.#hasEnded || this.#error !== undefined) return undefined;
    const parts = this.#takeWaiting();
    return parts.length === 1 ? parts[0] : Buffer.concat(parts);
  }

  /** Whether the target broke it off. */
  get errored(): Error | undefined {
    return this.#error;
  }

  /** Lets the rest go: a connection on which nothing is left to read may be used again. */
  destroy(reason: Error = new Error("the response is not wanted")): void {
    this.#waiting = [];
    if (!this.#hasEnded) this.#flow.cut(reason);
  }

  /** For the exchange: a part of the body has come. */
  push(chunk: Buffer): void {
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.length + PIECE_BYTES;
    if (this.#waitingBytes >= MAX_WAITING) {
      this.#isPaused = true;
      this.#flow.pause();
    }
    this.#wake?.();
  }

  /** For the exchange: the body has come to its end, or breaks off with an error. */
  end(error?: Error): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#error = error;
    this.#wake?.();
  }

  /** All that has come since the last look, in one piece: its reader takes a turn for each, and TLS gives 16 KiB at most. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void> {
    try {
      for (;;) {
        const parts = this.#takeWaiting();
        const [first] = parts;
        if (first !== undefined) {
          yield parts.length === 1 ? first : Buffer.concat(parts);
          continue;
        }
        if (this.#error !== undefined) throw this.#error;
        if (this.#hasEnded) return;
        await this.#untilMore();
      }
    } finally {
      this.destroy();
    }
  }

  /** The connection is read on while the reader has these. */
  #takeWaiting(): readonly Buffer[] {
    const parts = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    // Behind its end, the connection is another response's.
    if (this.#isPaused && !this.#hasEnded) {
      this.#isPaused = false;
      this.#flow.resume();
    }
    return parts;
  }

  #untilMore(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }
}
