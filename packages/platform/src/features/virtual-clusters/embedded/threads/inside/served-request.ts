// One request as its cluster thread serves it: what it holds there is given back once, when the response has ended or its reader has gone.

import type { ResponseBody } from "@postern/apiserver/transport/api-response";
import { Cancellation } from "@postern/apiserver/transport/cancellation";
import type { RemoteSink } from "./remote-sink.ts";
import type { RemoteSocket } from "./remote-socket.ts";

export class ServedRequest {
  readonly cancellation = new Cancellation();
  socket: RemoteSocket | undefined;
  readonly #onOver: () => void;
  #stream: { readonly sink: RemoteSink; readonly body: Extract<ResponseBody, { type: "stream" }> } | undefined;
  #sink: RemoteSink | undefined;
  #onEnd: ((error: unknown) => void) | undefined;
  #isOver = false;

  /** `onOver` is called once. */
  constructor(onOver: () => void) {
    this.#onOver = onOver;
  }

  over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onOver();
  }

  /** The stream waits for `run`; `onEnd` is called once, with its error. */
  hold(body: Extract<ResponseBody, { type: "stream" }>, sink: RemoteSink, onEnd: (error: unknown) => void): void {
    this.#stream = { body, sink };
    this.#onEnd = onEnd;
    // The front asks for nothing any more.
    if (this.cancellation.isAborted) this.halt(undefined);
  }

  /** The front takes the parts of the stream from now on. */
  run(): void {
    const stream = this.#stream;
    if (stream === undefined) return;
    this.#stream = undefined;
    this.#sink = stream.sink;
    const ended = (error: unknown): void => {
      stream.sink.end();
      this.over();
      this.#onEnd?.(error);
    };
    stream.body.run(stream.sink, this.cancellation.signal).then(() => ended(undefined), ended);
  }

  taken(bytes: number): void {
    if (this.#sink === undefined) this.socket?.taken();
    else this.#sink.taken(bytes);
  }

  /** The client went away, or may not see more. */
  halt(reason: unknown): void {
    this.cancellation.abort(reason);
    this.#sink?.end();
    // A stream without a reader learns of it when it begins.
    this.#stream?.sink.end();
    this.run();
  }
}
