// One request to a target: timeouts, cancellation, and errors.

import type { IncomingHttpHeaders } from "node:http";
import type { Duplex } from "node:stream";
import { timeoutError } from "@postern/apimachinery/meta/api-error";
import { asError } from "@postern/apimachinery/steps/caught";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import { whenAborted } from "@postern/apiserver/transport/cancellation";
import type { RequestListener, UpstreamConnection } from "./upstream-connection.ts";
import { codeOf, InvalidResponseError, unaskedUpgradeError } from "./upstream-failure.ts";
import type { UpstreamRequest } from "./upstream-request.ts";
import { type ResponseFlow, UpstreamResponse } from "./upstream-response.ts";

export type ExchangeLimits = {
  /** From the request to the end of the response, for requests that do not last; for upgrades and watches, to its head. */
  readonly responseTimeoutMs: number;
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
  /** Receives, in its place, a FailedRequestError, or the reason of the signal, which goes on to cut the response or the upgraded connection after that. */
  readonly onFailure: (error: unknown) => void;
};

/** `take` is not called where the request is aborted already, which throws the reason. */
export const exchange = (
  take: () => UpstreamConnection,
  path: string,
  asked: UpstreamRequest,
  deps: ExchangeDeps,
): void => new Exchange(asked, deps).send(take, path);

/** Go's client had five as its limit. A server could send them for as long as nothing else limits the request. */
const MAX_INTERIM = 20;

class Exchange implements RequestListener, ResponseFlow {
  readonly #asked: UpstreamRequest;
  readonly #deps: ExchangeDeps;
  #connection: UpstreamConnection | undefined;
  #following: Disposable | undefined;
  #deadline: Disposable | undefined;
  /** Its reason may be undefined. */
  #isAborted = false;
  #abortReason: unknown;
  #isSent = false;
  #isOver = false;
  #interim = 0;
  #response: UpstreamResponse | undefined;
  /** For which we ended it. */
  #reason: Error | undefined;

  constructor(asked: UpstreamRequest, deps: ExchangeDeps) {
    this.#asked = asked;
    this.#deps = deps;
  }

  send(take: () => UpstreamConnection, path: string): void {
    const { upgrade, lasts = false, answersAtOnce = upgrade !== undefined, signal } = this.#asked;
    const { scheduler, limits } = this.#deps;
    this.#following = whenAborted(signal, (reason) => this.#abort(reason));
    if (this.#isAborted) throw this.#abortReason;
    if (!lasts || answersAtOnce) {
      this.#deadline = scheduler.schedule(limits.responseTimeoutMs, () => this.cut(noResponse()));
    }
    this.#connection = take();
    this.#connection.send(this.#asked, path, this);
  }

  onSent(): void {
    this.#isSent = true;
  }

  onHead(statusCode: number, headers: IncomingHttpHeaders): void {
    if (statusCode < 200) {
      this.#onInterim(statusCode);
      return;
    }
    if (this.#asked.lasts === true) this.#endDeadline();
    this.#response = new UpstreamResponse(statusCode, headers, this);
    this.#deps.onAnswer({ type: "response", response: this.#response });
  }

  onData(chunk: Buffer): void {
    this.#response?.push(chunk);
  }

  onEnd(): void {
    this.#finish();
    this.#deps.onClosed();
    this.#response?.end();
  }

  onFailure(error: Error): void {
    const cause = this.#reason ?? error;
    const isStale =
      this.#connection?.isReused === true && STALE.includes(codeOf(cause)) && this.#response === undefined;
    this.#finish();
    this.#deps.onClosed();
    this.#deps.onFailure(this.#isAborted ? this.#abortReason : new FailedRequestError(cause, this.#isSent, isStale));
    this.#response?.end(cause);
  }

  onUpgraded(headers: IncomingHttpHeaders, socket: Duplex): void {
    this.#finish();
    const following = whenAborted(this.#asked.signal, () => socket.destroy());
    socket.once("close", () => following[Symbol.dispose]());
    this.#deps.onUpgraded(socket);
    this.#deps.onAnswer({ type: "upgraded", headers, socket });
  }

  #onInterim(statusCode: number): void {
    if (statusCode === 101) this.cut(unaskedUpgradeError());
    else if (statusCode < 100) this.cut(new InvalidResponseError(`${statusCode} is no status of HTTP`));
    else if (++this.#interim > MAX_INTERIM) {
      this.cut(new InvalidResponseError("it sent too many interim responses"));
    }
  }

  pause(): void {
    this.#connection?.pause();
  }

  resume(): void {
    this.#connection?.resume();
  }

  /** `onFailure` hears of it. */
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

/** The server closed a kept connection just when we took it. */
const STALE: readonly string[] = ["ECONNRESET", "EPIPE"];

/** The request broke off, or there was no answer in time; `cause` is what Node says. */
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
