// Makes the ApiRequest of an exchange.
// Source: RFC 9112, section 3.2

import type { X509Certificate } from "node:crypto";
import { Readable } from "node:stream";
import type { Scheduler } from "../runtime/clock.ts";
import { ApiRequest, type RequestHeaders, type UpgradeRequest } from "./api-request.ts";
import { contentLengthOf, type Exchange } from "./exchange.ts";
import { readBody } from "./read-body.ts";
import type { TransportLimits } from "./transport-limits.ts";
import type { ConnectionBacklog } from "./watch-backlog.ts";

export type ApiRequestOptions = {
  readonly limits: TransportLimits;
  readonly scheduler: Scheduler;
  readonly serverStopping: AbortSignal;
};

export const createApiRequest = (
  exchange: Exchange,
  target: RequestTarget,
  options: ApiRequestOptions,
): ApiRequest & { abort(reason: unknown): void } => new ExchangeRequest(exchange, target, options);

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
    this.query = new URLSearchParams(query);
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

  async body(limitBytes: number, onBytes?: (count: number) => void): Promise<Uint8Array> {
    this.takeBody();
    const { exchange, options } = this;
    const stream = unreadBody(exchange);
    if (stream === undefined) return new Uint8Array(0);
    return readBody(stream, {
      limitBytes,
      contentLength: contentLengthOf(exchange),
      stallTimeoutMs: options.limits.bodyStallTimeoutMs,
      scheduler: options.scheduler,
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
