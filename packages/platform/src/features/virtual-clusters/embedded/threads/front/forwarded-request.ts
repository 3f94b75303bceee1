// One request that a cluster thread serves, as the front sees it: holds what the thread has taken for it, and gives all of it back when it is over.

import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import type { ThreadCalls, ThreadNotes } from "../messages/cluster-methods.ts";
import type { Link } from "../messages/link.ts";
import type { AuditCall } from "../messages/request-messages.ts";
import { type PackedRequest, type PackedResponse, unpackResponse } from "../messages/request-wire.ts";
import { encodeError } from "../messages/wire-errors.ts";
import { ForwardedSocket } from "./forwarded-socket.ts";
import { ForwardedStream } from "./forwarded-stream.ts";

export type Thread = Pick<Link<ThreadCalls, ThreadNotes>, "call" | "note">;

export class ForwardedRequest {
  readonly context: RequestContext;
  readonly #id: number;
  readonly #thread: Thread;
  readonly #onOver: (id: number) => void;
  #following: Disposable | undefined;
  #turns: Map<number, Disposable> | undefined;
  /** Ends of the times in which the request waits outside. */
  #returns: Map<number, () => void> | undefined;
  /** While the response is awaited. */
  #refuse: ((reason: unknown) => void) | undefined;
  #stream: ForwardedStream | undefined;
  #socket: ForwardedSocket | undefined;
  #aborted: { readonly reason: unknown } | undefined;
  #isOver = false;

  /** `onOver` is called once. */
  constructor(id: number, context: RequestContext, thread: Thread, onOver: (id: number) => void) {
    this.context = context;
    this.#id = id;
    this.#thread = thread;
    this.#onOver = onOver;
  }

  /** Resolves when the thread answers, also after an abort: by then it has said what it has done for the request. */
  send(message: PackedRequest): Promise<ApiResponse> {
    return new Promise((resolve, reject) => {
      this.#refuse = reject;
      this.#following = this.context.onAbort((reason) => this.#abort(reason));
      // Its client has gone already.
      if (this.#aborted !== undefined) return this.fail(this.#aborted.reason);
      this.#thread.call("request", message).then(
        (response) => this.#take(response, resolve),
        (error: unknown) => this.fail(error),
      );
    });
  }

  /** Before or instead of a response. */
  fail(error: unknown): void {
    const refuse = this.#refuse;
    this.#refuse = undefined;
    this.#socket?.destroy();
    this.#finish();
    refuse?.(error);
  }

  #take(message: PackedResponse, resolve: (response: ApiResponse) => void): void {
    this.#refuse = undefined;
    const { status, headers, bytes, isUpgraded, audit, warnings } = unpackResponse(message);
    this.note({ audit, warnings });
    if (bytes !== undefined) {
      this.#finish();
      resolve({ status, headers, body: { type: "bytes", bytes } });
    } else if (isUpgraded) {
      const done = this.#socket?.done ?? Promise.resolve();
      resolve({ status, headers, body: { type: "upgraded", done: done.finally(() => this.#finish()) } });
    } else {
      const stream = new ForwardedStream(this.#id, this.context, this.#thread, () => this.#finish());
      this.#stream = stream;
      if (this.#aborted !== undefined) stream.halt(this.#aborted.reason);
      resolve({ status, headers, body: { type: "stream", run: (sink, signal) => stream.run(sink, signal) } });
    }
  }

  /** The client went away, the deadline passed, or the credential was revoked. */
  #abort(reason: unknown): void {
    this.#aborted = { reason };
    this.#stream?.halt(reason);
    this.#socket?.destroy();
    if (this.#refuse !== undefined) this.#thread.note("halt", { request: this.#id, reason: encodeError(reason) });
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#following?.[Symbol.dispose]();
    for (const turn of this.#turns?.values() ?? []) turn[Symbol.dispose]();
    for (const goOn of this.#returns?.values() ?? []) goOn();
    this.#turns = undefined;
    this.#returns = undefined;
    this.#onOver(this.#id);
  }

  /** Part of a stream or of a connection. */
  chunk(bytes: Uint8Array): void {
    if (this.#socket === undefined) this.#stream?.add(bytes);
    else this.#socket.write(bytes);
  }

  end(error: Error | undefined): void {
    this.#stream?.end(error);
    this.#socket?.end(error);
  }

  accept(): void {
    const { upgrade } = this.context.request;
    if (upgrade === undefined) return;
    try {
      this.#socket = new ForwardedSocket(this.#id, this.context, upgrade.accept(), this.#thread);
    } catch {
      // Its client has gone.
      this.#thread.note("socketClosed", { request: this.#id });
    }
  }

  closeSocket(): void {
    this.#socket?.destroy();
  }

  /** The thread has ended: watches end as if their time was up, and other streams are cut. */
  threadEnded(): void {
    this.#stream?.threadEnded();
    this.#socket?.destroy();
  }

  note(noted: { readonly audit: readonly AuditCall[]; readonly warnings: readonly string[] }): void {
    const { audit, warnings } = this.context;
    // The thread has collected the calls of the same interface.
    for (const [method, ...args] of noted.audit)
      (audit[method] as ((...args: readonly unknown[]) => void) | undefined)?.apply(audit, args);
    for (const text of noted.warnings) warnings.add(text);
  }

  async takeTurn(id: number): Promise<number> {
    const turn = await this.context.takeTurn?.();
    if (turn === undefined) return id;
    if (this.#isOver) turn[Symbol.dispose]();
    else {
      this.#turns ??= new Map();
      this.#turns.set(id, turn);
    }
    return id;
  }

  endTurn(id: number): void {
    this.#turns?.get(id)?.[Symbol.dispose]();
    this.#turns?.delete(id);
  }

  /** Resolves when the request has its place again, after `inside`. */
  async outside(id: number): Promise<undefined> {
    await this.context.outside?.(() => this.#away(id));
    return undefined;
  }

  #away(id: number): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    return new Promise((resolve) => {
      this.#returns ??= new Map();
      this.#returns.set(id, resolve);
    });
  }

  inside(id: number): void {
    this.#returns?.get(id)?.();
    this.#returns?.delete(id);
  }
}
