// The search of the audit log.

import type { AuditRecord } from "@postern/apimachinery/audit/audit-record";
import type { ApiClient } from "@postern/client/api-client";

export const AUDIT_PATH = "/audit/events";

/** Counts of all that a search finds, for equal parts of the time: the response has them if `parts` is requested. */
export type AuditCounts = {
  /** RFC 3339. */
  readonly from: string;
  readonly until: string;
  /** Oldest first. */
  readonly requests: readonly number[];
  readonly refused: readonly number[];
  /** The most frequent first. */
  readonly sources: readonly { readonly sourceIP: string; readonly requests: number; readonly refused: number }[];
  /** How many more addresses there are. */
  readonly moreSources: number;
};

/** The response of the route, newest record first. */
export type AuditAnswer = {
  readonly items: readonly AuditRecord[];
  readonly isTruncated: boolean;
  readonly counts?: AuditCounts;
};

/** A server runs one search at a time; the client waits for its turn. Rejects with an ApiError. */
export const searchAudit = async (
  client: ApiClient,
  query: { readonly [parameter: string]: string },
  signal: AbortSignal,
): Promise<AuditAnswer> =>
  // The route answers in this shape.
  (await client.request({ method: "GET", path: AUDIT_PATH, query: { ...query }, signal })) as AuditAnswer;
