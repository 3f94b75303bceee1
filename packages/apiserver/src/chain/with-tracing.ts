// Starts a span for each request, in the trace of its caller.
// Source of the names: https://opentelemetry.io/docs/specs/semconv/http/http-spans/

import { textBefore } from "@postern/apimachinery/text/trim-trailing";
import type { Redact } from "../request/credential-redaction.ts";
import type { RequestInfo } from "../request/request-info.ts";
import type { SpanAttributes, TraceHeaders, Tracing } from "../tracing/tracing.ts";
import { type ApiRequest, headerOf } from "../transport/api-request.ts";
import { afterResponse } from "../transport/api-response.ts";
import type { RequestState } from "./request-state.ts";
import type { Filter } from "./run-filters.ts";

export function withTracing(deps: {
  /** Absent: no tracing. */
  readonly tracing?: Tracing | undefined;
}): Filter {
  const { tracing } = deps;
  if (tracing === undefined) return {};
  return {
    async around(call, next) {
      const { request, info, redact = (text: string) => text } = call;
      const isKnown = info.isResourceRequest && call.isServed(info);
      const span = tracing.start({
        name: isKnown ? `${info.verb} ${info.resource}` : request.method,
        kind: "server",
        attributes: { ...attributesOf(call, redact), ...(isKnown ? resourceAttributes(info, redact) : {}) },
        parent: parentOf(request, redact),
      });
      try {
        const response = await span.within(() => next(call));
        span.set({ "http.response.status_code": response.status });
        if (response.status >= 500) span.fail(String(response.status));
        return afterResponse(response, () => span.end());
      } catch (error) {
        span.fail("panic");
        span.end();
        throw error;
      }
    },
  };
}

/** Client headers would be exported with the trace: credentials in them are left out. */
function parentOf(request: ApiRequest, redact: Redact): TraceHeaders {
  const isSafe = (text: string): boolean => redact(text) === text;
  const [traceparent, tracestate] = [headerOf(request, "traceparent"), headerOf(request, "tracestate")];
  // A chosen value may be of hexadecimal digits alone, and no dash ends one.
  if (traceparent === "" || ![traceparent, ...traceparent.split("-")].every(isSafe)) return {};
  return tracestate !== "" && isSafe(tracestate) ? { traceparent, tracestate } : { traceparent };
}

/** Without the query, which may contain secrets, and without the user: the audit log has it. */
const attributesOf = ({ request, audit }: RequestState, redact: Redact): SpanAttributes => ({
  "http.request.method": request.method,
  "url.scheme": "https",
  // It has no credential in it any more.
  "url.path": textBefore(request.requestUri, "?"),
  "network.protocol.version": request.httpVersion === "2.0" ? "2" : request.httpVersion,
  "client.address": request.remoteAddress,
  "user_agent.original": headerOf(request, "user-agent"),
  "k8s.audit_id": redact(audit.auditId),
});

const resourceAttributes = (info: RequestInfo, redact: Redact): SpanAttributes => ({
  "k8s.verb": info.verb,
  "k8s.api_group": info.apiGroup,
  "k8s.resource": info.resource,
  ...(info.subresource === "" ? {} : { "k8s.subresource": redact(info.subresource) }),
  ...(info.namespace === "" ? {} : { "k8s.namespace.name": redact(info.namespace) }),
});
