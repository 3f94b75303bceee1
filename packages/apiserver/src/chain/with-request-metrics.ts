// Counts requests and how long they took.
// Source: k8s.io/apiserver/pkg/endpoints/metrics/metrics.go

import { requestLabelsOf } from "../metrics/request-labels.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import type { LongRunningCheck } from "../request/long-running.ts";
import type { RequestInfo } from "../request/request-info.ts";
import type { Clock } from "../runtime/clock.ts";
import { CLIENT_GONE } from "../transport/client-gone-error.ts";
import { afterResponse } from "./after-response.ts";
import type { Handler } from "./handler.ts";

export type WithRequestMetricsDeps = {
  readonly metrics: ServerMetrics;
  readonly clock: Clock;
  readonly isLongRunning: LongRunningCheck;
  readonly isServed: (info: RequestInfo) => boolean;
};

/** How long a watch was open says nothing about the server: only its number is counted. */
const UNTIMED = -1;

export function withRequestMetrics(next: Handler, deps: WithRequestMetricsDeps): Handler {
  const { metrics, clock, isLongRunning, isServed } = deps;
  return async (context) => {
    const { request, info } = context;
    const startedAt = clock.elapsed();
    const underWay = { info, audit: context.audit, isServed: () => isServed(info) };
    metrics.stalls.began(underWay);
    const response = await next(context);
    metrics.stalls.ended(underWay);
    const labels = requestLabelsOf(request, info, isServed(info));
    if (response.status === CLIENT_GONE) metrics.requests.aborted(labels);
    const { status, body } = response;
    const size = body.type === "bytes" ? body.bytes.length : undefined;
    return afterResponse(response, () => {
      const seconds = isLongRunning(request, info) ? UNTIMED : (clock.elapsed() - startedAt) / 1000;
      metrics.requests.finished(labels, status, seconds, size);
    });
  };
}
