// Counts requests and measures their duration.
// Source: k8s.io/apiserver/pkg/endpoints/metrics/metrics.go

import type { Logger } from "../logging/logger.ts";
import { requestLabelsOf } from "../metrics/request-counters.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import type { Clock } from "../runtime/clock.ts";
import { headerOf } from "../transport/api-request.ts";
import { afterResponse, lengthOfBody } from "../transport/api-response.ts";
import { CLIENT_GONE } from "../transport/client-gone-error.ts";
import type { Filter, RequestState } from "./request-state.ts";

export type WithRequestMetricsDeps = {
  readonly metrics: ServerMetrics;
  readonly clock: Clock;
};

/** How long a watch was open says nothing about the server: only its number is counted. */
const UNTIMED = -1;

export function withRequestMetrics({ metrics, clock }: WithRequestMetricsDeps): Filter {
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
      const size = body.type === "bytes" ? lengthOfBody(body) : undefined;
      return afterResponse(response, () => {
        const seconds = isLongRunning ? UNTIMED : (clock.elapsed() - startedAt) / 1000;
        requests.finished(labels, status, seconds, size);
      });
    },
  };
}

// Logs one line per request: writes and failures always, reads at debug level.

const READ_VERBS: readonly string[] = ["get", "list", "watch", "head", "options"];

export type WithRequestLogDeps = { readonly logger: Logger; readonly clock: Clock };

export const withRequestLog = ({ logger, clock }: WithRequestLogDeps): Filter => ({
  leave(response, call) {
    const level = levelOf(call, response.status);
    if (!logger.isLevelEnabled(level)) return response;
    return afterResponse(response, () => {
      const durationMs = clock.elapsed() - call.startedAt;
      logger[level]({ ...fieldsOf(call, response.status), durationMs }, "request");
    });
  },
});

function levelOf({ info }: RequestState, status: number): "debug" | "info" | "warn" {
  if (status >= 500) return "warn";
  return READ_VERBS.includes(info.verb) ? "debug" : "info";
}

/** The user is in the audit log, under the same identifier. */
const fieldsOf = ({ request, info, audit }: RequestState, status: number) => ({
  auditId: audit.auditId,
  method: request.method,
  uri: request.requestUri,
  verb: info.verb,
  status,
  sourceIp: request.remoteAddress,
  userAgent: headerOf(request, "user-agent"),
});
