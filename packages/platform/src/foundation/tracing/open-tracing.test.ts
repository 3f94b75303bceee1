import { silentLogger } from "@postern/apiserver/logging/logger";
import { createServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import { manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../config/configuration-error.ts";
import { openTracing } from "./open-tracing.ts";
import { tracedStorage } from "./traced-storage.ts";
import { readTracingSettings } from "./tracing-settings.ts";

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" };
const DEFAULTS = { protocol: "http/protobuf", propagates: true, files: [] };

describe("readTracingSettings", () => {
  it.each([
    [{}],
    [{ OTEL_SERVICE_NAME: "postern", OTEL_TRACES_SAMPLER: "always_on" }],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: " " }],
    [{ ...ENDPOINT, OTEL_SDK_DISABLED: "TRUE" }],
    [{ ...ENDPOINT, OTEL_TRACES_EXPORTER: "none" }],
  ])("collects nothing with %j", (environment) => {
    expect(readTracingSettings(environment)).toBe(undefined);
  });

  it.each([
    [ENDPOINT, DEFAULTS],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://collector/traces" }, DEFAULTS],
    [{ OTEL_TRACES_EXPORTER: "otlp" }, DEFAULTS],
    [
      { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" },
      { ...DEFAULTS, protocol: "http/json" },
    ],
    [
      {
        ...ENDPOINT,
        OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
        OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/json",
      },
      { ...DEFAULTS, protocol: "http/json" },
    ],
    [{ ...ENDPOINT, OTEL_PROPAGATORS: "baggage, tracecontext" }, DEFAULTS],
    [
      { ...ENDPOINT, OTEL_PROPAGATORS: "none" },
      { ...DEFAULTS, propagates: false },
    ],
    [{ ...ENDPOINT, OTEL_TRACES_SAMPLER: "parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG: "0.25" }, DEFAULTS],
  ])("reads %j", (environment, settings) => {
    expect(readTracingSettings(environment)).toEqual(settings);
  });

  it.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" }, /^OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL/],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "x" }, /^OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must/],
    [{ ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }, /^OTEL_EXPORTER_OTLP_PROTOCOL must .*not "grpc"$/],
    [{ ...ENDPOINT, OTEL_TRACES_EXPORTER: "zipkin" }, /^OTEL_TRACES_EXPORTER must be one of otlp, none/],
    [{ ...ENDPOINT, OTEL_TRACES_SAMPLER: "sometimes" }, /^OTEL_TRACES_SAMPLER must be one of always_on/],
    [{ ...ENDPOINT, OTEL_TRACES_SAMPLER: "traceidratio" }, /^OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1/],
    [
      { ...ENDPOINT, OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "1.5" },
      /^OTEL_TRACES_SAMPLER_ARG .*not "1.5"$/,
    ],
  ])("refuses %j", (environment, message) => {
    expect(() => readTracingSettings(environment)).toThrow(ConfigurationError);
    expect(() => readTracingSettings(environment)).toThrow(message);
  });
});

it("refuses a certificate that cannot be read, and names the variable", async () => {
  const environment = { ...ENDPOINT, OTEL_EXPORTER_OTLP_CERTIFICATE: "/nowhere/ca.crt" };
  const { scheduler } = manualTime();
  const opening = openTracing({ environment, logger: silentLogger, metrics: createServerMetrics(), scheduler });
  await expect(opening).rejects.toThrow("OTEL_EXPORTER_OTLP_CERTIFICATE: cannot read the file /nowhere/ca.crt");
});

it("wraps nothing without a trace collector", async () => {
  const { scheduler } = manualTime();
  const opened = await openTracing({
    environment: {},
    logger: silentLogger,
    metrics: createServerMetrics(),
    scheduler,
  });
  expect(opened).toBe(undefined);
  const storage = {} as Parameters<typeof tracedStorage>[0];
  expect(tracedStorage(storage, "sqlite", opened)).toBe(storage);
});
