// Reports the result of the check of a large database, which runs while the server serves.

import type { Logger } from "@postern/apiserver/logging/logger";
import { createSeriesCounter } from "@postern/apiserver/metrics/counter-series";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { StoreCheckListener } from "./open-store.ts";

export function reportStoreCheck(logger: Logger, { registry }: Pick<ServerMetrics, "registry">): StoreCheckListener {
  const checks = createSeriesCounter({
    name: "postern_store_integrity_checks_total",
    help: "Checks of the whole database, by result",
    labelNames: ["result"],
    registers: [registry],
  });
  const [whole, damaged] = [checks.series({ result: "whole" }), checks.series({ result: "damaged" })];
  return (fault) => {
    (fault === undefined ? whole : damaged).inc();
    if (fault === undefined) logger.info({ component: "store" }, "the database passed the integrity check");
    else logger.error({ error: new Error(fault), component: "store" }, "the database failed the integrity check");
  };
}
