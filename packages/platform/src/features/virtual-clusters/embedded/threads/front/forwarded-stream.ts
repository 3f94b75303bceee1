// A stream of a cluster thread, on its way to the client.

import { serviceUnavailableError } from "@postern/apimachinery/meta/api-error";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { type ByteSink, PeerFault } from "@postern/apiserver/transport/api-response";
import type { ThreadCalls, ThreadNotes } from "../messages/cluster-methods.ts";
import type { Link } from "../messages/link.ts";
import { encodeError } from "../messages/wire-errors.ts";

type Thread = Pick<Link<ThreadCalls, ThreadNotes>, "note">;

export class ForwardedStream {
  readonly #request: number;
  readonly #context: RequestContext;
  readonly #thread: Thread;
  readonly #onOver: () => void;
  readonly #over: Promise<void>;
  #chunks: Uint8Array[] = [];
  #settle: { resolve(): void; reject(error: Error): void } | undefined;
  #sink: ByteSink | undefined;
  #isPumping = false;
  #isOver = false;
  /** Set by the end of the stream, or of the thread: nothing more comes. */
  #ending: { readonly error: Error | undefined } | undefined;

  /** `onOver` is called once, also if the stream is never run. */
  constructor(request: number, context: RequestContext, thread: Thread, onOver: () => void) {
    this.#request = request;
    this.#context = context;
    this.#thread = thread;
    this.#onOver = onOver;
    this.#over = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    // Awaited in `run`.
    this.#over.catch(() => undefined);
  }

  async run(sink: ByteSink, signal: AbortSignal): Promise<void> {
    const halt = (): void => this.halt(signal.reason);
    signal.addEventListener("abort", halt, { once: true });
    if (signal.aborted) halt();
    else if (!this.#isOver) {
      this.#sink = sink;
      this.#thread.note("run", { request: this.#request });
      void this.#pump(sink);
    }
    try {
      await this.#over;
    } finally {
      signal.removeEventListener("abort", halt);
    }
  }

  add(bytes: Uint8Array): void {
    if (this.#isOver) return;
    this.#chunks.push(bytes);
    if (this.#sink !== undefined) void this.#pump(this.#sink);
  }

  end(error: Error | undefined): void {
    this.#ending ??= { error };
    // The parts that have come before are written first.
    if (!this.#isPumping && this.#chunks.length === 0) this.#finish(this.#ending.error);
  }

  threadEnded(): void {
    const isWatch = this.#context.info.verb === "watch";
    this.end(isWatch ? undefined : new PeerFault("the thread of the virtual cluster ended"));
  }

  /** Nothing more is needed. */
  halt(reason: unknown): void {
    this.#stop(reason, undefined);
  }

  async #pump(sink: ByteSink): Promise<void> {
    if (this.#isPumping) return;
    this.#isPumping = true;
    try {
      for (let chunk = this.#chunks.shift(); chunk !== undefined; chunk = this.#chunks.shift()) {
        // The thread asks for the rights inside, and the front for those that lead there.
        if (this.#isOver || this.#context.open?.isAllowed() === false) return this.halt(undefined);
        const written = sink.write(chunk);
        const isOpen = typeof written === "boolean" ? written : await written;
        if (!isOpen) return this.halt(new PeerFault("the client has gone"));
        this.#thread.note("taken", { request: this.#request, bytes: chunk.length });
      }
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(String(error));
      this.#stop(failure, failure);
    } finally {
      this.#isPumping = false;
    }
    if (this.#ending !== undefined) this.#finish(this.#ending.error);
  }

  #stop(reason: unknown, error: Error | undefined): void {
    if (this.#isOver) return;
    if (this.#ending === undefined) {
      const why = encodeError(reason ?? serviceUnavailableError("ended"));
      this.#thread.note("halt", { request: this.#request, reason: why });
    }
    this.#finish(error);
  }

  #finish(error: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#chunks = [];
    if (error === undefined) this.#settle?.resolve();
    else this.#settle?.reject(error);
    this.#onOver();
  }
}
