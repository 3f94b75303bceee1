import { expect, it } from "vitest";
import type { RequestLabels } from "./request-labels.ts";
import { createServerMetrics } from "./server-metrics.ts";

const labels = (resource: string): RequestLabels => ({
  verb: "GET",
  dry_run: "",
  group: "",
  version: "v1",
  resource,
  subresource: "",
  scope: "resource",
  component: "apiserver",
});

it("counts, times and measures", async () => {
  const { registry, requests } = createServerMetrics();
  requests.finished(labels("pods"), 200, 0.01, 1200);
  requests.finished(labels("pods"), 200, 2, 10);
  requests.finished(labels("pods"), 200, -1);
  const text = await registry.metrics();
  expect(text).toMatch(/apiserver_request_total\{.*resource="pods".*code="200"\} 3/);
  expect(text).toMatch(/apiserver_request_duration_seconds_count\{.*resource="pods".*\} 2/);
  expect(text).toMatch(/apiserver_response_sizes_sum\{.*resource="pods".*\} 1210/);
});

it("counts what is beyond thousands of label combinations together", async () => {
  const { registry, requests } = createServerMetrics();
  for (let number = 0; number < 3_500; number += 1) requests.finished(labels(`r${number}`), 200, 0.01);
  const text = await registry.metrics();
  expect(text.match(/^apiserver_request_total\{/gm)?.length).toBe(3_001);
  expect(text).toMatch(/apiserver_request_total\{.*resource="other".*\} 500/);
});

it("keeps servers of one process apart", async () => {
  const [one, two] = [createServerMetrics(), createServerMetrics()];
  one.auditEvent("Metadata");
  expect(await one.registry.metrics()).toContain("apiserver_audit_event_total 1");
  expect(await two.registry.metrics()).toContain("apiserver_audit_event_total 0");
});

it("reports on the process only where configured", async () => {
  expect(await createServerMetrics().registry.metrics()).not.toContain("process_cpu_seconds_total");
  const { registry } = createServerMetrics({ withProcessMetrics: true });
  expect(await registry.metrics()).toContain("process_cpu_seconds_total");
});
