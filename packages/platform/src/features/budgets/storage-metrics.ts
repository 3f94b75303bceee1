// Metrics of what is stored, and of which owner the most.

import { Gauge } from "@postern/apiserver/metrics/gauge";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { ClusterMemory, ClusterUsage } from "./cluster-memory.ts";
import type { ManagementBudgets } from "./management-budgets.ts";

/** Memory for what is stored, in bytes. */
type Part = { readonly usedBytes: number; readonly limitBytes: number };

export type StorageMetricsNeeds = {
  readonly budgets: ManagementBudgets;
  readonly clusters: { readonly memory: ClusterMemory; readonly usage: ClusterUsage };
  /** Bytes of the owner of access keys that has the most, by kind of owner. */
  readonly countCredentials: () => Promise<{ readonly ownedBytes: { readonly [kind: string]: number } }>;
};

export function gaugeStorage(
  { registry }: Pick<ServerMetrics, "registry">,
  { budgets, clusters, countCredentials }: StorageMetricsNeeds,
): void {
  const registers = [registry];
  new Gauge({
    name: "postern_storage_fullest_ratio",
    help: "Part of its limit that the fullest owner of stored objects uses, by kind of owner",
    labelNames: ["owner_kind"],
    registers,
    async collect() {
      const { ownedBytes } = await countCredentials();
      for (const [kind, bytes] of Object.entries(ownedBytes))
        this.set({ owner_kind: kind }, bytes / budgets.ownerBytes);
      this.set({ owner_kind: "project" }, budgets.fullestProject);
      this.set({ owner_kind: "virtualcluster" }, clusters.usage.fullest);
    },
  });
  const gauge = (name: string, help: string, read: (part: Part) => number): void => {
    new Gauge({
      name,
      help,
      labelNames: ["part"],
      registers,
      collect() {
        this.set({ part: "platform" }, read(budgets));
        this.set({ part: "clusters" }, read(clusters.memory));
      },
    });
  };
  gauge(
    "postern_storage_memory_bytes",
    "Estimated memory for stored objects, of the platform and of all embedded clusters",
    ({ usedBytes }) => usedBytes,
  );
  gauge(
    "postern_storage_memory_limit_bytes",
    "Most memory for stored objects, of the platform and of all embedded clusters",
    ({ limitBytes }) => limitBytes,
  );
}
