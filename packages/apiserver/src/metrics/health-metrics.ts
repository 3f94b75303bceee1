// The results of health checks, with the names of kube-apiserver, which serves them at a path of their own.
// Source: k8s.io/component-base/metrics/prometheus/slis/metrics.go

import { Counter, Gauge, type Registry } from "prom-client";
import type { ObserveHealth } from "../health/health-handler.ts";

export const SLIS_PATH = "/metrics/slis";

const RESULT = "kubernetes_healthcheck";
const RESULTS = "kubernetes_healthchecks_total";
/** Name, type and help of each. */
export const HEALTH_FAMILIES = [
  [RESULT, "gauge", "Whether a health check succeeded the last time a client asked: 1 or 0"],
  [RESULTS, "counter", "Health checks that ran because a client asked, by result"],
] as const;

export const statusOf = (isHealthy: boolean): "success" | "error" => (isHealthy ? "success" : "error");

export function createHealthMetrics(registry: Registry): ObserveHealth {
  const [[resultName, , resultHelp], [totalName, , totalHelp]] = HEALTH_FAMILIES;
  const registers = [registry];
  const result = new Gauge({ name: resultName, help: resultHelp, labelNames: ["name", "type"], registers });
  const total = new Counter({ name: totalName, help: totalHelp, labelNames: ["name", "status", "type"], registers });
  return (name, type, isHealthy) => {
    result.set({ name, type }, isHealthy ? 1 : 0);
    total.inc({ name, status: statusOf(isHealthy), type });
  };
}

/** The part of a scrape that has the results of health checks. */
export function healthLinesOf(scrape: string): string {
  const lines = scrape
    .split("\n")
    .filter((line) => /^(# (HELP|TYPE) )?kubernetes_healthchecks?(_total)?[ {]/.test(line));
  return lines.map((line) => `${line}\n`).join("");
}
