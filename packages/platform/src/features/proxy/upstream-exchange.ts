// One request to a target: timeouts, cancellation, and errors.

import type { EventEmitter } from "node:events";
import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import { timeoutError } from "@postern/apimachinery/meta/api-error";
import { asError, caught } from "@postern/apimachinery/steps/caught";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import { ConnectTimeoutError, codeOf, InvalidResponseError } from "./upstream-failure.ts";

export type ExchangeLimits = {
  /** Name resolution, TCP and TLS together. */
  readonly connectTimeoutMs: number;
  /** From the request to the end of the response, for requests that do not last; for upgrades and watches, to its head. */
  readonly responseTimeoutMs: number;
};

export type UpstreamRequest = {
  readonly method: string;
  /** Below the base URL of the target, encoded, with the query. */
  readonly path: string;
  /** Complete, but for Host. */
  readonly headers: OutgoingHttpHeaders;
  /** Whether the request asks to leave HTTP. */
  readonly upgrade?: boolean;
  /** Whether it may take as long as it likes. */
  readonly lasts?: boolean;
  /** Of what lasts: whether at least the head of the response is due as soon as any other. */
  readonly answersAtOnce?: boolean;
  readonly signal: AbortSignal;
  /** Writes the body and ends the request. Absent: there is none. */
  readonly writeBody?: (request: ClientRequest) => void;
  /**
   * Whether the request may be sent again if the server closes a kept connection instead of answering; `writeBody` is called again then. Default: for GET and HEAD
   * without a body.
   */
  readonly mayRepeat?: boolean;
};

export type UpstreamAnswer =
  | { readonly type: "response"; readonly response: IncomingMessage }
  | { readonly type: "upgraded"; readonly response: IncomingMessage; readonly socket: Socket; readonly head: Buffer };

export type ExchangeDeps = {
  readonly scheduler: Scheduler;
  readonly limits: ExchangeLimits;
  /** Receives an upgraded connection, which outlives its request. */
  readonly onUpgraded: (socket: Socket) => void;
  /** Request and response are over, and the connection is not upgraded. */
  readonly onClosed: () => void;
};

const TCP_KEEP_ALIVE_MS = 30_000;

/**
 * Resolves with the head of the response. Rejects with FailedRequestError, or with the reason of the signal, which goes on to cut the
 * response or the upgraded connection after that.
 */
export function exchange(
  request: ClientRequest,
  asked: UpstreamRequest,
  { scheduler, limits, onUpgraded, onClosed }: ExchangeDeps,
): Promise<UpstreamAnswer> {
  const { signal, upgrade = false, lasts = false, answersAtOnce = upgrade, writeBody } = asked;
  return new Promise<UpstreamAnswer>((resolve, reject) => {
    /** An error of ours is not one of the target. */
    const fail = (error: unknown): void => {
      reject(error);
      request.destroy(asError(error));
    };
    onAbortWhileOpen(request, signal, fail, () => request.destroy(asError(signal.reason)));
    let begun: IncomingMessage | undefined;
    const expire = (): void => {
      const late = noResponse();
      // Its reader would hear only that the connection broke.
      begun?.destroy(late);
      request.destroy(late);
    };
    const deadline = lasts && !answersAtOnce ? undefined : scheduler.schedule(limits.responseTimeoutMs, expire);
    const endDeadline = (): void => deadline?.[Symbol.dispose]();
    refuseManyInterim(request, fail);
    const connected = watchConnect(request, scheduler, limits.connectTimeoutMs, fail);
    let isUpgraded = false;

    const onError = (error: Error): void => {
      endDeadline();
      reject(signal.aborted ? signal.reason : new FailedRequestError(error, connected(), isStale(request, error)));
    };
    const onResponse = (response: IncomingMessage): void => {
      if (lasts) endDeadline();
      begun = response;
      const onEnd = (): void => leaveInTime(request, scheduler, limits.connectTimeoutMs);
      response.once("end", caught(fail, onEnd));
      resolve({ type: "response", response });
    };
    const onUpgrade = (response: IncomingMessage, socket: Socket, head: Buffer): void => {
      const failUpgraded = (error: unknown): void => {
        reject(error);
        socket.destroy(asError(error));
      };
      const upgraded = (): void => {
        endDeadline();
        isUpgraded = true;
        onAbortWhileOpen(socket, signal, failUpgraded, () => socket.destroy());
        onUpgraded(socket);
        resolve({ type: "upgraded", response, socket, head });
      };
      caught(failUpgraded, upgraded)();
    };
    const onClose = (): void => {
      endDeadline();
      if (!isUpgraded) onClosed();
    };
    request.on("error", caught(fail, onError));
    request.once("response", caught(fail, onResponse));
    request.once("upgrade", caught(fail, onUpgrade));
    request.once("close", caught(fail, onClose));
    if (writeBody === undefined) request.end();
    else writeBody(request);
  });
}

/** Go's client had five as its limit. A server could send them for as long as nothing else limits the request. */
const MAX_INTERIM = 20;

function refuseManyInterim(request: ClientRequest, fail: (error: unknown) => void): void {
  let interim = 0;
  const count = (): void => {
    if (++interim > MAX_INTERIM) request.destroy(new InvalidResponseError("it sent too many interim responses"));
  };
  request.on("information", caught(fail, count));
}

/**
 * A server that answers without reading the body to its end would keep the connection for ever. The last bytes of a request that was written may
 * still be on their way, since Node hears that they have left after it reads an answer: these get as long as a new connection, and the connection is kept.
 */
function leaveInTime(request: ClientRequest, scheduler: Scheduler, timeoutMs: number): void {
  if (request.writableFinished) return;
  if (!request.writableEnded) return void request.destroy();
  const timer = scheduler.schedule(timeoutMs, () => request.destroy());
  request.once("close", () => timer[Symbol.dispose]());
}

function onAbortWhileOpen(
  stream: EventEmitter,
  signal: AbortSignal,
  fail: (error: unknown) => void,
  act: () => void,
): void {
  const onAbort = caught(fail, act);
  signal.addEventListener("abort", onAbort);
  stream.once(
    "close",
    caught(fail, () => signal.removeEventListener("abort", onAbort)),
  );
}

/** Destroys a request that gets no connection in time. The result is whether it has one. */
function watchConnect(
  request: ClientRequest,
  scheduler: Scheduler,
  timeoutMs: number,
  fail: (error: unknown) => void,
): () => boolean {
  let connected = false;
  const timer = scheduler.schedule(timeoutMs, () => request.destroy(new ConnectTimeoutError()));
  const done = (): void => timer[Symbol.dispose]();
  const onConnected = caught(fail, () => {
    connected = true;
    done();
  });
  const onSocket = (socket: Socket): void => {
    if (request.reusedSocket) {
      onConnected();
      return;
    }
    socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS);
    socket.once(request.protocol === "https:" ? "secureConnect" : "connect", onConnected);
  };
  request.once("socket", caught(fail, onSocket));
  request.once("close", caught(fail, done));
  return () => connected;
}

/** The server closed a kept connection just when we took it. */
const isStale = (request: ClientRequest, error: Error): boolean =>
  request.reusedSocket && ["ECONNRESET", "EPIPE"].includes(codeOf(error));

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
