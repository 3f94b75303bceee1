// Metrics of the cluster threads.

import { createSeriesCounter } from "@postern/apiserver/metrics/counter-series";
import { Gauge } from "@postern/apiserver/metrics/gauge";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { HostThread } from "../front/threaded-host.ts";
import type { ThreadPool } from "./thread-pool.ts";
import type { EndReason } from "./thread-process.ts";

const REASONS = ["stalled", "memory", "crashed"] as const;

/** Shows nothing where no cluster runs in a thread. */
export function showThreads(
  { registry }: Pick<ServerMetrics, "registry">,
  pool: ThreadPool<HostThread> | undefined,
): void {
  const registers = [registry];
  const labelNames = ["thread"] as const;
  const threads = () => pool?.threads ?? [];
  const gauge = (name: string, help: string, value: (thread: HostThread, clusters: number) => number): void => {
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const { name: thread, thread: host, clusters } of threads()) this.set({ thread }, value(host, clusters));
      },
    });
  };
  gauge(
    "postern_thread_busy_seconds",
    "Seconds that the event loop of a cluster thread has worked since the thread started",
    ({ process }) => process.busyMs / 1000,
  );
  gauge(
    "postern_thread_memory_bytes",
    "Heap and buffers of a cluster thread",
    ({ process }) => process.readings.memoryBytes,
  );
  gauge(
    "postern_thread_memory_limit_bytes",
    "Heap and buffers at which a cluster thread is ended",
    ({ process }) => process.limitBytes,
  );
  gauge(
    "postern_thread_requests",
    "Requests in progress in a cluster thread, with their streams, as the server knows them",
    ({ forwarder }) => forwarder.open,
  );
  gauge(
    "postern_thread_served_requests",
    "The same as the cluster thread knows them, up to 0.2 seconds ago",
    ({ process }) => process.readings.requests,
  );
  gauge("postern_thread_clusters", "Virtual clusters that run in a cluster thread", (_, clusters) => clusters);
  const ended = createSeriesCounter({
    name: "postern_thread_restarts_total",
    help: "Cluster threads that were ended, by reason: stalled, memory or crashed",
    labelNames: ["reason"],
    fromZero: true,
    registers,
  });
  // From 0 on, so that the first one is an increase.
  const series = pool && new Map(REASONS.map((reason) => [reason as EndReason, ended.series({ reason })]));
  pool?.onThreadEnd((reason) => series?.get(reason)?.inc());
  new Gauge({
    name: "postern_thread_quarantined_clusters",
    help: "Virtual clusters that run alone, or are paused, because they stopped a thread",
    registers,
    collect() {
      this.set(pool?.quarantine.size ?? 0);
    },
  });
}
