// Assigns an audit ID to every request, and records it.
// Source: k8s.io/apiserver/pkg/endpoints/filters/{audit,audit_init}.go

import { isApiError } from "@postern/apimachinery/meta/api-error";
import { type AuditOptions, DEFAULT_MAX_BODY_LENGTH, redactionByDefault } from "../audit/audit-backend.ts";
import { createAuditRecorder } from "../audit/audit-recorder.ts";
import { errorResponse } from "../endpoints/negotiation/error-response.ts";
import type { Logger } from "../logging/logger.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import { type Awaitable, whenDone } from "../runtime/awaitable.ts";
import type { Clock } from "../runtime/clock.ts";
import { type ApiResponse, afterResponse } from "../transport/api-response.ts";
import { discardResponse } from "../transport/discard-response.ts";
import { createAuditCounter, createAuditWriter } from "./audit-writer.ts";
import type { RequestState } from "./request-state.ts";
import type { Filter } from "./run-filters.ts";

export type AuditDeps = {
  readonly audit?: AuditOptions | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: ServerMetrics;
};

/** Nothing behind it may fail. */
export function withAudit({ audit, clock, logger, metrics }: AuditDeps): Filter {
  if (audit === undefined) return { leave: named };
  const write = createAuditWriter(audit, metrics, logger);
  const { policy, redaction = redactionByDefault, maxBodyLength = DEFAULT_MAX_BODY_LENGTH } = audit;
  const countOnly = createAuditCounter(audit, metrics);
  const options = { clock, policy, write, countOnly, redaction, maxBodyLength };
  return {
    enter(call) {
      const { innerRequest } = call;
      const recorder = createAuditRecorder(call.audit.auditId, call, options);
      if (innerRequest !== undefined)
        for (const key in innerRequest.annotations) recorder.annotate(key, innerRequest.annotations[key] ?? "");
      call.audit = recorder;
      call.recorder = recorder;
      return undefined;
    },
    leave(response, call) {
      const isRecorded = record(response, call);
      if (!(isRecorded instanceof Promise)) return named(isRecorded, call);
      return isRecorded.then(
        (sent) => named(sent, call),
        async (error) => {
          if (!isApiError(error)) throw error;
          await discardResponse(response.body);
          return named(errorResponse(call.request, error), call);
        },
      );
    },
  };
}

/** Placed after authentication. */
export const withAuditOfArrival = ({ audit }: Pick<AuditDeps, "audit">): Filter =>
  audit === undefined
    ? {}
    : {
        enter(call) {
          const written = call.recorder?.requestReceived();
          return written instanceof Promise ? written.then(() => undefined) : undefined;
        },
      };

function record(response: ApiResponse, { recorder, isLongRunning }: RequestState): Awaitable<ApiResponse> {
  if (recorder === undefined) return response;
  const { status, body } = response;
  if (body.type === "bytes") {
    recorder.responseSent(response);
    const written = recorder.responseComplete(status);
    return written instanceof Promise ? written.then(() => response) : response;
  }
  const started = isLongRunning ? recorder.responseStarted(status) : undefined;
  return whenDone(started, () =>
    afterResponse(response, () => {
      // The response is out: a failure to write was logged and can change nothing any more.
      void Promise.resolve(recorder.responseComplete(status)).catch(() => undefined);
    }),
  );
}

const named = ({ status, headers, body }: ApiResponse, { audit }: RequestState): ApiResponse => ({
  status,
  headers: { ...headers, "audit-id": audit.auditId },
  body,
});
