// Puts each request into the caller's trace. Which traces are kept, and where, is for the operator's SDK.

import {
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Context as TraceContext,
  trace,
  context as traceContext,
} from "@opentelemetry/api";
import type { ApiRequest } from "../transport/api-request.ts";
import type { ApiResponse } from "../transport/api-response.ts";
import { afterResponse } from "./after-response.ts";
import type { Handler, RequestContext } from "./handler.ts";

const NAME = "postern-apiserver";

export function withTracing(next: Handler): Handler {
  const tracer = trace.getTracer(NAME);
  const traced = async (context: RequestContext, span: Span, parent: TraceContext): Promise<ApiResponse> => {
    span.setAttributes(attributesOf(context));
    try {
      const response = await traceContext.with(trace.setSpan(parent, span), () => next(context));
      span.setAttribute("http.response.status_code", response.status);
      if (response.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
      return afterResponse(response, () => span.end());
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
      throw error;
    }
  };
  return (context) => {
    const { request, info } = context;
    const parent = propagation.extract(traceContext.active(), request.headers, HEADERS);
    const span = tracer.startSpan(`${info.verb} ${info.resource || "nonresource"}`, { kind: SpanKind.SERVER }, parent);
    // The usual case: nobody collects traces.
    return span.isRecording() ? traced(context, span, parent) : next(context);
  };
}

const HEADERS = {
  keys: (headers: ApiRequest["headers"]) => Object.keys(headers),
  get(headers: ApiRequest["headers"], name: string): string | string[] | undefined {
    const value = headers[name];
    return typeof value === "string" || value === undefined ? value : [...value];
  },
};

const attributesOf = ({ request, info, audit }: RequestContext) => ({
  "http.request.method": request.method,
  "url.path": request.requestUri,
  "k8s.verb": info.verb,
  "k8s.resource": info.resource,
  "k8s.namespace": info.namespace,
  "audit.id": audit.auditId,
});
