// The metrics of all fronts as those of one server.

import { type MetricValues, mergeMetrics, mergeValues } from "@postern/apiserver/metrics/merge-metrics";

/** The metrics of one front, as its registry gives them. */
export type FrontMetrics = readonly MetricValues[];

/** Gauges that describe the store or the process: those of the first front. So are all that are in neither list. */
export const OF_FIRST: readonly string[] = [
  "postern_access_keys",
  "postern_access_keys_expiring",
  "postern_audit_newest_record_age_seconds",
  "postern_audit_webhook_behind_seconds",
  "postern_authority_rotation_prepared_timestamp_seconds",
  "postern_bootstrap_manifests",
  "postern_cluster_authority_expiration_timestamp_seconds",
  "postern_fronts",
  "postern_live_certificates",
  "postern_serving_authority_expiration_timestamp_seconds",
  "postern_serving_certificate_expiration_timestamp_seconds",
  "postern_session_recordings_limit_bytes",
  "postern_storage_fullest_ratio",
  "postern_storage_memory_bytes",
  "postern_storage_memory_limit_bytes",
];

/** How other gauges of the server follow from those of its fronts: `sum`, `max`, or `each` where its label `thread` tells them apart. */
export const GAUGES: { readonly [name: string]: "sum" | "max" | "each" } = {
  apiserver_current_inflight_requests: "sum",
  apiserver_current_inqueue_requests: "sum",
  apiserver_current_request_bodies: "sum",
  apiserver_longrunning_requests: "sum",
  apiserver_watch_backlog_bytes: "sum",
  kubernetes_healthcheck: "max",
  postern_session_recordings_bytes: "max",
  postern_thread_busy_seconds: "each",
  postern_thread_clusters: "each",
  postern_thread_memory_bytes: "each",
  postern_thread_memory_limit_bytes: "each",
  postern_thread_quarantined_clusters: "sum",
  postern_thread_requests: "each",
  postern_thread_served_requests: "each",
  postern_tunnel_clusters: "max",
  postern_tunnel_streams: "sum",
  postern_tunnels: "sum",
  workqueue_depth: "sum",
  workqueue_longest_running_processor_seconds: "max",
  workqueue_unfinished_work_seconds: "sum",
};

/** The part of a further front in the metrics of the server. */
export function sharedMetrics(metrics: FrontMetrics, front: number): FrontMetrics {
  return metrics.flatMap((metric) => {
    if (metric.type !== "gauge") return [metric];
    const way = GAUGES[metric.name];
    if (way === undefined) return [];
    if (way !== "each") return [metric];
    const values = metric.values.map(({ labels, ...value }) => ({
      ...value,
      labels: { ...labels, thread: `front-${front}-${labels["thread"]}` },
    }));
    return [{ ...metric, values }];
  });
}

/** Counts that stay when a front has ended, with those of earlier ones: a counter never goes back. */
export const lastingMetrics = (earlier: FrontMetrics, ended: FrontMetrics): FrontMetrics =>
  mergeValues([earlier, ended.filter(({ type }) => type === "counter" || type === "histogram")], () => "sum");

/** The text for a scrape. `all` begins with the first front. */
export const sumMetrics = (all: readonly FrontMetrics[]): Promise<string> =>
  mergeMetrics(all, ({ name, type }) => (type === "gauge" && GAUGES[name] === "max" ? "max" : "sum"));
