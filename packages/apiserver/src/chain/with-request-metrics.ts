// Counts requests and measures their duration.
// Source: k8s.io/apiserver/pkg/endpoints/metrics/metrics.go

import { requestLabelsOf } from "../metrics/request-labels.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import type { Clock } from "../runtime/clock.ts";
import { afterResponse, lengthOfBody } from "../transport/api-response.ts";
import { CLIENT_GONE } from "../transport/client-gone-error.ts";
import type { RequestObserver } from "./request-observer.ts";
import type { Filter } from "./run-filters.ts";

/** How long a watch was open says nothing about the server: only its number is counted. */
const UNTIMED = -1;

export function withRequestMetrics(deps: {
  readonly metrics: ServerMetrics;
  readonly clock: Clock;
  readonly observer?: RequestObserver | undefined;
}): Filter {
  const { metrics, clock, observer } = deps;
  const { stalls, requests } = metrics;
  return {
    enter(call) {
      stalls.began(call);
      return undefined;
    },
    leave(response, call) {
      stalls.ended(call);
      const { request, info, isLongRunning, startedAt } = call;
      const labels = requestLabelsOf(request, info, call.isServed(info));
      if (response.status === CLIENT_GONE) requests.aborted(labels);
      const { status, body } = response;
      observer?.answered(call, status);
      const size = body.type === "bytes" ? lengthOfBody(body) : undefined;
      return afterResponse(response, () => {
        const seconds = isLongRunning ? UNTIMED : (clock.elapsed() - startedAt) / 1000;
        requests.finished(labels, status, seconds, size);
        if (isLongRunning) observer?.closed(call, status);
      });
    },
  };
}
