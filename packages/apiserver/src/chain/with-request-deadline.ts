// The deadline of requests that are not long-running.
// Source: k8s.io/apiserver/pkg/endpoints/filters/request_deadline.go

import { badRequestError, timeoutError } from "@postern/apimachinery/meta/api-error";
import { GoDurationError, parseGoDuration } from "@postern/apimachinery/time/go-duration";
import type { Awaitable } from "../runtime/awaitable.ts";
import type { Scheduler } from "../runtime/clock.ts";
import type { ApiRequest } from "../transport/api-request.ts";
import { type ApiResponse, afterResponse } from "../transport/api-response.ts";
import { discardResponse } from "../transport/discard-response.ts";
import type { RequestState } from "./request-state.ts";
import type { Filter } from "./run-filters.ts";

export type WithRequestDeadlineDeps = {
  /** Clients may ask for less with `?timeout=`, never for more. */
  readonly requestTimeoutMs: number;
  readonly scheduler: Scheduler;
};

export const withRequestDeadline = ({ requestTimeoutMs, scheduler }: WithRequestDeadlineDeps): Filter => ({
  around(call, next) {
    if (call.isLongRunning) return next(call);
    const timeoutMs = timeoutOf(call.request, requestTimeoutMs);
    const response = next(call);
    // A complete response needs no deadline.
    if (!(response instanceof Promise) && response.body.type === "bytes") return response;
    return bounded(response, call, timeoutMs, scheduler);
  },
});

const bounded = (
  given: Awaitable<ApiResponse>,
  { request }: RequestState,
  timeoutMs: number,
  scheduler: Scheduler,
): Promise<ApiResponse> =>
  new Promise((resolve, reject) => {
    let expired = false;
    const timer = scheduler.schedule(timeoutMs, () => {
      expired = true;
      const error = timeoutError("request did not complete within the allotted timeout");
      request.abort?.(error);
      reject(error);
    });
    const stop = (): void => timer[Symbol.dispose]();
    const onResponse = (response: ApiResponse): void => {
      // Its creator may hold resources until it is done.
      if (expired) void discardResponse(response.body);
      else resolve(afterResponse(response, stop));
    };
    const onError = (error: unknown): void => {
      stop();
      reject(error);
    };
    if (given instanceof Promise) given.then(onResponse).catch(onError);
    else onResponse(given);
  });

/** Throws ApiError 400 for a text that is not a duration. */
function timeoutOf(request: ApiRequest, maximumMs: number): number {
  const text = request.query.get("timeout") ?? "";
  if (text === "") return maximumMs;
  try {
    const asked = parseGoDuration(text);
    return asked > 0 && asked < maximumMs ? asked : maximumMs;
  } catch (error) {
    if (!(error instanceof GoDurationError)) throw error;
    throw badRequestError(`invalid timeout specified in the request URL - ${error.message}`, error);
  }
}
