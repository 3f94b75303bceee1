// Bounds how long a request may take that does not last.
// Source: k8s.io/apiserver/pkg/endpoints/filters/request_deadline.go

import { badRequestError, timeoutError } from "@postern/apimachinery/meta/api-error";
import { GoDurationError, parseGoDuration } from "@postern/apimachinery/time/go-duration";
import type { LongRunningCheck } from "../request/long-running.ts";
import type { Scheduler } from "../runtime/clock.ts";
import type { ApiRequest } from "../transport/api-request.ts";
import type { ApiResponse } from "../transport/api-response.ts";
import { discardResponse } from "../transport/discard-response.ts";
import { afterResponse } from "./after-response.ts";
import type { Handler } from "./handler.ts";

export type WithRequestDeadlineDeps = {
  /** Clients may ask for less with `?timeout=`, never for more. */
  readonly requestTimeoutMs: number;
  readonly scheduler: Scheduler;
  readonly isLongRunning: LongRunningCheck;
};

export function withRequestDeadline(next: Handler, deps: WithRequestDeadlineDeps): Handler {
  const { requestTimeoutMs, scheduler, isLongRunning } = deps;
  return async (context) => {
    const { request, info } = context;
    if (isLongRunning(request, info)) return next(context);
    const timeoutMs = timeoutOf(request, requestTimeoutMs);
    return new Promise<ApiResponse>((resolve, reject) => {
      let expired = false;
      const timer = scheduler.schedule(timeoutMs, () => {
        expired = true;
        const error = timeoutError("request did not complete within the allotted timeout");
        request.abort?.(error);
        reject(error);
      });
      const stop = (): void => timer[Symbol.dispose]();
      const onError = (error: unknown): void => {
        stop();
        reject(error);
      };
      next(context).then((response) => {
        // Whoever made it may hold something until it is over.
        if (expired) void discardResponse(response.body);
        else resolve(afterResponse(response, stop));
      }, onError);
    });
  };
}

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
