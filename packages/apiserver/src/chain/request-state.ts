// The state of one request in the handler chain. Filters write their results into it; handlers read them.

import type { AuditContext } from "../audit/audit-context.ts";
import type { AuditRecorder } from "../audit/audit-recorder.ts";
import type { Credential } from "../authentication/authenticator.ts";
import { anonymousUser, type UserInfo } from "../authentication/user-info.ts";
import type { LongRunningRequest } from "../authorization/long-running-requests.ts";
import { RequestContext, type WarningRecorder } from "../context/request-context.ts";
import { type LongWork, WorkParts } from "../limits/long-work.ts";
import type { Redact } from "../request/credential-redaction.ts";
import type { RequestInfo, ResolvedRequest } from "../request/request-info.ts";
import type { ApiRequest } from "../transport/api-request.ts";

export type ServedInfo = Pick<RequestInfo, "apiGroup" | "apiVersion" | "resource" | "subresource">;

export class RequestState extends RequestContext {
  declare request: ApiRequest;
  declare user: UserInfo;
  declare caller: UserInfo;
  declare credential: Credential | undefined;
  declare open: (LongRunningRequest & Disposable) | undefined;
  declare audit: AuditContext;
  readonly startedAt: number;
  readonly isServed: (info: ServedInfo) => boolean;
  /** Set where the request is recorded. */
  recorder: AuditRecorder | undefined = undefined;
  /** The public handle of the credential that authentication refused, where it is known. */
  refusedCredentialId: string | undefined = undefined;
  /** Places that it holds while it is worked on. */
  place: Disposable | undefined = undefined;
  body: Disposable | undefined = undefined;
  /** Places that are given from now on are given back at once: it has left those that are worked on. */
  hasLeft = false;

  constructor(deps: {
    readonly request: ApiRequest;
    readonly resolved: ResolvedRequest;
    readonly redact: Redact;
    readonly warnings: WarningRecorder;
    /** Whether a resource exists where it goes. Metrics and logs name no others. */
    readonly isServed: (info: ServedInfo) => boolean;
    readonly longWork: LongWork;
    /** Under which it is logged and recorded. */
    readonly auditId: string;
    /** Milliseconds since the epoch. */
    readonly receivedAt: number;
    /** The same by the monotonic clock. */
    readonly startedAt: number;
  }) {
    const { request, resolved, redact, warnings, isServed, longWork, auditId, receivedAt, startedAt } = deps;
    super({
      request,
      info: resolved.info,
      user: anonymousUser,
      redact,
      isLongRunning: resolved.isLongRunning,
      innerRequest: resolved.innerRequest,
      work: new WorkParts(longWork),
      warnings,
      audit: new Unrecorded(auditId),
      receivedAt,
    });
    this.startedAt = startedAt;
    this.isServed = isServed;
  }
}

/** The audit context until the audit filter has set a recorder. */
class Unrecorded implements AuditContext {
  readonly auditId: string;

  constructor(auditId: string) {
    this.auditId = auditId;
  }

  annotate(): void {}
  setUser(): void {}
  setImpersonatedUser(): void {}
  setObjectRef(): void {}
  setRequestObject(): void {}
}
