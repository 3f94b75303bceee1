// The connection of a client that a cluster thread has taken over, such as a WebSocket: the front passes its bytes on.

import { Duplex } from "node:stream";
import type { FrontCalls, FrontNotes } from "../messages/cluster-methods.ts";
import type { Link } from "../messages/link.ts";
import { copyOf, movedFrom } from "../messages/wire-bytes.ts";

export class RemoteSocket extends Duplex {
  readonly #request: number;
  readonly #front: Link<FrontCalls, FrontNotes>;
  #written: { readonly bytes: number; readonly done: () => void }[] = [];

  constructor(request: number, front: Link<FrontCalls, FrontNotes>) {
    super();
    this.#request = request;
    this.#front = front;
  }

  /** Takes bytes of the client. */
  received(bytes: Uint8Array): void {
    if (!this.destroyed) this.push(bytes);
  }

  /** The front has handed so many bytes to the operating system. */
  taken(): void {
    this.#written.shift()?.done();
  }

  clientClosed(): void {
    this.destroy();
  }

  /** ws asks a socket for these. */
  setTimeout(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  override _read(): void {}

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: () => void): void {
    this.#written.push({ bytes: chunk.length, done });
    const bytes = copyOf(chunk);
    this.#front.note("chunk", { request: this.#request, bytes }, movedFrom(bytes));
  }

  override _final(done: () => void): void {
    done();
    this.#front.note("chunk", { request: this.#request, bytes: new Uint8Array(0) });
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    for (const { done: written } of this.#written) written();
    this.#written = [];
    this.#front.note("closeSocket", { request: this.#request });
    done(error);
  }
}
