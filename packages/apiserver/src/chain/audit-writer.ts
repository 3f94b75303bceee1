// Writes audit events to the sink, and decides what a failure of the sink means for the request.

import { internalError } from "@postern/apimachinery/meta/api-error";
import { type AuditOptions, DEFAULT_MAX_BODY_LENGTH } from "../audit/audit-backend.ts";
import type { AuditEvent } from "../audit/audit-event.ts";
import { truncated } from "../audit/recorded-body.ts";
import type { Logger } from "../logging/logger.ts";

type AuditObserver = { auditEvent(level: AuditEvent["level"]): void; auditError(): void };

/** The function that recorders write through. */
export function createAuditWriter(
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

/** Counts events that the sink leaves out. Undefined where a request waits for its event, and where nothing is left out. */
export function createAuditCounter(
  { sink, mode }: Pick<AuditOptions, "sink" | "mode">,
  observer: Pick<AuditObserver, "auditEvent">,
): ((event: AuditEvent) => boolean) | undefined {
  if (mode !== "batch" || sink.countOnly === undefined) return undefined;
  return (event) => {
    const isCounted = sink.countOnly?.(event) === true;
    if (isCounted) observer.auditEvent(event.level);
    return isCounted;
  };
}
