// Deadlines: requests that are not long-running have one. Long-running requests end if their credential is revoked, if they are no longer authorized,
// or at shutdown.
// Source: k8s.io/apiserver/pkg/endpoints/filters/request_deadline.go

import {
  badRequestError,
  serviceUnavailableError,
  timeoutError,
  unauthorizedError,
} from "@postern/apimachinery/meta/api-error";
import { GoDurationError, parseGoDuration } from "@postern/apimachinery/time/go-duration";
import type { LongRunningRequests } from "../authorization/long-running-requests.ts";
import { requestLabelsOf } from "../metrics/request-counters.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import type { Awaitable } from "../runtime/awaitable.ts";
import type { Scheduler } from "../runtime/clock.ts";
import type { ApiRequest } from "../transport/api-request.ts";
import { type ApiResponse, afterResponse } from "../transport/api-response.ts";
import { discardResponse } from "../transport/discard-response.ts";
import type { Filter, RequestState } from "./request-state.ts";

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
    // Of what is answered at once nothing is left to bound.
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

// Ends long-running requests: credential revoked, no longer authorized, or shutdown.

export type WithLongRunningDeps = {
  readonly metrics: ServerMetrics;
  readonly openRequests: LongRunningRequests;
};

export function withLongRunning({ metrics, openRequests }: WithLongRunningDeps): Filter {
  // One listener per server: a signal with thousands of them is slow to add to.
  const requestsOfServers = new WeakMap<AbortSignal, Set<ApiRequest>>();
  const track = (request: ApiRequest): Disposable => {
    const { serverStopping } = request;
    if (serverStopping === undefined) return { [Symbol.dispose]: () => undefined };
    let open = requestsOfServers.get(serverStopping);
    if (open === undefined) {
      open = new Set();
      requestsOfServers.set(serverStopping, open);
      abortAllOn(serverStopping, open);
    }
    const requests = open.add(request);
    if (serverStopping.aborted) request.abort?.(stopping());
    return { [Symbol.dispose]: () => void requests.delete(request) };
  };

  return {
    enter(call) {
      if (!call.isLongRunning) return undefined;
      const { request, info, credential } = call;
      const open = openRequests.begin((reason) => request.abort?.(reason));
      const handles = [
        open,
        track(request),
        metrics.requests.longRunning(requestLabelsOf(request, info, call.isServed(info))),
        credential?.onRevoked?.(() => request.abort?.(unauthorizedError())),
      ];
      call.open = {
        ...open,
        [Symbol.dispose]() {
          for (const handle of handles) handle?.[Symbol.dispose]();
        },
      };
      return undefined;
    },
    leave: (response, { open }) =>
      open === undefined ? response : afterResponse(response, () => open[Symbol.dispose]()),
    fail(error, { open }) {
      open?.[Symbol.dispose]();
      throw error;
    },
  };
}

function abortAllOn(serverStopping: AbortSignal, open: ReadonlySet<ApiRequest>): void {
  const onStop = (): void => {
    for (const request of open) request.abort?.(stopping());
  };
  serverStopping.addEventListener("abort", onStop, { once: true });
}

const stopping = () => serviceUnavailableError("the server is shutting down");
