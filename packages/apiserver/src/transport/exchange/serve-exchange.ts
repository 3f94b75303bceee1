// Serves one exchange, from the request to the end of its response. All errors are handled here.

import { safeRequestUri } from "@postern/apimachinery/text/safe-request-uri";
import { createFaults, type Faults, isDefect } from "../../logging/faults.ts";
import type { Logger } from "../../logging/logger.ts";
import type { Awaitable } from "../../runtime/awaitable.ts";
import type { Scheduler } from "../../runtime/clock.ts";
import type { ApiRequest } from "../api-request.ts";
import {
  type ApiResponse,
  PeerFault,
  type ResponseBody,
  type ResponseHeaders,
  type SentBytes,
  StreamFault,
  sentBytesOf,
  textResponse,
} from "../api-response.ts";
import { LONG_ANSWER_BYTES, type UnreadAnswers } from "../backpressure/unread-answers.ts";
import { clientGoneError } from "../client-gone-error.ts";
import { discardResponse } from "../discard-response.ts";
import type { Exchange } from "./exchange.ts";
import { type ApiRequestOptions, createApiRequest } from "./exchange-request.ts";
import { refusalOfLength } from "./refuse-long-head.ts";
import { parseRequestTarget } from "./request-target.ts";
import { createStreamSink } from "./stream-sink.ts";

export type ApiHandler = (request: ApiRequest) => Awaitable<ApiResponse>;

export type ServeOptions = ApiRequestOptions & {
  readonly handler: ApiHandler;
  readonly logger: Logger;
  /** Takes errors that no handler answers. Default: the log. */
  readonly faults?: Faults | undefined;
  readonly unread: UnreadAnswers;
  /** Told of an exchange that goes on after this turn of the event loop. */
  readonly onPending: (exchange: Exchange) => void;
};

/** Never throws. True if the response has been sent: nothing is left to wait for. */
export function serveExchange(exchange: Exchange, options: ServeOptions): boolean {
  const tooLong = refusalOfLength(exchange);
  if (tooLong !== undefined) {
    void respond(exchange, undefined, tooLong, options);
    return false;
  }
  const target = parseRequestTarget(exchange.target);
  // RFC 9112, section 3.2: of two hosts, a proxy in front may have read the other one.
  const hasHosts = Array.isArray(exchange.headers["host"]);
  if (target === undefined || exchange.method === "CONNECT" || hasHosts) {
    void respond(exchange, undefined, textResponse(400, "400 Bad Request"), options);
    return false;
  }
  const request = createApiRequest(exchange, target, options);
  const response = answer(request, options);
  if (!(response instanceof Promise) && response.body.type === "bytes" && !exchange.isClosed()) {
    // Synchronous responses need no callback at their end.
    send(exchange, response, sentBytesOf(response.body), options);
    return true;
  }
  options.onPending(exchange);
  exchange.onClose((complete) => {
    if (complete) return;
    try {
      request.abort(clientGoneError());
    } catch (error) {
      faultsOf(options).report(error, { component: "abort", ...describe(request) });
    }
  });
  if (response instanceof Promise) {
    response
      .then((given) => respond(exchange, request, given, options))
      .catch((error: unknown) => cutShort(exchange, {}, error, options));
  } else void respond(exchange, request, response, options);
  return false;
}

const faultsOf = ({ faults, logger }: Pick<ServeOptions, "faults" | "logger">): Faults =>
  faults ?? createFaults({ logger });

const describe = ({ method, requestUri }: ApiRequest): { readonly method: string; readonly uri: string } => ({
  method,
  uri: safeRequestUri(requestUri),
});

function answer(request: ApiRequest, options: ServeOptions): Awaitable<ApiResponse> {
  const { handler } = options;
  const onFault = (error: unknown): ApiResponse => {
    faultsOf(options).report(error, { component: "request-handler", ...describe(request) });
    return textResponse(500, "500 Internal Server Error");
  };
  try {
    const response = handler(request);
    return response instanceof Promise ? response.catch(onFault) : response;
  } catch (error) {
    return onFault(error);
  }
}

function send(exchange: Exchange, { status, headers }: ApiResponse, bytes: SentBytes, options: ServeOptions): void {
  try {
    if (exchange.method === "HEAD") exchange.send(status, headers, undefined);
    else sendBytes(exchange, status, headers, bytes, options);
  } catch (error) {
    cutShort(exchange, headers, error, options);
  }
}

function sendBytes(
  exchange: Exchange,
  status: number,
  headers: ResponseHeaders,
  bytes: SentBytes,
  { unread }: Pick<ServeOptions, "unread">,
): void {
  exchange.send(status, headers, bytes);
  if (bytes.length < LONG_ANSWER_BYTES || exchange.isClosed()) return;
  const held = unread.hold(exchange.connection.reader(), bytes.length, () => exchange.abandon());
  exchange.onClose(() => held[Symbol.dispose]());
}

/** Clients must not take a part of a response for the whole. */
function cutShort(exchange: Exchange, headers: ResponseHeaders, error: unknown, options: ServeOptions): void {
  // Work whose client has left ends with the reason of its abort, or with what Node says of a stream that has gone.
  const isRegular = error instanceof PeerFault || (exchange.isClosed() && !isDefect(error));
  if (!isRegular) reportFault("response", exchange, headers, error, options);
  exchange.cut();
}

function reportFault(
  component: string,
  { method, target }: Exchange,
  headers: ResponseHeaders,
  error: unknown,
  options: ServeOptions,
): void {
  const auditId = headers["audit-id"];
  const id = typeof auditId === "string" ? { auditId } : {};
  faultsOf(options).report(error, { component, method, uri: safeRequestUri(target), ...id });
}

async function respond(
  exchange: Exchange,
  request: ApiRequest | undefined,
  { status, headers, body }: ApiResponse,
  options: ServeOptions,
): Promise<void> {
  const { scheduler } = options;
  let unused: ResponseBody | undefined = body;
  try {
    if (body.type === "upgraded") {
      // Its exchange is closed from the moment that it left HTTP.
      const onFault = (error: unknown): void => {
        if (!(error instanceof PeerFault)) reportFault("response", exchange, headers, error, options);
      };
      await untilAborted(body.done, exchange, request, scheduler).catch(onFault);
      exchange.cut();
    } else if (exchange.isClosed()) {
      exchange.cut();
    } else if (exchange.method === "HEAD") {
      exchange.send(status, headers, undefined);
    } else if (body.type === "bytes") {
      sendBytes(exchange, status, headers, sentBytesOf(body), options);
    } else {
      const writable = exchange.begin(status, headers);
      const signal = request?.signal ?? AbortSignal.abort();
      unused = undefined;
      const hold = (bytes: number) =>
        options.unread.hold(exchange.connection.reader(), bytes, () => exchange.abandon());
      try {
        await untilAborted(body.run(createStreamSink(writable, hold), signal), exchange, request, scheduler);
      } catch (error) {
        if (!(error instanceof StreamFault)) throw error;
        reportFault("stream", exchange, headers, error.cause, options);
      }
      writable.end();
    }
  } catch (error) {
    cutShort(exchange, headers, error, options);
  }
  // Also where its head could not be sent: its creator may hold resources until it is done.
  if (unused !== undefined) await discardResponse(unused);
}

/** Waits for `done`. Handlers that keep writing after an abort are cut off after a grace period. */
async function untilAborted(
  done: Promise<void>,
  exchange: Exchange,
  request: ApiRequest | undefined,
  scheduler: Scheduler,
): Promise<void> {
  let timer: Disposable | undefined;
  const onAbort = (): void => {
    timer = scheduler.schedule(FAREWELL_MS, () => exchange.cut());
  };
  if (request?.signal.aborted === true) onAbort();
  else request?.signal.addEventListener("abort", onAbort, { once: true });
  try {
    await done;
  } finally {
    timer?.[Symbol.dispose]();
    request?.signal.removeEventListener("abort", onAbort);
  }
}

/** Enough for a last message, such as the close frame of a WebSocket. */
const FAREWELL_MS = 2_000;
