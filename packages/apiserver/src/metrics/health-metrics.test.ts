import { expect, it } from "vitest";
import { createHealthHandler } from "../health/health-handler.ts";
import { silentLogger } from "../logging/logger.ts";
import { healthLinesOf } from "./health-metrics.ts";
import { createServerMetrics } from "./server-metrics.ts";

it("shows the last result of each check, and counts the results", async () => {
  const metrics = createServerMetrics();
  let isReady = false;
  const ready = {
    name: "store",
    check() {
      if (!isReady) throw new Error("not yet");
    },
  };
  const checks = { healthz: [], livez: [], readyz: [ready] };
  const answer = createHealthHandler(checks, silentLogger, metrics.health);
  const ask = (query = "") => answer({ path: "/readyz", query: new URLSearchParams(query) });
  const samples = async () =>
    healthLinesOf(await metrics.registry.metrics())
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"));
  await ask("exclude=store");
  expect(await samples()).toEqual([]);
  await ask();
  isReady = true;
  await ask();
  await ask();
  expect(await samples()).toEqual([
    'kubernetes_healthcheck{name="store",type="readyz"} 1',
    'kubernetes_healthchecks_total{name="store",status="error",type="readyz"} 1',
    'kubernetes_healthchecks_total{name="store",status="success",type="readyz"} 2',
  ]);
});
