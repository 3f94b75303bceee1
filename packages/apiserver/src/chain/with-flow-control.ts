// Bounds how many requests are worked on at one time, reads and writes apart.
// Source: k8s.io/apiserver/pkg/server/filters/maxinflight.go

import { requestLabelsOf } from "../metrics/request-labels.ts";
import type { RequestKind, ServerMetrics } from "../metrics/server-metrics.ts";
import type { LongRunningCheck } from "../request/long-running.ts";
import type { RequestInfo } from "../request/request-info.ts";
import { textResponse } from "../transport/api-response.ts";
import { afterResponse } from "./after-response.ts";
import type { Handler } from "./handler.ts";

export type FlowControlLimits = {
  /** 0 means no bound. */
  readonly maxReadOnly: number;
  readonly maxMutating: number;
};

export const DEFAULT_FLOW_CONTROL: FlowControlLimits = { maxReadOnly: 400, maxMutating: 200 };

export type WithFlowControlDeps = {
  readonly flowControl: FlowControlLimits;
  readonly isLongRunning: LongRunningCheck;
  readonly isServed: (info: RequestInfo) => boolean;
  readonly metrics: ServerMetrics;
};

const READ_VERBS: readonly string[] = ["get", "list", "watch", "head"];
/** A server under load must not be taken for one that is ill. */
const HEALTH_PATH = /^\/(healthz|livez|readyz)(\/|$)/;

export function withFlowControl(next: Handler, deps: WithFlowControlDeps): Handler {
  const { flowControl, isLongRunning, isServed, metrics } = deps;
  const limits = { readOnly: flowControl.maxReadOnly, mutating: flowControl.maxMutating };
  const inFlight = { readOnly: 0, mutating: 0 };
  const change = (kind: RequestKind, by: number): void => {
    inFlight[kind] += by;
    metrics.setInFlight(kind, inFlight[kind]);
  };
  return async (context) => {
    const { request, info } = context;
    if (isLongRunning(request, info) || (!info.isResourceRequest && HEALTH_PATH.test(info.path))) return next(context);
    const kind: RequestKind = READ_VERBS.includes(info.verb) ? "readOnly" : "mutating";
    if (limits[kind] > 0 && inFlight[kind] >= limits[kind]) {
      metrics.requests.rejected(requestLabelsOf(request, info, isServed(info)));
      return textResponse(429, "Too many requests, please try again later.\n", { "retry-after": "1" });
    }
    change(kind, 1);
    try {
      return afterResponse(await next(context), () => change(kind, -1));
    } catch (error) {
      change(kind, -1);
      throw error;
    }
  };
}
