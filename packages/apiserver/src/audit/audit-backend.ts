// Hands audit events to the sink, and decides what it means when that fails.

import { internalError } from "@postern/apimachinery/meta/api-error";
import type { Logger } from "../logging/logger.ts";
import type { RequestInfo } from "../request/request-info.ts";
import type { AuditEvent } from "./audit-event.ts";
import type { AuditPolicy } from "./audit-policy.ts";
import type { AuditSink } from "./audit-sink.ts";

/**
 * `blocking`: nothing is answered that could not be recorded. The event is written before the response is sent; when that fails, the
 * client gets a 500 instead, also where a change has already been made. `ignore`: requests never wait, failures are logged and counted.
 */
export type AuditFailureMode = "blocking" | "ignore";

export type AuditOptions = {
  readonly policy: AuditPolicy;
  readonly sink: AuditSink;
  readonly failureMode: AuditFailureMode;
  /** Default: `bearsSecretsByDefault`. */
  readonly bearsSecrets?: (info: RequestInfo) => boolean;
};

export type AuditObserver = { auditEvent(level: AuditEvent["level"]): void; auditError(): void };

/** The function that recorders write through. */
export function createAuditWriter(
  { sink, failureMode }: Pick<AuditOptions, "sink" | "failureMode">,
  observer: AuditObserver,
  logger: Logger,
): (event: AuditEvent) => Promise<void> | void {
  const attempt = async (event: AuditEvent): Promise<void> => {
    try {
      observer.auditEvent(event.level);
      await sink.write(event);
    } catch (error) {
      observer.auditError();
      logger.error({ error, auditId: event.auditID, component: "audit" }, "audit event not written");
      if (failureMode === "blocking") throw internalError("the request could not be recorded", error);
    }
  };
  if (failureMode === "blocking") return attempt;
  return (event) => void attempt(event);
}

const SECRET_RESOURCES: ReadonlySet<string> = new Set(["secrets", "serviceaccounts/token", "tokenreviews"]);

/** The resources of Kubernetes itself whose bodies hold credentials. */
export const bearsSecretsByDefault = ({ resource, subresource }: RequestInfo): boolean =>
  SECRET_RESOURCES.has(resource) || SECRET_RESOURCES.has(`${resource}/${subresource}`);
