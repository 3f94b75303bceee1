// The port that takes audit events.

import type { AuditLine } from "./audit-chain.ts";
import type { AuditEvent } from "./audit-event.ts";
import type { FileShares } from "./file-shares.ts";

export type AuditSink = {
  /** Takes the event over. Resolves once it is as safe as the sink promises; a rejection is handled by policy, not by the caller. */
  write(event: AuditEvent): Promise<void> | void;
  /** Like write, but without waiting: events of some milliseconds are written together. Absent: they are written one by one. */
  writeSoon?(event: AuditEvent, onError: (error: unknown) => void): void;
  /**
   * Counts an event that the log would leave out, so that it need not be made fit to be written; only its client, times and ID are kept. False: it has to
   * be written, and the sink decides then. Absent: nothing is left out.
   */
  countOnly?(event: AuditEvent): boolean;
  /** Other threads count events by it. Absent: nothing is left out. */
  readonly shares?: Pick<FileShares, "version" | "isLeftOut" | "addCounted">;
  /** Like write, for events whose JSON was made in another thread. Absent: this sink gets none. */
  writeLines?(lines: readonly AuditLine[]): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
};
