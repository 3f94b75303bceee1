// The port that takes audit events.

import type { AuditEvent } from "./audit-event.ts";

export type AuditSink = {
  /** Takes the event over. Resolves once it is as safe as the sink promises; a rejection is handled by policy, not by the caller. */
  write(event: AuditEvent): Promise<void> | void;
  /** Like write, but without waiting: events of some milliseconds are written together. Absent: they are written one by one. */
  writeSoon?(event: AuditEvent, onError: (error: unknown) => void): void;
  [Symbol.asyncDispose](): Promise<void>;
};
