// One request to a target: timeouts, cancellation, and errors.

import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import type { Duplex, Readable } from "node:stream";
import { timeoutError } from "@postern/apimachinery/meta/api-error";
import { asError } from "@postern/apimachinery/steps/caught";
import { trimTrailing } from "@postern/apimachinery/text/trim-trailing";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import { type Cancellable, whenAborted } from "@postern/apiserver/transport/cancellation";
import type { Dispatcher } from "undici";
import type { HeaderList } from "./header-list.ts";
import { codeOf, InvalidResponseError, unaskedUpgradeError } from "./upstream-failure.ts";
import { LostConnectionError, type PooledConnection } from "./upstream-pool.ts";
import { type ResponseFlow, UpstreamResponse } from "./upstream-response.ts";

export type ExchangeLimits = {
  /** From the request to the end of the response, for requests that do not last; for upgrades and watches, to its head. */
  readonly responseTimeoutMs: number;
};

export type UpstreamRequest = {
  readonly method: string;
  /** Below the base URL of the target, encoded, with the query. */
  readonly path: string;
  /** Complete, but for Host and what frames the body. A length is that of a stream. */
  readonly headers: OutgoingHttpHeaders | HeaderList;
  /** The Audit-Id among the headers. API servers of Kubernetes answer with the one that they were asked with. */
  readonly auditId?: string;
  /** The protocol for which the request asks to leave HTTP. */
  readonly upgrade?: string;
  /** Whether it may take as long as it likes. */
  readonly lasts?: boolean;
  /** For a lasting exchange: whether at least the head of the response is due as soon as any other. */
  readonly answersAtOnce?: boolean;
  readonly signal: AbortSignal | Cancellable;
  /** A stream is read no faster than the target takes it, and is left as it is where the target takes no more. Absent: there is none. */
  readonly body?: string | Readable;
  /**
   * Whether the request may be sent again if the server closes a kept connection instead of answering. Default: for GET and HEAD
   * without a body.
   */
  readonly mayRepeat?: boolean;
};

export type UpstreamAnswer =
  | { readonly type: "response"; readonly response: UpstreamResponse }
  | { readonly type: "upgraded"; readonly headers: IncomingHttpHeaders; readonly socket: Duplex };

export type ExchangeDeps = {
  readonly scheduler: Scheduler;
  readonly limits: ExchangeLimits;
  /** Receives an upgraded connection, which outlives its request. */
  readonly onUpgraded: (socket: Duplex) => void;
  /** Request and response are over, and the connection is not upgraded. */
  readonly onClosed: () => void;
  /** Receives the head of the response. */
  readonly onAnswer: (answer: UpstreamAnswer) => void;
  /** Whether the target has answered with the Audit-Id of a request before: shared by its exchanges. */
  readonly echo: { isKnown: boolean };
  /** Receives, in its place, a FailedRequestError, or the reason of the signal, which goes on to cut the response or the upgraded connection after that. */
  readonly onFailure: (error: unknown) => void;
};

/** `take` is not called where the request is aborted already, which throws the reason. */
export const exchange = (
  take: () => PooledConnection,
  path: string,
  asked: UpstreamRequest,
  deps: ExchangeDeps,
): void => new Exchange(asked, deps).send(take, path);

/** Go's client had five as its limit. A server could send them for as long as nothing else limits the request. */
const MAX_INTERIM = 20;

class Exchange implements Dispatcher.DispatchHandler, ResponseFlow {
  readonly #asked: UpstreamRequest;
  readonly #deps: ExchangeDeps;
  #connection: PooledConnection | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #following: Disposable | undefined;
  #deadline: Disposable | undefined;
  /** Its reason may be undefined. */
  #isAborted = false;
  #abortReason: unknown;
  #isSent = false;
  #isOver = false;
  #interim = 0;
  #isLast = false;
  #response: UpstreamResponse | undefined;
  /** For which we ended it. */
  #reason: Error | undefined;

  constructor(asked: UpstreamRequest, deps: ExchangeDeps) {
    this.#asked = asked;
    this.#deps = deps;
  }

  send(take: () => PooledConnection, path: string): void {
    const {
      method,
      headers,
      upgrade,
      lasts = false,
      answersAtOnce = upgrade !== undefined,
      body,
      signal,
    } = this.#asked;
    const { scheduler, limits } = this.#deps;
    this.#following = whenAborted(signal, (reason) => this.#abort(reason));
    if (this.#isAborted) throw this.#abortReason;
    if (!lasts || answersAtOnce) {
      this.#deadline = scheduler.schedule(limits.responseTimeoutMs, () => this.cut(noResponse()));
    }
    const sent = {
      method: method as Dispatcher.HttpMethod,
      path,
      // Undici reads a list, and does not change it.
      headers: headers as OutgoingHttpHeaders | string[],
      body: typeof body === "object" ? chunksOf(body) : body,
      // Otherwise undici closes the connection behind HEAD, and behind a DELETE with a body.
      ...(upgrade === undefined ? { reset: false } : { upgrade }),
    };
    // Undici takes any iterable; its types name streams alone.
    this.#connection = take();
    this.#connection.client.dispatch(sent as Dispatcher.DispatchOptions, this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#reason !== undefined) controller.abort(this.#reason);
    else this.#isSent = true;
  }

  onResponseStart(controller: Dispatcher.DispatchController, statusCode: number, headers: IncomingHttpHeaders): void {
    if (statusCode < 200) {
      this.#onInterim(statusCode);
      return;
    }
    if (this.#asked.lasts === true) this.#endDeadline();
    this.#controller = controller;
    this.#response = new UpstreamResponse(statusCode, withFirstValues(headers), this);
    this.#isLast = !this.#isEchoed(headers["audit-id"]);
    this.#deps.onAnswer({ type: "response", response: this.#response });
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#response?.push(chunk);
  }

  onResponseEnd(): void {
    this.#finish();
    if (this.#isLast) this.#connection?.destroy(new Error("the answer was not to this request"));
    else this.#connection?.release();
    this.#deps.onClosed();
    this.#response?.end();
  }

  /**
   * False for an answer that came unasked, just when this request went out. The answer to this request would be that to the next one on the connection, which
   * may be another user's. The value of a pod behind the proxy of an API server stands beside that of the API server.
   */
  #isEchoed(answered: string | readonly string[] | undefined): boolean {
    const { auditId } = this.#asked;
    if (auditId === undefined) return true;
    const { echo } = this.#deps;
    if (answered?.includes(auditId) !== true) return !echo.isKnown;
    echo.isKnown = true;
    return true;
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    // Undici gives an error of `onResponseEnd` to this function.
    if (this.#isOver) return void this.#response?.end(error);
    const cause = this.#reason ?? (error instanceof LostConnectionError ? error.cause : error);
    const isStale =
      this.#connection?.isReused === true && STALE.includes(codeOf(cause)) && this.#response === undefined;
    this.#finish();
    this.#connection?.destroy(cause);
    this.#deps.onClosed();
    this.#deps.onFailure(this.#isAborted ? this.#abortReason : new FailedRequestError(cause, this.#isSent, isStale));
    this.#response?.end(cause);
  }

  onRequestUpgrade(
    _controller: Dispatcher.DispatchController,
    _statusCode: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void {
    this.#finish();
    const following = whenAborted(this.#asked.signal, () => socket.destroy());
    socket.once("close", () => following[Symbol.dispose]());
    this.#connection?.release();
    this.#deps.onUpgraded(socket);
    this.#deps.onAnswer({ type: "upgraded", headers: withFirstValues(headers), socket });
  }

  #onInterim(statusCode: number): void {
    if (statusCode === 101) this.cut(unaskedUpgradeError());
    else if (statusCode < 100) this.cut(new InvalidResponseError(`${statusCode} is no status of HTTP`));
    else if (++this.#interim > MAX_INTERIM) {
      this.cut(new InvalidResponseError("it sent too many interim responses"));
    }
  }

  pause(): void {
    this.#controller?.pause();
  }

  resume(): void {
    this.#controller?.resume();
  }

  /** `onResponseError` hears of it. */
  cut(reason: Error): void {
    if (this.#isOver || this.#reason !== undefined) return;
    this.#reason = reason;
    this.#connection?.destroy(reason);
  }

  #abort(reason: unknown): void {
    this.#isAborted = true;
    this.#abortReason = reason;
    this.cut(asError(reason));
  }

  #finish(): void {
    this.#isOver = true;
    this.#endDeadline();
    this.#following?.[Symbol.dispose]();
  }

  #endDeadline(): void {
    this.#deadline?.[Symbol.dispose]();
    this.#deadline = undefined;
  }
}

/** By the iterator, since undici would destroy a stream that it has for a body: with a request over HTTP/2, its response, too. */
const chunksOf = (body: Readable): AsyncIterable<Buffer> => body.iterator({ destroyOnReturn: false });

/** The server closed a kept connection just when we took it. */
const STALE: readonly string[] = ["ECONNRESET", "EPIPE", "UND_ERR_SOCKET", "UND_ERR_INFO"];

/** Headers of which Node takes the first value; others are joined, as Node joins them. */
const SINGLE: ReadonlySet<string> = new Set([
  ...["age", "content-length", "content-type", "etag", "expires", "last-modified", "location", "retry-after", "server"],
]);

/** Undici gives repeated headers as lists, and spaces behind a value as a part of it. */
function withFirstValues(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  for (const name in headers) {
    const value = headers[name];
    if (Array.isArray(value)) headers[name] = SINGLE.has(name) ? value[0] : value.join(", ");
    else if (value !== undefined) headers[name] = trimTrailing(value, " \t");
  }
  return headers;
}

/** The request broke off, or there was no answer in time; `cause` is what undici or Node says. */
export class FailedRequestError extends Error {
  override readonly name = "FailedRequestError";
  /** Whether the target may have got to see the request. */
  readonly sent: boolean;
  /** Whether another connection may do better. */
  readonly stale: boolean;

  constructor(cause: Error, sent: boolean, stale: boolean) {
    super(cause.message, { cause });
    this.sent = sent;
    this.stale = stale;
  }
}

const noResponse = () => timeoutError("the cluster did not answer within the allotted time");
