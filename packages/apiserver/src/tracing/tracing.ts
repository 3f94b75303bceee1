// The port for traces. Without a collector it is absent, and no code is wrapped.

export type SpanAttributes = { readonly [name: string]: string | number | readonly string[] | undefined };

export type SpanStart = {
  /** Low cardinality. */
  readonly name: string;
  readonly kind: "server" | "client" | "internal";
  /** As in OpenTelemetry's semantic conventions. Callers ensure that they contain no credentials. */
  readonly attributes?: SpanAttributes;
  /** The W3C headers of the request that the span belongs to. Absent: the span that is active. */
  readonly parent?: TraceHeaders;
};

/** See https://www.w3.org/TR/trace-context/ */
export type TraceHeaders = { readonly traceparent?: string; readonly tracestate?: string };

export type Span = {
  /** Does work while the span is the active one, also in what that awaits. */
  within<T>(work: () => T): T;
  set(attributes: SpanAttributes): void;
  /** `type` is one word, such as the status or the name of an error: its message may say too much. */
  fail(type: string): void;
  end(): void;
};

export type Tracing = {
  start(options: SpanStart): Span;
  /** Whether a span is active: background work is not traced. */
  isActive(): boolean;
  /** Headers that pass the active span to the next server. */
  headers(): TraceHeaders;
};

/** Ends the span with the work. */
export async function inSpan<T>(
  tracing: Tracing,
  options: SpanStart,
  work: (span: Span) => T | Promise<T>,
): Promise<T> {
  const span = tracing.start(options);
  try {
    return await span.within(() => work(span));
  } catch (error) {
    span.fail(nameOf(error));
    throw error;
  } finally {
    span.end();
  }
}

const nameOf = (error: unknown): string => {
  if (!(error instanceof Error)) return "unknown";
  return "reason" in error && typeof error.reason === "string" && error.reason !== "" ? error.reason : error.name;
};
