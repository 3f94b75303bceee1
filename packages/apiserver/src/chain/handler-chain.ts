// What every request passes through, in one table.
// Source: k8s.io/apiserver/pkg/server/config.go (DefaultBuildHandlerChain)

import { type ApiError, badRequestError, isApiError } from "@postern/apimachinery/meta/api-error";
import type { AuditOptions } from "../audit/audit-backend.ts";
import type { AuditContext } from "../audit/audit-context.ts";
import { createAuditIds } from "../audit/audit-id.ts";
import type { Authenticator } from "../authentication/authenticator.ts";
import { anonymousUser } from "../authentication/user-info.ts";
import type { Authorizer } from "../authorization/authorizer.ts";
import { OpenRequests } from "../authorization/open-requests.ts";
import { DEFAULT_LIMITS } from "../endpoints/endpoint-context.ts";
import type { Logger } from "../logging/logger.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import { isLongRunning, type LongRunningCheck } from "../request/long-running.ts";
import { type IsCredential, type Redact, redactionOf } from "../request/redaction.ts";
import type { RequestInfo } from "../request/request-info.ts";
import { nonResourceInfo, resolveRequestInfo } from "../request/request-info-resolver.ts";
import { safeRequestUri } from "../request/safe-request-uri.ts";
import type { Runtime } from "../runtime/clock.ts";
import { type ApiRequest, headerOf } from "../transport/api-request.ts";
import type { ApiHandler } from "../transport/serve-exchange.ts";
import { createFairShares, DEFAULT_FAIR_SHARES, type FairShares } from "./fair-shares.ts";
import type { Handler, RequestContext } from "./handler.ts";
import type { RateLimiter } from "./rate-limiter.ts";
import { createWarningRecorder } from "./warning-recorder.ts";
import { type AuditedAs, withAudit, withAuditOfArrival } from "./with-audit.ts";
import { withAuthentication } from "./with-authentication.ts";
import { type QuestionOf, withAuthorization } from "./with-authorization.ts";
import { withErrors } from "./with-errors.ts";
import { type WithFlowControlDeps, withFlowControl } from "./with-flow-control.ts";
import { type ImpersonationOptions, withImpersonation } from "./with-impersonation.ts";
import { withLongRunning } from "./with-long-running.ts";
import { withPanicRecovery } from "./with-panic-recovery.ts";
import { type RateLimits, withCredentialRateLimit, withSourceRateLimit } from "./with-rate-limit.ts";
import { withRequestDeadline } from "./with-request-deadline.ts";
import { withRequestLog } from "./with-request-log.ts";
import { withRequestMetrics } from "./with-request-metrics.ts";
import { withTracing } from "./with-tracing.ts";
import { withWarnings } from "./with-warnings.ts";

export type HandlerChainDeps = {
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly metrics: ServerMetrics;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  /** What is asked about requests whose paths alone do not tell. Default: what they ask for, of `authorizer`. */
  readonly questionOf?: QuestionOf;
  /** Gives refusals of authorization and of what is behind it another form, where clients need one. Default: none. */
  readonly withRefusals?: Filter;
  /** Absent: nothing is recorded. */
  readonly audit?: AuditOptions;
  /** As what requests are recorded. Default: as their paths say. */
  readonly auditedAs?: AuditedAs;
  /** Shared by all chains of a server. Default: those of this chain alone, with the default limits. */
  readonly shares?: FairShares;
  readonly isUrgent?: WithFlowControlDeps["isUrgent"];
  /** Bytes of a request body. */
  readonly bodyBytes?: number;
  /** Wrong credentials that a source address may send before its refusals are held back. Absent: any number. */
  readonly failedLogins?: RateLimiter | undefined;
  /** Absent: nobody is limited. */
  readonly rateLimits?: RateLimits;
  /** Default 60 seconds. */
  readonly requestTimeoutMs?: number;
  readonly isLongRunning?: LongRunningCheck;
  /** Shared with other chains. Absent: the chain has its own. */
  readonly openRequests?: OpenRequests;
  /** Requests whose impersonation `next` decides about. Absent: none. */
  readonly leavesImpersonation?: ImpersonationOptions["leavesImpersonation"];
  /** Whether a text is a credential that has no form of its own. Default: none is. */
  readonly isCredential?: IsCredential | undefined;
  /** Whether a resource exists here. Metrics name no others, of which anybody could make up any number. */
  readonly isServed: (info: RequestInfo) => boolean;
};

const DEFAULT_REQUEST_TIMEOUT_MS = 60_000;

type Filter = (next: Handler) => Handler;

/** The result never rejects. */
export function createHandlerChain(next: Handler, options: HandlerChainDeps): ApiHandler {
  const { clock, random, scheduler } = options.runtime;
  const deps = {
    shares: options.shares ?? createFairShares(DEFAULT_FAIR_SHARES, { clock, scheduler }),
    bodyBytes: DEFAULT_LIMITS.bodyBytes,
    rateLimits: {},
    withRefusals: (handler: Handler) => handler,
    requestTimeoutMs: DEFAULT_REQUEST_TIMEOUT_MS,
    isLongRunning,
    openRequests: options.openRequests ?? new OpenRequests({ clock, scheduler }),
    ...options,
    clock,
    scheduler,
  };
  // In the order of the request: the first sees it first, and its response last.
  // biome-ignore format: a table
  const outer: readonly Filter[] = [
    (handler) => withRequestMetrics  (handler, deps),
    (handler) => withRequestLog      (handler, deps),
    (handler) => withAudit           (handler, deps),
    (handler) => withPanicRecovery   (handler, deps),
  ];
  // The RequestInfo is made before all of them, since they speak in its terms; a path that has none is refused here.
  // biome-ignore format: a table
  const inner: readonly Filter[] = [
    (handler) => withRequestDeadline (handler, deps),
    (handler) => withWarnings        (handler),
    (handler) => withErrors          (handler),
    (handler) => withSourceRateLimit (handler, deps),
    (handler) => withAuthentication  (handler, deps),
    (handler) => withCredentialRateLimit(handler, deps),
    (handler) => withAuditOfArrival  (handler, deps),
    (handler) => withTracing         (handler),
    (handler) => withLongRunning     (handler, deps),
    (handler) => withImpersonation   (handler, deps),
    (handler) => deps.withRefusals   (handler),
    (handler) => withAuthorization   (handler, deps),
    (handler) => withFlowControl     (handler, deps),
  ];
  const handle = compose([...outer, ...inner], next);
  const auditIdOf = createAuditIds(random);
  return (received) => {
    const redact = redactionOf(received, options.isCredential);
    const request = withSafeTexts(received, redact);
    const { info, refusal = refusalOfNames(request, redact) } = requestInfoOf(request);
    // With all members from the start: copies that only put other values in cost a quarter of those that add members.
    const context: RequestContext = {
      request,
      info,
      user: anonymousUser,
      caller: anonymousUser,
      credential: undefined,
      outerAuthorizer: undefined,
      redact,
      open: undefined,
      warnings: createWarningRecorder(redact),
      audit: unrecorded(auditIdOf(redact(headerOf(request, "audit-id")))),
      signal: request.signal,
      receivedAt: clock.now(),
    };
    return refusal === undefined ? handle(context) : compose(outer, () => Promise.reject(refusal))(context);
  };
}

const compose = (filters: readonly Filter[], last: Handler): Handler =>
  filters.reduceRight((handler, filter) => filter(handler), last);

function requestInfoOf(request: ApiRequest): { readonly info: RequestInfo; readonly refusal?: ApiError } {
  const { method, path, query } = request;
  try {
    return { info: resolveRequestInfo(method, path, query) };
  } catch (error) {
    if (!isApiError(error)) throw error;
    return { info: nonResourceInfo(method, path), refusal: error };
  }
}

/**
 * What logs, traces, audit events and field managers take from a request, before any of them sees it: the URI as it was sent, which
 * nothing is decided by, and the agent, whose start names a field manager.
 */
function withSafeTexts(request: ApiRequest, redact: Redact): ApiRequest {
  const agent = headerOf(request, "user-agent");
  const safeAgent = redact(agent);
  const requestUri = safeRequestUri(request.requestUri, redact);
  if (safeAgent === agent) return { ...request, requestUri };
  return { ...request, requestUri, headers: { ...request.headers, "user-agent": safeAgent } };
}

/** They would be stored with objects, for everybody to read. */
function refusalOfNames({ query, headers }: ApiRequest, redact: Redact): ApiError | undefined {
  const isSafe = (text: string): boolean => redact(text) === text;
  if (!query.getAll("fieldManager").every(isSafe))
    return badRequestError("the field manager must not be an access key or another credential");
  const named = Object.entries(headers).filter(([name]) => name.startsWith("impersonate-"));
  if (!named.flatMap(([, value]) => value ?? []).every(isSafe))
    return badRequestError("nobody is named after an access key or another credential");
  return undefined;
}

const ignore = (): void => undefined;

/** What is in the context until `withAudit` has put a recorder there. */
const unrecorded = (auditId: string): AuditContext => ({
  auditId,
  annotate: ignore,
  setUser: ignore,
  setImpersonatedUser: ignore,
  setObjectRef: ignore,
  setRequestObject: ignore,
});
