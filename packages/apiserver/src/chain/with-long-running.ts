// Ends long-running requests whose credential is revoked or no longer authorized, and all of them at shutdown.

import { serviceUnavailableError, unauthorizedError } from "@postern/apimachinery/meta/api-error";
import type { LongRunningRequests } from "../authorization/long-running-requests.ts";
import { requestLabelsOf } from "../metrics/request-labels.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import type { ApiRequest } from "../transport/api-request.ts";
import { afterResponse } from "../transport/api-response.ts";
import type { Filter } from "./run-filters.ts";

export function withLongRunning(deps: {
  readonly metrics: ServerMetrics;
  readonly openRequests: LongRunningRequests;
}): Filter {
  const { metrics, openRequests } = deps;
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
