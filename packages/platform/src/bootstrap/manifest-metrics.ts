// The metric of the manifests of --bootstrap-dir.

import { Gauge } from "@postern/apiserver/metrics/gauge";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";

/** `drifted`: some of its fields belong to other managers, and were left to them. */
export type ManifestState = "created" | "changed" | "unchanged" | "drifted";

/** Returns what counts a manifest with its outcome. */
export function gaugeManifests({ registry }: Pick<ServerMetrics, "registry">): (state: ManifestState) => void {
  const manifests = new Gauge({
    name: "postern_bootstrap_manifests",
    help: "Manifests of --bootstrap-dir, by outcome at the start; drifted: other managers have changed fields",
    labelNames: ["state"],
    registers: [registry],
  });
  return (state) => manifests.inc({ state });
}
