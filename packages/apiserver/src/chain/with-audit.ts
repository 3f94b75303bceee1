// Assigns an audit ID to every request, and records it.
// Source: k8s.io/apiserver/pkg/endpoints/filters/{audit,audit_init}.go

import { internalError, isApiError } from "@postern/apimachinery/meta/api-error";
import { type AuditOptions, DEFAULT_MAX_BODY_LENGTH, redactionByDefault } from "../audit/audit-backend.ts";
import type { AuditEvent } from "../audit/audit-event.ts";
import { createAuditRecorder } from "../audit/audit-recorder.ts";
import { truncated } from "../audit/recorded-body.ts";
import { errorResponse } from "../endpoints/negotiation/error-response.ts";
import type { Logger } from "../logging/logger.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import { type Awaitable, whenDone } from "../runtime/awaitable.ts";
import type { Clock, Random } from "../runtime/clock.ts";
import { type ApiResponse, afterResponse } from "../transport/api-response.ts";
import { discardResponse } from "../transport/discard-response.ts";
import type { Filter, RequestState } from "./request-state.ts";

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
  const options = { clock, policy, write, redaction, maxBodyLength };
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
          await discardResponse(response.body);
          if (!isApiError(error)) throw error;
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

// Hands events to the sink, and decides what it means when that fails.

type AuditObserver = { auditEvent(level: AuditEvent["level"]): void; auditError(): void };

/** The function that recorders write through. */
function createAuditWriter(
  { sink, mode, maxBodyLength = DEFAULT_MAX_BODY_LENGTH }: Pick<AuditOptions, "sink" | "mode" | "maxBodyLength">,
  observer: AuditObserver,
  logger: Logger,
): (event: AuditEvent) => Promise<void> | void {
  const onError = ({ auditID: auditId }: AuditEvent, error: unknown): void => {
    observer.auditError();
    logger.error({ error, auditId, component: "audit" }, "audit event could not be written");
  };
  const bounded = (event: AuditEvent): AuditEvent =>
    event.requestObject === undefined && event.responseObject === undefined ? event : truncated(event, maxBodyLength);
  const attempt = async (event: AuditEvent): Promise<void> => {
    try {
      observer.auditEvent(event.level);
      await sink.write(bounded(event));
    } catch (error) {
      onError(event, error);
      if (mode === "blocking-strict") throw internalError("the request could not be recorded", error);
    }
  };
  if (mode !== "batch") return attempt;
  if (sink.writeSoon === undefined) return (event) => void attempt(event);
  return (event) => {
    observer.auditEvent(event.level);
    sink.writeSoon?.(bounded(event), (error) => onError(event, error));
  };
}

// The identifier that ties a response, its log lines and its audit events together.

/** Identifiers that a client may choose: short, and harmless in headers and logs. */
const ACCEPTABLE = /^[\w.:-]{1,64}$/;
const UUID_BYTES = 16;
const UUIDS_PER_DRAW = 64;

/** Gives the identifier of a request: the client's own where it sent an acceptable one, else a new UUID. */
export function createAuditIds(random: Random): (sent: string) => string {
  let pool: Uint8Array = new Uint8Array(0);
  let at = 0;
  return (sent) => {
    if (ACCEPTABLE.test(sent)) return sent;
    if (at >= pool.length) {
      // Randomness in bulk costs a fraction of the same by the piece.
      pool = random.bytes(UUID_BYTES * UUIDS_PER_DRAW);
      at = 0;
    }
    const bytes = pool.subarray(at, at + UUID_BYTES);
    at += UUID_BYTES;
    return formatUuid(bytes);
  };
}

/** RFC 9562, version 4. */
function formatUuid(bytes: Uint8Array): string {
  const marked = Buffer.from(bytes);
  marked[6] = ((marked[6] ?? 0) & 0x0f) | 0x40;
  marked[8] = ((marked[8] ?? 0) & 0x3f) | 0x80;
  const hex = marked.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
