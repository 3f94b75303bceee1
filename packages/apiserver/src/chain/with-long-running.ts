// Ends requests that last when they must not go on: the credential was revoked, a right was lost, or the server stops.

import { serviceUnavailableError, unauthorizedError } from "@postern/apimachinery/meta/api-error";
import type { OpenRequests } from "../authorization/open-requests.ts";
import { requestLabelsOf } from "../metrics/request-labels.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import type { LongRunningCheck } from "../request/long-running.ts";
import type { RequestInfo } from "../request/request-info.ts";
import type { ApiRequest } from "../transport/api-request.ts";
import { afterResponse } from "./after-response.ts";
import type { Handler } from "./handler.ts";

export type WithLongRunningDeps = {
  readonly isLongRunning: LongRunningCheck;
  readonly isServed: (info: RequestInfo) => boolean;
  readonly metrics: ServerMetrics;
  readonly openRequests: OpenRequests;
};

export function withLongRunning(next: Handler, deps: WithLongRunningDeps): Handler {
  const { isLongRunning, isServed, metrics, openRequests } = deps;
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

  const guard: Handler = async (context) => {
    const { request, info, credential } = context;
    const open = openRequests.begin((reason) => request.abort?.(reason));
    const handles = [
      open,
      track(request),
      metrics.requests.longRunning(requestLabelsOf(request, info, isServed(info))),
      credential?.onRevoked?.(() => request.abort?.(unauthorizedError())),
    ];
    const release = (): void => {
      for (const handle of handles) handle?.[Symbol.dispose]();
    };
    try {
      return afterResponse(await next({ ...context, open }), release);
    } catch (error) {
      release();
      throw error;
    }
  };
  return (context) => (isLongRunning(context.request, context.info) ? guard(context) : next(context));
}

function abortAllOn(serverStopping: AbortSignal, open: ReadonlySet<ApiRequest>): void {
  const onStop = (): void => {
    for (const request of open) request.abort?.(stopping());
  };
  serverStopping.addEventListener("abort", onStop, { once: true });
}

const stopping = () => serviceUnavailableError("the server is shutting down");
