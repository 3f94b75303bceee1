// Metrics of tunnels. Labels have few values, and never names.

import { Gauge } from "@postern/apiserver/metrics/gauge";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import { labelledCounter, totalCounter } from "../../foundation/metrics/counters.ts";
import type { TunnelRegistry } from "./tunnel-registry.ts";

export type TunnelMetrics = {
  joined(): void;
  /** `reason` is one of few words. */
  refused(reason: string): void;
  opened(): void;
};

export function gaugeTunnels({ registry }: Pick<ServerMetrics, "registry">, tunnels: TunnelRegistry): TunnelMetrics {
  const registers = [registry];
  new Gauge({
    name: "postern_tunnels",
    help: "Connections that agents of clusters have open to this server",
    registers,
    collect() {
      this.set([...tunnels.all()].length);
    },
  });
  new Gauge({
    name: "postern_tunnel_streams",
    help: "Streams that are open in tunnels: connections to the API servers of clusters",
    registers,
    collect() {
      let streams = 0;
      for (const tunnel of tunnels.all()) streams += tunnel.streams;
      this.set(streams);
    },
  });
  new Gauge({
    name: "postern_tunnel_clusters",
    help: "Clusters whose spec.networkPeer is true, by whether an agent is connected to this server",
    labelNames: ["connected"] as const,
    registers,
    collect() {
      const { connected, expected } = tunnels.counts();
      this.set({ connected: "true" }, connected);
      this.set({ connected: "false" }, Math.max(0, expected - connected));
    },
  });
  return {
    joined: totalCounter(registry, "postern_cluster_joins_total", "Join values that agents have exchanged for a key"),
    refused: labelledCounter(
      registry,
      "postern_tunnels_refused_total",
      "Tunnels and joins that were refused, by reason: join, identity, cluster, protocol or limit",
      "reason",
    ),
    opened: totalCounter(registry, "postern_tunnels_opened_total", "Tunnels that agents have opened"),
  };
}
