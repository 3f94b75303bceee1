// Makes the ApiRequest of an exchange.

import type { X509Certificate } from "node:crypto";
import { Readable } from "node:stream";
import type { Awaitable } from "../../runtime/awaitable.ts";
import type { Scheduler } from "../../runtime/clock.ts";
import { forwardedClient } from "../addresses/trusted-proxies.ts";
import { ApiRequest, type RequestHeaders, type UpgradeRequest } from "../api-request.ts";
import type { BodyReadThrottle } from "../backpressure/body-read-throttle.ts";
import { Cancellation } from "../cancellation.ts";
import type { TransportLimits } from "../transport-limits.ts";
import type { ConnectionBacklog } from "../watch-backlog.ts";
import { contentLengthOf, type Exchange } from "./exchange.ts";
import { parseQuery } from "./parse-query.ts";
import { readBody } from "./read-body.ts";
import type { RequestTarget } from "./request-target.ts";

export type ApiRequestOptions = {
  readonly limits: TransportLimits;
  readonly scheduler: Scheduler;
  readonly bodyThrottle: BodyReadThrottle;
  readonly serverStopping: AbortSignal;
};

export const createApiRequest = (
  exchange: Exchange,
  target: RequestTarget,
  options: ApiRequestOptions,
): ApiRequest & { abort(reason: unknown): void } => new ExchangeRequest(exchange, target, options);

/** Most requests have none. The query of a request never changes. */
const NO_QUERY = new URLSearchParams();

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
    const { remoteAddress, trustedProxies } = exchange.connection;
    this.remoteAddress =
      trustedProxies === undefined ? remoteAddress : forwardedClient(trustedProxies, remoteAddress, exchange.headers);
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
      throttle: options.bodyThrottle,
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

  onAbort(listener: (reason: unknown) => void): Disposable {
    return this.cancellation.onAbort(listener);
  }

  abort(reason: unknown): void {
    this.cancellation.abort(reason);
  }
}

/** Undefined also where it was empty, and its end came before anybody looked for it. */
const unreadBody = ({ body }: Exchange): Readable | undefined => (body?.readableEnded === true ? undefined : body);
