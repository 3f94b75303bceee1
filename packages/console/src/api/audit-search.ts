// The search of the audit log.

import type { AuditRecord } from "@postern/apimachinery/audit/audit-record";

export const AUDIT_PATH = "/audit/events";

/** The response of the route, newest record first. */
export type AuditAnswer = { readonly items: readonly AuditRecord[]; readonly isTruncated: boolean };
