// Records every request, and gives it the identifier under which it is recorded.
// Source: k8s.io/apiserver/pkg/endpoints/filters/{audit,audit_init}.go

import { isApiError } from "@postern/apimachinery/meta/api-error";
import {
  type AuditOptions,
  createAuditWriter,
  DEFAULT_MAX_BODY_LENGTH,
  redactionByDefault,
} from "../audit/audit-backend.ts";
import { type AuditRecorder, createAuditRecorder } from "../audit/audit-recorder.ts";
import { errorResponse } from "../endpoints/negotiation/error-response.ts";
import type { Logger } from "../logging/logger.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import type { LongRunningCheck } from "../request/long-running.ts";
import type { RequestInfo } from "../request/request-info.ts";
import type { Clock } from "../runtime/clock.ts";
import type { ApiRequest } from "../transport/api-request.ts";
import { type ApiResponse, withHeaders } from "../transport/api-response.ts";
import { discardResponse } from "../transport/discard-response.ts";
import { afterResponse } from "./after-response.ts";
import type { Handler } from "./handler.ts";

/** As what a request is recorded, where its path alone does not tell. */
export type AuditedAs = (
  request: ApiRequest,
  info: RequestInfo,
) => { readonly info: RequestInfo; readonly annotations?: { readonly [key: string]: string } };

export type WithAuditDeps = {
  readonly auditedAs?: AuditedAs | undefined;
  readonly audit?: AuditOptions | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: ServerMetrics;
  readonly isLongRunning: LongRunningCheck;
};

/** `next` must not reject. */
export function withAudit(
  next: Handler,
  { audit, auditedAs, clock, logger, metrics, isLongRunning }: WithAuditDeps,
): Handler {
  if (audit === undefined) return async (context) => named(await next(context), context.audit.auditId);
  const write = createAuditWriter(audit, metrics, logger);
  const { policy, redaction = redactionByDefault, maxBodyLength = DEFAULT_MAX_BODY_LENGTH } = audit;
  const options = { clock, policy, write, redaction, maxBodyLength };
  return async (context) => {
    const { request, info } = context;
    const { auditId } = context.audit;
    const audited = auditedAs?.(request, info) ?? { info };
    const recorder = createAuditRecorder(auditId, { ...context, info: audited.info, outerInfo: info }, options);
    for (const [key, value] of Object.entries(audited.annotations ?? {})) recorder.annotate(key, value);
    const response = await next({ ...context, audit: recorder });
    try {
      return named(await recorded(response, recorder, isLongRunning(request, info)), auditId);
    } catch (error) {
      await discardResponse(response.body);
      if (!isApiError(error)) throw error;
      return named(errorResponse(request, error), auditId);
    }
  };
}

/** Stands where it is known who asks. */
export function withAuditOfArrival(next: Handler, { audit }: Pick<WithAuditDeps, "audit">): Handler {
  if (audit === undefined) return next;
  return async (context) => {
    await context.audit.requestReceived?.();
    return next(context);
  };
}

async function recorded(response: ApiResponse, recorder: AuditRecorder, longRunning: boolean): Promise<ApiResponse> {
  const { status, body } = response;
  if (body.type === "bytes") {
    recorder.responseSent(response);
    await recorder.responseComplete(status);
    return response;
  }
  if (longRunning) await recorder.responseStarted(status);
  return afterResponse(response, () => {
    // The response is out: a failure to write was logged and can change nothing any more.
    void Promise.resolve(recorder.responseComplete(status)).catch(() => undefined);
  });
}

const named = (response: ApiResponse, auditId: string): ApiResponse => withHeaders(response, { "audit-id": auditId });
