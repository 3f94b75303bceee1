// The metric of the audit log.

import { Gauge } from "@postern/apiserver/metrics/gauge";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { Clock } from "@postern/apiserver/runtime/clock";

/** Returns what is called after each write. */
export function gaugeNewestRecord({ registry }: Pick<ServerMetrics, "registry">, clock: Clock): () => void {
  let newest = clock.elapsed();
  new Gauge({
    name: "postern_audit_newest_record_age_seconds",
    help: "Seconds since the newest audit record was written, or since the start",
    registers: [registry],
    collect() {
      this.set((clock.elapsed() - newest) / 1000);
    },
  });
  return () => {
    newest = clock.elapsed();
  };
}
