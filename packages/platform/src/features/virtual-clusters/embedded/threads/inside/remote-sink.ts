// The front as a cluster thread writes a stream to it. Writers wait while too much is on its way.

import type { ByteSink } from "@postern/apiserver/transport/api-response";
import type { FrontCalls, FrontNotes } from "../messages/cluster-methods.ts";
import type { Link } from "../messages/link.ts";
import { copyOf, movedFrom } from "../messages/wire-bytes.ts";

/** Bytes of one stream that are on their way. */
export const WINDOW = 64 * 1024;
/** Above this sum, each stream has one part on its way. */
const ALL_WINDOWS = 8 << 20;

export class RemoteSink implements ByteSink {
  readonly #request: number;
  readonly #front: Link<FrontCalls, FrontNotes>;
  readonly #all: { bytes: number };
  #sent = 0;
  #isOver = false;
  #waiting: ((isOpen: boolean) => void)[] = [];

  /** `all` counts the bytes of all streams of the thread. */
  constructor(request: number, front: Link<FrontCalls, FrontNotes>, all: { bytes: number }) {
    this.#request = request;
    this.#front = front;
    this.#all = all;
  }

  get bufferedBytes(): number {
    return this.#sent;
  }

  write(chunk: Uint8Array | string): boolean | Promise<boolean> {
    const bytes = typeof chunk === "string" ? Buffer.from(chunk) : chunk;
    return bytes.length > WINDOW ? this.#sendInParts(bytes) : this.#send(bytes);
  }

  /** Its writer waits until all of it is on its way. A large object is copied for each of its readers only in parts. */
  async #sendInParts(bytes: Uint8Array): Promise<boolean> {
    for (let at = 0; at < bytes.length; at += WINDOW) {
      if (!(await this.#send(bytes.subarray(at, at + WINDOW)))) return false;
    }
    return true;
  }

  #send(chunk: Uint8Array): boolean | Promise<boolean> {
    if (this.#isOver) return false;
    const bytes = copyOf(chunk);
    if (bytes.length === 0) return true;
    this.#sent += bytes.length;
    this.#all.bytes += bytes.length;
    this.#front.note("chunk", { request: this.#request, bytes }, movedFrom(bytes));
    if (this.#hasRoom()) return true;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  taken(bytes: number): void {
    if (this.#isOver) return;
    this.#sent -= bytes;
    this.#all.bytes -= bytes;
    if (!this.#hasRoom()) return;
    this.#release(true);
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#all.bytes -= this.#sent;
    this.#sent = 0;
    this.#release(false);
  }

  #hasRoom(): boolean {
    return this.#sent === 0 || (this.#sent < WINDOW && this.#all.bytes < ALL_WINDOWS);
  }

  #release(isOpen: boolean): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve(isOpen);
  }
}
