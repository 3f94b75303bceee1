// Makes the ApiRequest of an exchange.

import { Readable } from "node:stream";
import type { Scheduler } from "../runtime/clock.ts";
import type { ApiRequest } from "./api-request.ts";
import { contentLengthOf, type Exchange } from "./exchange.ts";
import { readBody } from "./read-body.ts";
import type { RequestTarget } from "./request-target.ts";
import type { TransportLimits } from "./transport-limits.ts";

export type ApiRequestOptions = {
  readonly limits: TransportLimits;
  readonly scheduler: Scheduler;
  readonly serverStopping: AbortSignal;
};

/** Plain data and functions, so that a copy by spread is whole. Accessors would give every request a hidden class of its own. */
export function createApiRequest(
  exchange: Exchange,
  { path, query }: RequestTarget,
  { limits, scheduler, serverStopping }: ApiRequestOptions,
): ApiRequest & { abort(reason: unknown): void } {
  const controller = new AbortController();
  let bodyTaken = false;
  const takeBody = (): void => {
    if (bodyTaken) throw new Error("the request body was taken before");
    bodyTaken = true;
  };
  return {
    method: exchange.method,
    path,
    basePath: "",
    query: new URLSearchParams(query),
    requestUri: query === "" ? path : `${path}?${query}`,
    headers: exchange.headers,
    httpVersion: exchange.httpVersion,
    remoteAddress: exchange.connection.remoteAddress,
    host: exchange.host,
    know: exchange.connection.know,
    backlog: exchange.connection.backlog,
    peerCertificate: () => exchange.connection.peerCertificate,
    async body(limitBytes, onBytes) {
      takeBody();
      if (exchange.body === undefined) return new Uint8Array(0);
      const contentLength = contentLengthOf(exchange);
      return readBody(exchange.body, {
        limitBytes,
        contentLength,
        stallTimeoutMs: limits.bodyStallTimeoutMs,
        scheduler,
        ...(onBytes === undefined ? {} : { onBytes }),
      });
    },
    bodyStream() {
      takeBody();
      return exchange.body ?? emptyStream();
    },
    upgrade: exchange.upgrade,
    signal: controller.signal,
    serverStopping,
    abort: (reason) => controller.abort(reason),
  };
}

const emptyStream = (): Readable => Readable.from([]);
