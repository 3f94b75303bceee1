// Audit events of what a controller does by itself or for a user: no request of a client stands behind it, and it is recorded as the one that would be sent.

import { type AuditOptions, DEFAULT_MAX_BODY_LENGTH, redactionByDefault } from "../audit/audit-backend.ts";
import { createAuditRecorder } from "../audit/audit-recorder.ts";
import type { RequestContext } from "../context/request-context.ts";
import type { Logger } from "../logging/logger.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import type { Runtime } from "../runtime/clock.ts";
import { newUid } from "../runtime/new-uid.ts";
import { createAuditWriter } from "./audit-writer.ts";
import { AUDIT_CREDENTIAL } from "./with-authentication.ts";

/**
 * Runs the work in a context that audits, and writes an event with a code of success when it is done; none for work that rejects. Rejects with ApiError 500 where
 * nothing may go unrecorded and the event could not be written: the work is done then.
 */
export type ControllerAudit = <T>(
  context: RequestContext,
  recorded: {
    /** The path that a client would send it to. */
    readonly requestUri: string;
    /** Default: 201. */
    readonly code?: 200 | 201;
    /** Default: none. */
    readonly annotations?: { readonly [key: string]: string };
  },
  /** Resolves with undefined where nothing was done: there is no event then. */
  work: (audited: RequestContext) => Promise<T>,
) => Promise<T>;

export function createControllerAudit(
  audit: AuditOptions,
  {
    runtime: { clock, random },
    logger,
    metrics,
  }: {
    readonly runtime: Pick<Runtime, "clock" | "random">;
    readonly logger: Logger;
    readonly metrics: Pick<ServerMetrics, "auditEvent" | "auditError">;
  },
): ControllerAudit {
  const write = createAuditWriter(audit, metrics, logger);
  const { policy, redaction = redactionByDefault, maxBodyLength = DEFAULT_MAX_BODY_LENGTH } = audit;
  return async (context, { requestUri, code = 201, annotations = {} }, work) => {
    const { info, user, credential } = context;
    const request = context.request.with({ requestUri });
    const recorder = createAuditRecorder(
      newUid(random),
      { request, info, receivedAt: clock.now() },
      { clock, policy, write, redaction, maxBodyLength },
    );
    recorder.setUser(user);
    if (credential !== undefined) recorder.annotate(AUDIT_CREDENTIAL, credential.id);
    for (const [key, value] of Object.entries(annotations)) recorder.annotate(key, value);
    const result = await work(context.with({ audit: recorder }));
    if (result !== undefined) await recorder.responseComplete(code);
    return result;
  };
}
