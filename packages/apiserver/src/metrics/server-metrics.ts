// The metrics of the server, with the names of kube-apiserver, in a registry of its own.
// Source: k8s.io/apiserver/pkg/endpoints/metrics/metrics.go, k8s.io/apiserver/pkg/audit/metrics.go

import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { ObserveHealth } from "../health/health-handler.ts";
import { type FairShares, LANES } from "../limits/fair-shares.ts";
import { type CounterSeries, createSeriesCounter } from "./counter-series.ts";
import { createEventLoopLag, type EventLoopLag } from "./event-loop-lag.ts";
import { createHealthMetrics } from "./health-metrics.ts";
import { createRequestCounters, type RequestCounters } from "./request-counters.ts";
import { createStageMetrics, type StageMetrics } from "./stage-metrics.ts";
import { createWebhookMetrics, type WebhookMetrics } from "./webhook-metrics.ts";
import { createWorkQueueMetrics, type WorkQueueMetrics } from "./work-queue-metrics.ts";

export type ServerMetrics = StageMetrics & {
  /** Where other parts of the same server add their own. */
  readonly registry: Registry;
  readonly requests: RequestCounters;
  readonly workQueues: WorkQueueMetrics;
  readonly webhooks: WebhookMetrics;
  /** Shows how many places are taken, and how many requests wait for one, with those of earlier calls. */
  followFairShares(shares: Pick<FairShares, "state" | "bodies">): void;
  /** Takes the results of health checks. */
  readonly health: ObserveHealth;
  watchTerminated(group: string, resource: string, scope: string): void;
  /** Shows how much waits for the clients of watches. */
  followBacklog(backlog: { readonly bytes: number }): void;
  readonly stalls: EventLoopLag;
  watchEvent(group: string, version: string, resource: string): void;
  /** A row of a Table has empty cells, because its printer columns would take too much work. */
  rowOverBudget(): void;
  tlsHandshakeError(): void;
  connectionDropped(reason: string): void;
  /** A client took a request back before its turn came. */
  requestTakenBack(): void;
  /** Clients had left too much unread: one of them lost a response. */
  unreadResponseCut(): void;
  /** A stream, timer, event or callback failed unexpectedly. */
  fault(component: string): void;
  /** Counts a line that the limit of the log dropped. */
  logLineLeftOut(level: string): void;
};

export type ServerMetricsOptions = {
  /** Includes process_* and nodejs_*, which describe the whole process: true for one server of a process at most. */
  readonly withProcessMetrics?: boolean;
};

export function createServerMetrics({ withProcessMetrics = false }: ServerMetricsOptions = {}): ServerMetrics {
  const registry = new Registry();
  const registers = [registry];
  if (withProcessMetrics) collectDefaultMetrics({ register: registry });
  const counter = <L extends string>(name: string, help: string, ...labelNames: readonly L[]): Counter<L> =>
    new Counter({ name, help, labelNames, registers });
  const followFairShares = gaugePlaces(registers);
  const terminated = counter(
    "apiserver_terminated_watchers_total",
    "Watches closed because their clients were too slow, by the limit that was reached; `farewell`: the end was not read within 10 seconds",
    "group",
    "resource",
    "scope",
  );
  const followBacklog = gaugeBacklog(registers);
  const watchEvent = countWatchEvents(registers);
  const rows = counter(
    "apiserver_table_rows_over_budget_total",
    "Rows of Tables with cells that were left empty because the JSONPaths of their columns would take too much work",
  );
  const handshakeErrors = counter("apiserver_tls_handshake_errors_total", "TLS handshakes that failed");
  const dropped = counter(
    "apiserver_connections_dropped_total",
    "Connections closed in favor of others or for inactivity, by reason",
    "reason",
  );
  const takenBack = counter(
    "apiserver_requests_taken_back_total",
    "Requests that clients cancelled before they were processed; not counted in other metrics, and not audited",
  );
  const cut = counter(
    "apiserver_unread_responses_cut_total",
    "Responses that were cut because clients had left too many bytes unread",
  );
  const faults = counter(
    "apiserver_unexpected_errors_total",
    "Errors of streams, timers, events and callbacks that were caught outside of request handlers, by part of the server",
    "component",
  );
  const lines = counter(
    "apiserver_log_lines_left_out_total",
    "Warnings and errors that were left out of the log because there were many, by level",
    "level",
  );
  return {
    registry,
    followFairShares,
    watchTerminated: (group, resource, scope) => terminated.inc({ group, resource, scope }),
    followBacklog,
    watchEvent,
    rowOverBudget: () => rows.inc(),
    tlsHandshakeError: () => handshakeErrors.inc(),
    connectionDropped: (reason) => dropped.inc({ reason }),
    requestTakenBack: () => takenBack.inc(),
    unreadResponseCut: () => cut.inc(),
    fault: (component) => faults.inc({ component }),
    logLineLeftOut: (level) => lines.inc({ level }),
    health: createHealthMetrics(registry),
    requests: createRequestCounters(registry),
    ...createStageMetrics(registry),
    workQueues: createWorkQueueMetrics(registry),
    webhooks: createWebhookMetrics(registry),
    stalls: createEventLoopLag(registry),
  };
}

type Registers = Registry[];

function gaugePlaces(registers: Registers): ServerMetrics["followFairShares"] {
  const followed = new Set<Pick<FairShares, "state" | "bodies">>();
  const sum = (of: (shares: Pick<FairShares, "state" | "bodies">) => number): number =>
    [...followed].reduce((all, shares) => all + of(shares), 0);
  new Gauge({
    name: "apiserver_current_inflight_requests",
    help: "Requests currently executing in flow control",
    labelNames: ["request_kind"],
    registers,
    collect() {
      for (const lane of LANES)
        this.set(
          { request_kind: lane },
          sum(({ state }) => state[lane].taken),
        );
    },
  });
  new Gauge({
    name: "apiserver_current_inqueue_requests",
    help: "Requests currently queued in flow control",
    labelNames: ["request_kind"],
    registers,
    collect() {
      for (const lane of LANES)
        this.set(
          { request_kind: lane },
          sum(({ state }) => state[lane].waiting),
        );
    },
  });
  new Gauge({
    name: "apiserver_current_request_bodies",
    help: "Request bodies that are being received or processed",
    registers,
    collect() {
      this.set(sum(({ bodies }) => bodies));
    },
  });
  return (shares) => void followed.add(shares);
}

function countWatchEvents(registers: Registers): ServerMetrics["watchEvent"] {
  const watchEvents = createSeriesCounter({
    name: "apiserver_watch_events_total",
    help: "Events sent to watch clients",
    labelNames: ["group", "version", "resource"],
    registers,
  });
  const byResource = new Map<string, CounterSeries>();
  return (group, version, resource, count = 1) => {
    const key = `${group} ${version} ${resource}`;
    const series = byResource.get(key) ?? watchEvents.series({ group, version, resource });
    byResource.set(key, series);
    series.inc(count);
  };
}

function gaugeBacklog(registers: Registers): ServerMetrics["followBacklog"] {
  let followed = { bytes: 0 };
  new Gauge({
    name: "apiserver_watch_backlog_bytes",
    help: "Bytes waiting to be sent to watch clients",
    registers,
    collect() {
      this.set(followed.bytes);
    },
  });
  return (backlog) => {
    followed = backlog;
  };
}
