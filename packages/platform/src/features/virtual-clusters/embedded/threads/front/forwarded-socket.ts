// A connection that a cluster thread has taken over: its bytes go to the thread, and those of the thread to the client.

import type { Duplex } from "node:stream";
import { caught } from "@postern/apimachinery/steps/caught";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ThreadCalls, ThreadNotes } from "../messages/cluster-methods.ts";
import type { Link } from "../messages/link.ts";
import { copyOf } from "../messages/wire-bytes.ts";

type Thread = Pick<Link<ThreadCalls, ThreadNotes>, "note">;

export class ForwardedSocket {
  readonly done: Promise<void>;
  readonly #request: number;
  readonly #context: RequestContext;
  readonly #socket: Duplex;
  readonly #thread: Thread;
  #settle: { resolve(): void; reject(error: Error): void } | undefined;

  constructor(
    request: number,
    context: RequestContext,
    { socket, head }: { readonly socket: Duplex; readonly head: Uint8Array },
    thread: Thread,
  ) {
    this.#request = request;
    this.#context = context;
    this.#socket = socket;
    this.#thread = thread;
    this.done = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.done.catch(() => undefined);
    const fail = (error: unknown): void => {
      socket.destroy();
      this.#settle?.reject(error instanceof Error ? error : new Error(String(error)));
    };
    const read = (bytes: Uint8Array): void => thread.note("socketData", { request, bytes: copyOf(bytes) });
    const closed = (): void => thread.note("socketClosed", { request });
    socket.on("data", caught(fail, read));
    socket.on("close", caught(fail, closed));
    socket.on("error", () => socket.destroy());
    if (head.length > 0) read(head);
  }

  /** Takes bytes of the thread; no bytes are the end. */
  write(bytes: Uint8Array): void {
    if (this.#context.open?.isAllowed() === false) this.destroy();
    else if (bytes.length === 0) this.#socket.end();
    else this.#socket.write(bytes, () => this.#thread.note("taken", { request: this.#request, bytes: bytes.length }));
  }

  end(error: Error | undefined): void {
    if (error === undefined) this.#settle?.resolve();
    else this.#settle?.reject(error);
  }

  destroy(): void {
    this.#socket.destroy();
    this.#settle?.resolve();
  }
}
