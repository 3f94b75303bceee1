// A collector of traces: takes OTLP over HTTP, in JSON and in protobuf, and keeps all of it.
// Source of the field numbers: https://github.com/open-telemetry/opentelemetry-proto

import { createServer, type RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";
import { readFields } from "@postern/apimachinery/protobuf/wire-reader";
import type { TestCertificate } from "@postern/apiserver/transport/testing/test-certificates";

export type CollectedSpan = {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  /** "" for none. */
  readonly parentSpanId: string;
  readonly name: string;
  /** As OTLP numbers them: 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, string>>;
  readonly isError: boolean;
};

export type TraceCollector = AsyncDisposable & {
  readonly url: string;
  readonly spans: readonly CollectedSpan[];
  /** Bodies of all requests, as they came. */
  readonly received: readonly Buffer[];
  readonly contentTypes: ReadonlySet<string>;
  /** Environment variables for a server. */
  env(service: string, protocol?: "http/json" | "http/protobuf"): Readonly<Record<string, string>>;
};

export async function startTraceCollector({ tls }: { readonly tls?: TestCertificate } = {}): Promise<TraceCollector> {
  const spans: CollectedSpan[] = [];
  const received: Buffer[] = [];
  const contentTypes = new Set<string>();
  const take: RequestListener = (request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const raw = Buffer.concat(parts);
      const body = request.headers["content-encoding"] === "gzip" ? gunzipSync(raw) : raw;
      const type = request.headers["content-type"] ?? "";
      received.push(body);
      contentTypes.add(type);
      if (request.url !== "/v1/traces") {
        response.writeHead(404).end();
        return;
      }
      spans.push(...(type === "application/json" ? jsonSpans(JSON.parse(body.toString())) : protobufSpans(body)));
      response.writeHead(200, { "content-type": type }).end(type === "application/json" ? "{}" : "");
    });
  };
  const server = tls === undefined ? createServer(take) : createSecureServer(tls, take);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `${tls === undefined ? "http" : "https"}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    spans,
    received,
    contentTypes,
    env: (service, protocol) => ({
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_SERVICE_NAME: service,
      OTEL_BSP_SCHEDULE_DELAY: "50",
      ...(protocol === undefined ? {} : { OTEL_EXPORTER_OTLP_PROTOCOL: protocol }),
    }),
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

const SERVICE = "service.name";

const jsonAttributes = (list: readonly any[] = []): Record<string, string> =>
  Object.fromEntries(
    list.map(({ key, value }) => [key, String(value.stringValue ?? value.intValue ?? value.doubleValue)]),
  );

const jsonSpans = ({ resourceSpans }: any): readonly CollectedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }: any) =>
    scopeSpans.flatMap(({ spans }: any) =>
      spans.map((span: any) => ({
        service: jsonAttributes(resource.attributes)[SERVICE],
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? "",
        name: span.name,
        kind: span.kind,
        attributes: jsonAttributes(span.attributes),
        isError: span.status?.code === 2,
      })),
    ),
  );

/** The fields of a message by their number. */
function fieldsOf(bytes: Uint8Array): (number: number) => readonly (number | bigint | Uint8Array)[] {
  const fields = [...readFields(bytes)];
  return (number) => fields.filter((field) => field.number === number).map(({ value }) => value);
}

const messages = (bytes: Uint8Array, number: number): readonly Uint8Array[] => fieldsOf(bytes)(number) as Uint8Array[];
const hex = (value: unknown): string => Buffer.from((value ?? []) as Uint8Array).toString("hex");
const text = (value: unknown): string => Buffer.from((value ?? []) as Uint8Array).toString();

/** Each a KeyValue: key = 1, value = 2; of an AnyValue: string_value = 1, int_value = 3. */
const protobufAttributes = (list: readonly Uint8Array[]): Record<string, string> =>
  Object.fromEntries(
    list.map((pair) => {
      const [value = new Uint8Array()] = messages(pair, 2);
      const [string] = fieldsOf(value)(1);
      return [text(fieldsOf(pair)(1)[0]), string === undefined ? String(fieldsOf(value)(3)[0]) : text(string)];
    }),
  );

/** ExportTraceServiceRequest → ResourceSpans (1) → ScopeSpans (2) → Span (2). */
const protobufSpans = (body: Uint8Array): readonly CollectedSpan[] =>
  messages(body, 1).flatMap((resourceSpans) => {
    const [resource = new Uint8Array()] = messages(resourceSpans, 1);
    const service = protobufAttributes(messages(resource, 1))[SERVICE] ?? "";
    return messages(resourceSpans, 2).flatMap((scopeSpans) =>
      messages(scopeSpans, 2).map((span) => {
        const field = fieldsOf(span);
        const [status = new Uint8Array()] = messages(span, 15);
        return {
          service,
          traceId: hex(field(1)[0]),
          spanId: hex(field(2)[0]),
          parentSpanId: hex(field(4)[0]),
          name: text(field(5)[0]),
          kind: Number(field(6)[0]),
          attributes: protobufAttributes(messages(span, 9)),
          isError: fieldsOf(status)(3)[0] === 2n,
        };
      }),
    );
  });
