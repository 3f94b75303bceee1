// Takes one exchange from its request to the end of its response. Nothing that goes wrong in it leaves this file.

import type { Writable } from "node:stream";
import type { Logger } from "../logging/logger.ts";
import type { Awaitable } from "../runtime/awaitable.ts";
import type { Scheduler } from "../runtime/clock.ts";
import type { ApiRequest } from "./api-request.ts";
import { type ApiResponse, type ByteSink, textResponse } from "./api-response.ts";
import { clientGoneError } from "./client-gone-error.ts";
import { type ApiRequestOptions, createApiRequest, parseRequestTarget } from "./create-api-request.ts";
import { discardResponse } from "./discard-response.ts";
import type { Exchange } from "./exchange.ts";
import { safeRequestUri } from "./safe-request-uri.ts";

export type ApiHandler = (request: ApiRequest) => Awaitable<ApiResponse>;

export type ServeOptions = ApiRequestOptions & {
  readonly handler: ApiHandler;
  readonly logger: Logger;
  /** Told of an exchange that goes on after this turn of the event loop. */
  readonly onPending: (exchange: Exchange) => void;
};

/** Never throws. */
export function serveExchange(exchange: Exchange, options: ServeOptions): void {
  const target = parseRequestTarget(exchange.target);
  if (target === undefined || exchange.method === "CONNECT") {
    void respond(exchange, undefined, textResponse(400, "400 Bad Request"), options);
    return;
  }
  const request = createApiRequest(exchange, target, options);
  const response = answer(request, options);
  if (!(response instanceof Promise) && response.body.type === "bytes" && !exchange.isClosed()) {
    // Of what is answered at once nobody has to be told how it ends.
    send(exchange, response, response.body.bytes, options);
    return;
  }
  options.onPending(exchange);
  exchange.onClose((complete) => {
    if (!complete) request.abort(clientGoneError());
  });
  if (response instanceof Promise) void response.then((given) => respond(exchange, request, given, options));
  else void respond(exchange, request, response, options);
}

function answer(request: ApiRequest, { handler, logger }: ServeOptions): Awaitable<ApiResponse> {
  const onFault = (error: unknown): ApiResponse => {
    logger.error({ error, method: request.method, uri: safeRequestUri(request.requestUri) }, "request handler failed");
    return textResponse(500, "500 Internal Server Error");
  };
  try {
    const response = handler(request);
    return response instanceof Promise ? response.catch(onFault) : response;
  } catch (error) {
    return onFault(error);
  }
}

function send(
  exchange: Exchange,
  { status, headers }: ApiResponse,
  bytes: Uint8Array | string,
  { logger }: Pick<ServeOptions, "logger">,
): void {
  try {
    exchange.send(status, headers, exchange.method === "HEAD" ? undefined : bytes);
  } catch (error) {
    cutShort(exchange, status, error, logger);
  }
}

function cutShort(exchange: Exchange, status: number, error: unknown, logger: Logger): void {
  if (!exchange.isClosed()) logger.warn({ error, method: exchange.method, status }, "response cut short");
  exchange.cut();
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
    cutShort(exchange, status, error, logger);
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

// Lets a streaming response write to a connection no faster than the client reads.

const createStreamSink = (writable: Writable): ByteSink => new StreamSink(writable);

class StreamSink implements ByteSink {
  readonly #writable: Writable;
  /** All writers wait for the same event: one listener is enough. */
  #drained: Promise<boolean> | undefined;

  constructor(writable: Writable) {
    this.#writable = writable;
  }

  get bufferedBytes(): number {
    return this.#writable.writableLength;
  }

  write(chunk: Uint8Array | string): boolean | Promise<boolean> {
    if (!isOpen(this.#writable)) return false;
    if (this.#writable.write(chunk)) return true;
    this.#drained ??= this.#untilDrained();
    return this.#drained;
  }

  #untilDrained(): Promise<boolean> {
    const writable = this.#writable;
    return new Promise((resolve) => {
      const settle = (): void => {
        writable.off("drain", settle).off("close", settle);
        this.#drained = undefined;
        resolve(isOpen(writable));
      };
      writable.on("drain", settle).on("close", settle);
    });
  }
}

const isOpen = (writable: Writable): boolean => !writable.destroyed && !writable.writableEnded && !writable.closed;
