// Takes one exchange from its request to the end of its response. Nothing that goes wrong in it leaves this file.

import type { Logger } from "../logging/logger.ts";
import { safeRequestUri } from "../request/safe-request-uri.ts";
import type { Scheduler } from "../runtime/clock.ts";
import type { ApiRequest } from "./api-request.ts";
import { type ApiResponse, textResponse } from "./api-response.ts";
import { clientGoneError } from "./client-gone-error.ts";
import { type ApiRequestOptions, createApiRequest } from "./create-api-request.ts";
import { discardResponse } from "./discard-response.ts";
import type { Exchange } from "./exchange.ts";
import { parseRequestTarget } from "./request-target.ts";
import { createStreamSink } from "./stream-sink.ts";

export type ApiHandler = (request: ApiRequest) => Promise<ApiResponse>;

export type ServeOptions = ApiRequestOptions & { readonly handler: ApiHandler; readonly logger: Logger };

/** Never rejects. */
export async function serveExchange(exchange: Exchange, options: ServeOptions): Promise<void> {
  const target = parseRequestTarget(exchange.target);
  if (target === undefined || exchange.method === "CONNECT") {
    return respond(exchange, undefined, textResponse(400, "400 Bad Request"), options);
  }
  const request = createApiRequest(exchange, target, options);
  exchange.onClose((complete) => {
    if (!complete) request.abort(clientGoneError());
  });
  await respond(exchange, request, await answer(request, options), options);
}

async function answer(request: ApiRequest, { handler, logger }: ServeOptions): Promise<ApiResponse> {
  try {
    return await handler(request);
  } catch (error) {
    logger.error({ error, method: request.method, uri: safeRequestUri(request.requestUri) }, "request handler failed");
    return textResponse(500, "500 Internal Server Error");
  }
}

async function respond(
  exchange: Exchange,
  request: ApiRequest | undefined,
  { status, headers, body }: ApiResponse,
  { logger, scheduler }: ServeOptions,
): Promise<void> {
  try {
    if (body.type === "upgraded") {
      await untilAborted(body.done, exchange, request, scheduler);
      exchange.cut();
    } else if (exchange.isClosed()) {
      await discardResponse(body);
      exchange.cut();
    } else if (exchange.method === "HEAD") {
      exchange.send(status, headers, undefined);
      await discardResponse(body);
    } else if (body.type === "bytes") {
      exchange.send(status, headers, body.bytes);
    } else {
      const writable = exchange.begin(status, headers);
      const signal = request?.signal ?? AbortSignal.abort();
      await untilAborted(body.run(createStreamSink(writable), signal), exchange, request, scheduler);
      writable.end();
    }
  } catch (error) {
    if (!exchange.isClosed()) logger.warn({ error, method: exchange.method, status }, "response cut short");
    exchange.cut();
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
