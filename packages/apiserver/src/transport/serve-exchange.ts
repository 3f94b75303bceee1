// Serves one exchange, from the request to the end of its response. All errors are handled here.

import type { X509Certificate } from "node:crypto";
import { Readable } from "node:stream";
import { safeRequestUri } from "@postern/apimachinery/text/redact-credentials";
import { createFaults, type Faults, isDefect } from "../logging/faults.ts";
import type { Logger } from "../logging/logger.ts";
import type { Awaitable } from "../runtime/awaitable.ts";
import type { Scheduler } from "../runtime/clock.ts";
import { ApiRequest, contentLengthOf, type Exchange, type RequestHeaders, type UpgradeRequest } from "./api-request.ts";
import {
  type ApiResponse,
  PeerFault,
  type ResponseHeaders,
  type SentBytes,
  StreamFault,
  sentBytesOf,
  textResponse,
} from "./api-response.ts";
import type { BodyReadThrottle } from "./body-read-throttle.ts";
import { clientGoneError } from "./client-gone-error.ts";
import { discardResponse } from "./discard-response.ts";
import { readBody } from "./read-body.ts";
import { createStreamSink } from "./stream-sink.ts";
import type { TransportLimits } from "./transport-limits.ts";
import type { ConnectionBacklog } from "./watch-backlog.ts";

export type ApiHandler = (request: ApiRequest) => Awaitable<ApiResponse>;

export type ServeOptions = ApiRequestOptions & {
  readonly handler: ApiHandler;
  readonly logger: Logger;
  /** Takes errors that no handler answers. Default: the log. */
  readonly faults?: Faults | undefined;
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
  if (target === undefined || exchange.method === "CONNECT") {
    void respond(exchange, undefined, textResponse(400, "400 Bad Request"), options);
    return false;
  }
  const request = createApiRequest(exchange, target, options);
  const response = answer(request, options);
  if (!(response instanceof Promise) && response.body.type === "bytes" && !exchange.isClosed()) {
    // Of what is answered at once nobody has to be told how it ends.
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

/**
 * Parts of a head, which as a whole may have a mebibyte as Go's (see TransportLimits). Each segment, parameter and item costs something before it
 * is known who asks; one long parameter does not, and selectors are long. Each argument of exec is a parameter.
 */
const MAX_PATH_LENGTH = 16 * 1024;
const MAX_PARAMETERS = 5_000;
const MAX_HEADER_LENGTH = 64 * 1024;

function refusalOfLength({ target, headers }: Exchange): ApiResponse | undefined {
  if (target.length > MAX_PATH_LENGTH && isTooLong(target)) return textResponse(414, "414 URI Too Long");
  for (const name in headers) {
    const value = headers[name];
    // A credential is compared as a whole.
    if (name === "authorization") continue;
    const length =
      typeof value === "string" ? value.length : (value?.reduce((sum, { length }) => sum + length, 0) ?? 0);
    if (length > MAX_HEADER_LENGTH) return textResponse(431, "431 Request Header Fields Too Large");
  }
  return undefined;
}

function isTooLong(target: string): boolean {
  const at = target.indexOf("?");
  if (at < 0 || at > MAX_PATH_LENGTH) return true;
  let parameters = 1;
  for (let next = target.indexOf("&", at); next >= 0; next = target.indexOf("&", next + 1)) parameters++;
  return parameters > MAX_PARAMETERS;
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
    exchange.send(status, headers, exchange.method === "HEAD" ? undefined : bytes);
  } catch (error) {
    cutShort(exchange, headers, error, options);
  }
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
  try {
    if (body.type === "upgraded") {
      // Its exchange is closed from the moment that it left HTTP.
      const onFault = (error: unknown): void => reportFault("response", exchange, headers, error, options);
      await untilAborted(body.done, exchange, request, scheduler).catch(onFault);
      exchange.cut();
    } else if (exchange.isClosed()) {
      await discardResponse(body);
      exchange.cut();
    } else if (exchange.method === "HEAD") {
      exchange.send(status, headers, undefined);
      await discardResponse(body);
    } else if (body.type === "bytes") {
      exchange.send(status, headers, sentBytesOf(body));
    } else {
      const writable = exchange.begin(status, headers);
      const signal = request?.signal ?? AbortSignal.abort();
      try {
        await untilAborted(body.run(createStreamSink(writable), signal), exchange, request, scheduler);
      } catch (error) {
        if (!(error instanceof StreamFault)) throw error;
        reportFault("stream", exchange, headers, error.cause, options);
      }
      writable.end();
    }
  } catch (error) {
    cutShort(exchange, headers, error, options);
  }
}

/** Waits for `done`. Who goes on writing although the request was aborted is cut off after a while. */
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

// Makes the ApiRequest of an exchange.
// Source: RFC 9112, section 3.2

export type ApiRequestOptions = {
  readonly limits: TransportLimits;
  readonly scheduler: Scheduler;
  readonly bodyTurns: BodyReadThrottle;
  readonly serverStopping: AbortSignal;
};

export const createApiRequest = (
  exchange: Exchange,
  target: RequestTarget,
  options: ApiRequestOptions,
): ApiRequest & { abort(reason: unknown): void } => new ExchangeRequest(exchange, target, options);

/** Most requests have none, and nobody changes the query of a request. */
const NO_QUERY = new URLSearchParams();

/** Characters up to which the parser of URLSearchParams takes no time that others notice. */
const SHORT_QUERY = 2_048;

/** As `new URLSearchParams(query)`, which looks at one character after the other: at hundreds of kilobytes, that of a selector, for milliseconds. */
export function parseQuery(query: string): URLSearchParams {
  if (query.length <= SHORT_QUERY) return new URLSearchParams(query);
  try {
    const pairs: [name: string, value: string][] = [];
    for (const parameter of (query.startsWith("?") ? query.slice(1) : query).split("&")) {
      if (parameter === "") continue;
      const at = parameter.indexOf("=");
      const name = at < 0 ? parameter : parameter.slice(0, at);
      pairs.push([decodeForm(name), at < 0 ? "" : decodeForm(parameter.slice(at + 1))]);
    }
    return new URLSearchParams(pairs);
  } catch {
    // Octets that are malformed, or no UTF-8: it has an answer to those.
    return new URLSearchParams(query);
  }
}

const decodeForm = (text: string): string => decodeURIComponent(text.includes("+") ? text.replaceAll("+", " ") : text);

class ExchangeRequest extends ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly basePath = "";
  readonly query: URLSearchParams;
  readonly requestUri: string;
  readonly headers: RequestHeaders;
  readonly httpVersion: "1.1" | "2.0";
  readonly remoteAddress: string;
  readonly host: string;
  readonly upgrade: UpgradeRequest | undefined;
  readonly exchange: Exchange;
  readonly options: ApiRequestOptions;
  /** Copies share what follows with this one. */
  readonly cancellation = new Cancellation();
  readonly taken = { body: false };

  constructor(exchange: Exchange, { path, query }: RequestTarget, options: ApiRequestOptions) {
    super();
    this.method = exchange.method;
    this.path = path;
    this.query = query === "" ? NO_QUERY : parseQuery(query);
    this.requestUri = query === "" ? path : `${path}?${query}`;
    this.headers = exchange.headers;
    this.httpVersion = exchange.httpVersion;
    this.remoteAddress = exchange.connection.remoteAddress;
    this.host = exchange.host;
    this.upgrade = exchange.upgrade;
    this.exchange = exchange;
    this.options = options;
  }

  get connection(): object {
    return this.exchange.connection;
  }

  get backlog(): ConnectionBacklog {
    return this.exchange.connection.backlog;
  }

  know(user: string): void {
    this.exchange.connection.know(user);
  }

  peerCertificate(): X509Certificate | undefined {
    return this.exchange.connection.peerCertificate;
  }

  body(limitBytes: number, onBytes?: (count: number) => void): Awaitable<Uint8Array> {
    this.takeBody();
    const { exchange, options } = this;
    const stream = unreadBody(exchange);
    if (stream === undefined) return new Uint8Array(0);
    return readBody(stream, {
      limitBytes,
      contentLength: contentLengthOf(exchange),
      stallTimeoutMs: options.limits.bodyStallTimeoutMs,
      leavesEnd: exchange.endsByItself === true,
      scheduler: options.scheduler,
      turns: options.bodyTurns,
      ...(onBytes === undefined ? {} : { onBytes }),
    });
  }

  bodyStream(): NodeJS.ReadableStream {
    this.takeBody();
    return unreadBody(this.exchange) ?? Readable.from([]);
  }

  takeBody(): void {
    if (this.taken.body) throw new Error("the request body was taken before");
    this.taken.body = true;
  }

  get signal(): AbortSignal {
    return this.cancellation.signal;
  }

  get serverStopping(): AbortSignal {
    return this.options.serverStopping;
  }

  abort(reason: unknown): void {
    this.cancellation.abort(reason);
  }
}

/** Undefined also where it was empty, and its end came before anybody looked for it. */
const unreadBody = ({ body }: Exchange): Readable | undefined => (body?.readableEnded === true ? undefined : body);

// Whether a request is over before its answer is, and why. Its signal is made when somebody first asks for it, which most reads never do.

class Cancellation {
  #controller: AbortController | undefined;
  #isAborted = false;
  #reason: unknown;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isAborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** The first reason counts. */
  abort(reason: unknown): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}

export type RequestTarget = { readonly path: string; readonly query: string };

const ABSOLUTE_FORM = /^https?:\/\/[^/?#]*/i;

/** Undefined for targets that name no path (`*`, an authority) or hold a fragment, which no client sends. */
export function parseRequestTarget(target: string): RequestTarget | undefined {
  if (target.includes("#")) return undefined;
  const origin = target.startsWith("/") ? target : target.replace(ABSOLUTE_FORM, "");
  const at = origin.indexOf("?");
  const path = at < 0 ? origin : origin.slice(0, at);
  const query = at < 0 ? "" : origin.slice(at + 1);
  if (path.startsWith("/")) return { path, query };
  return path === "" && origin !== target ? { path: "/", query } : undefined;
}
