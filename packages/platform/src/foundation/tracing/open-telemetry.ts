// Spans as OpenTelemetry has them, sent to a collector in batches, beside requests. Nothing is registered globally: two servers of one
// process trace apart from each other.

import { AsyncLocalStorage } from "node:async_hooks";
import { type Context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { type ExportResult, ExportResultCode, W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from "@opentelemetry/sdk-trace-base";
import { createSeriesCounter } from "@postern/apiserver/metrics/counter-series";
import type { Span, SpanAttributes, SpanStart, TraceHeaders, Tracing } from "@postern/apiserver/tracing/tracing";
import { SERVED_VERSION } from "../served-version.ts";
import type { OpenedTracing, OpenTracingDeps, TracingSettings } from "./tracing-settings.ts";

const KINDS: { readonly [kind in SpanStart["kind"]]: SpanKind } = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  internal: SpanKind.INTERNAL,
};

/** Spans that are not sent by then are lost: an absent collector does not hold up the end of a server. */
const SHUTDOWN_MS = 3_000;
/** Failures are many while a collector is away. */
const WARN_EVERY_MS = 60_000;

export function startOpenTelemetry(settings: TracingSettings, deps: OpenTracingDeps): OpenedTracing {
  const { scheduler } = deps;
  const Exporter = settings.protocol === "http/json" ? JsonExporter : ProtobufExporter;
  const inner = new Exporter();
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({
      "service.name": "postern",
      "service.version": SERVED_VERSION.gitVersion,
      "process.pid": process.pid,
    }).merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(countingExporter(inner, deps))],
  });
  return {
    ...createTracing(provider, settings),
    async [Symbol.asyncDispose]() {
      const over = new Promise<void>((resolve) => {
        scheduler.schedule(SHUTDOWN_MS, resolve);
      });
      await Promise.race([provider.shutdown().catch(() => {}), over]);
    },
  };
}

function createTracing(provider: BasicTracerProvider, { propagates }: TracingSettings): Tracing {
  const tracer = provider.getTracer("postern", SERVED_VERSION.gitVersion);
  const propagator = new W3CTraceContextPropagator();
  const active = new AsyncLocalStorage<Context>();
  const parentOf = (headers: TraceHeaders): Context =>
    propagates ? propagator.extract(ROOT_CONTEXT, headers, READ) : ROOT_CONTEXT;

  return {
    start({ name, kind, attributes = {}, parent }): Span {
      const from = parent === undefined ? (active.getStore() ?? ROOT_CONTEXT) : parentOf(parent);
      const span = tracer.startSpan(name, { kind: KINDS[kind], attributes: known(attributes) }, from);
      const context = trace.setSpan(from, span);
      return {
        within: (work) => active.run(context, work),
        set: (more) => void span.setAttributes(known(more)),
        fail(type) {
          span.setAttribute("error.type", type);
          span.setStatus({ code: SpanStatusCode.ERROR });
        },
        end: () => span.end(),
      };
    },
    isActive: () => active.getStore() !== undefined,
    headers() {
      const context = active.getStore();
      const headers: Record<string, string> = {};
      if (context !== undefined && propagates) propagator.inject(context, headers, WRITE);
      return headers;
    },
  };
}

const READ = {
  keys: (headers: TraceHeaders) => Object.keys(headers),
  get: (headers: TraceHeaders, name: string) =>
    name === "traceparent" || name === "tracestate" ? headers[name] : undefined,
};
const WRITE = {
  set(headers: Record<string, string>, name: string, value: string) {
    headers[name] = value;
  },
};

type KnownAttributes = { [name: string]: string | number | string[] };

function known(attributes: SpanAttributes): KnownAttributes {
  const all: KnownAttributes = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined) all[name] = typeof value === "object" ? [...value] : value;
  }
  return all;
}

/** Counts exported and lost spans, and logs the losses from time to time. */
function countingExporter(
  inner: SpanExporter,
  { logger, metrics, scheduler }: Pick<OpenTracingDeps, "logger" | "metrics" | "scheduler">,
): SpanExporter {
  const counter = createSeriesCounter({
    name: "postern_trace_spans_total",
    help: "Spans sent to the trace collector, by result",
    labelNames: ["result"],
    registers: [metrics.registry],
  });
  const [exported, failed] = [counter.series({ result: "exported" }), counter.series({ result: "failed" })];
  let isQuiet = false;
  const warn = (result: ExportResult): void => {
    if (isQuiet) return;
    isQuiet = true;
    scheduler.schedule(WARN_EVERY_MS, () => {
      isQuiet = false;
    });
    // The error itself has the address and the answer of the collector in it.
    logger.warn(
      { component: "tracing", cause: codeOf(result.error) },
      "the collector rejected traces, or was unreachable",
    );
  };
  return {
    export(spans, done) {
      inner.export(spans, (result) => {
        const isTaken = result.code === ExportResultCode.SUCCESS;
        (isTaken ? exported : failed).inc(spans.length);
        if (!isTaken) warn(result);
        done(result);
      });
    },
    shutdown: () => inner.shutdown(),
    forceFlush: () => inner.forceFlush?.() ?? Promise.resolve(),
  };
}

function codeOf(error: Error | undefined): string {
  const code = error !== undefined && "code" in error ? error.code : undefined;
  return typeof code === "string" || typeof code === "number" ? String(code) : (error?.name ?? "unknown");
}
