// What a stage of request handling is: a function from a context to a response. Filters wrap one handler into another.

import type { AuditContext } from "../audit/audit-context.ts";
import type { Credential } from "../authentication/authenticator.ts";
import type { UserInfo } from "../authentication/user-info.ts";
import type { OuterAuthorizer } from "../authorization/authorizer.ts";
import type { OpenRequest } from "../authorization/open-requests.ts";
import type { Redact } from "../request/redaction.ts";
import type { RequestInfo } from "../request/request-info.ts";
import type { ApiRequest } from "../transport/api-request.ts";
import type { ApiResponse } from "../transport/api-response.ts";

/** Collects the texts that become `Warning: 299` headers. Duplicates are dropped; the caps of Kubernetes apply. */
export type WarningRecorder = { add(text: string): void; readonly texts: readonly string[] };

/** Everything known about a request so far. Filters pass a copy with more in it to the next one. */
export type RequestContext = {
  readonly request: ApiRequest;
  readonly info: RequestInfo;
  /** Anonymous until authentication has run. After impersonation this is who is impersonated. */
  readonly user: UserInfo;
  /** Who proved to be there, whoever is impersonated. Absent: `user`. */
  readonly caller?: UserInfo | undefined;
  readonly credential?: Credential | undefined;
  /**
   * Who let a request pass on its way to a surface that lies behind another: asked again, beside the surface's own authorizer, where the
   * request turns out to do more than its verb says, such as giving rights away. It knows the caller itself, and what of the surface its
   * credential opens. Absent: the surface was reached directly.
   */
  readonly outerAuthorizer?: OuterAuthorizer | undefined;
  /** Takes the decisions that a request which lasts was let in by, so that they are made again. Absent: it does not last. */
  readonly open?: OpenRequest | undefined;
  /** Takes credentials out of texts that the client sent. Absent: those that are known by their form. */
  readonly redact?: Redact;
  readonly warnings: WarningRecorder;
  readonly audit: AuditContext;
  /** Client gone, deadline passed, credential revoked, or server stopping: whichever comes first. */
  readonly signal: AbortSignal;
  /** Milliseconds since the epoch at which the request arrived. */
  readonly receivedAt: number;
};

/** Answers a request or throws an ApiError, which `withErrors` turns into a Status. */
export type Handler = (context: RequestContext) => Promise<ApiResponse>;
