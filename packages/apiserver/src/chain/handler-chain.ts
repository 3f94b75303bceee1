// The filters of every request, in one table.
// Source: k8s.io/apiserver/pkg/server/config.go (DefaultBuildHandlerChain)

import { type ApiError, badRequestError } from "@postern/apimachinery/meta/api-error";
import { safeRequestUri } from "@postern/apimachinery/text/safe-request-uri";
import type { AuditOptions } from "../audit/audit-backend.ts";
import type { Authenticator } from "../authentication/authenticator.ts";
import type { Authorizer } from "../authorization/authorizer.ts";
import { LongRunningRequests } from "../authorization/long-running-requests.ts";
import type { Handler } from "../context/request-context.ts";
import { DEFAULT_LIMITS } from "../endpoints/endpoint-context.ts";
import { createFairShares, DEFAULT_FAIR_SHARES, type FairShares } from "../limits/fair-shares.ts";
import { createLongWork, type LongWork } from "../limits/long-work.ts";
import type { RateLimiter } from "../limits/rate-limiter.ts";
import type { Logger } from "../logging/logger.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import { type ChosenCredentials, type Redact, redactionOf } from "../request/credential-redaction.ts";
import { type ResolvedRequest, resolveRequest } from "../request/request-info.ts";
import type { Awaitable } from "../runtime/awaitable.ts";
import type { Runtime } from "../runtime/clock.ts";
import type { Tracing } from "../tracing/tracing.ts";
import { type ApiRequest, headerOf } from "../transport/api-request.ts";
import type { ApiResponse } from "../transport/api-response.ts";
import { auditIdOf } from "./audit-id-of.ts";
import type { RequestObserver } from "./request-observer.ts";
import { RequestState, type ServedInfo } from "./request-state.ts";
import { type CallHandler, type Filter, runFilters } from "./run-filters.ts";
import { withAudit, withAuditOfArrival } from "./with-audit.ts";
import { withAuthentication } from "./with-authentication.ts";
import { type QuestionOf, withAuthorization } from "./with-authorization.ts";
import { type ErrorResponse, withErrors } from "./with-errors.ts";
import { release, type WithFlowControlDeps, withFlowControl } from "./with-flow-control.ts";
import { type ImpersonationOptions, withImpersonation } from "./with-impersonation.ts";
import { withLongRunning } from "./with-long-running.ts";
import { withPanicRecovery } from "./with-panic-recovery.ts";
import { type RateLimits, withCredentialRateLimit, withSourceRateLimit } from "./with-rate-limit.ts";
import { withRequestDeadline } from "./with-request-deadline.ts";
import { withRequestLog } from "./with-request-log.ts";
import { withRequestMetrics } from "./with-request-metrics.ts";
import { withTracing } from "./with-tracing.ts";
import { createWarningRecorder, withWarnings } from "./with-warnings.ts";

export type HandlerChainDeps = {
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly metrics: ServerMetrics;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  /** The question to the authorizer for requests whose path alone does not tell. Default: that of the path, for `authorizer`. */
  readonly questionOf?: QuestionOf;
  /** The response to an error, for clients of another protocol. Default: a Status. */
  readonly errorResponse?: ErrorResponse;
  /** Converts errors of authorization and of later handlers, where clients need another form. Default: none. */
  readonly withRefusals?: Filter;
  /** Runs before all others, and sees the response after them. Default: none. */
  readonly outermost?: Filter;
  /** Absent: nothing is recorded. */
  readonly audit?: AuditOptions;
  /** Observes requests, beside metrics, log and audit. Absent: none. */
  readonly observer?: RequestObserver | undefined;
  /** Shared by all chains of a server. Default: those of this chain alone, with the default limits. */
  readonly shares?: FairShares;
  /** Shared by all chains of a server. Default: that of this chain alone. */
  readonly longWork?: LongWork;
  readonly isUrgent?: WithFlowControlDeps["isUrgent"];
  /** Bytes of a request body. */
  readonly bodyBytes?: number;
  /** Wrong credentials that a source address may send before its refusals are held back. Absent: any number. */
  readonly failedLogins?: RateLimiter | undefined;
  /** Absent: no limits. */
  readonly rateLimits?: RateLimits;
  /** Default 60 seconds. */
  readonly requestTimeoutMs?: number;
  /** Shared with other chains. Absent: the chain has its own. */
  readonly openRequests?: LongRunningRequests;
  /** Requests whose impersonation a later handler decides. Absent: none. */
  readonly skipImpersonation?: ImpersonationOptions["skipImpersonation"];
  /** Credentials without a format of their own. Default: none. */
  readonly chosenCredentials?: ChosenCredentials | undefined;
  /** Absent: no tracing. */
  readonly tracing?: Tracing | undefined;
  /** Whether a resource exists here. Metrics and traces name no others, since clients could make up any number of them. */
  readonly isServed: (info: ServedInfo) => boolean;
};

const DEFAULT_REQUEST_TIMEOUT_MS = 60_000;

/** Handles a request as `resolved`. Default: by its path. Never rejects. */
export type HandlerChain = (request: ApiRequest, resolved?: ResolvedRequest) => Awaitable<ApiResponse>;

export function createHandlerChain(handler: Handler, options: HandlerChainDeps): HandlerChain {
  const { clock, random, scheduler } = options.runtime;
  const deps = {
    shares: options.shares ?? createFairShares(DEFAULT_FAIR_SHARES, { clock, scheduler }),
    longWork: options.longWork ?? createLongWork(clock, undefined, options.metrics.rowOverBudget),
    bodyBytes: DEFAULT_LIMITS.bodyBytes,
    rateLimits: {},
    withRefusals: {},
    outermost: {},
    requestTimeoutMs: DEFAULT_REQUEST_TIMEOUT_MS,
    openRequests: options.openRequests ?? new LongRunningRequests({ clock, scheduler }),
    ...options,
    clock,
    scheduler,
  };
  // In the order of the request: the first sees it first, and its response last.
  // biome-ignore format: a table
  const outer: readonly Filter[] = [
    deps.outermost,
    withTracing            (deps),
    withRequestMetrics     (deps),
    withRequestLog         (deps),
    withAudit              (deps),
    withPanicRecovery      (deps),
  ];
  // The request info is read before all of them, since they speak in its terms; a path that cannot be read is refused here.
  // biome-ignore format: a table
  const inner: readonly Filter[] = [
    withRequestDeadline    (deps),
    withWarnings           (),
    withErrors             (deps),
    withSourceRateLimit    (deps),
    withAuthentication     (deps),
    withCredentialRateLimit(deps),
    withAuditOfArrival     (deps),
    withLongRunning        (deps),
    withImpersonation      (deps),
    deps.withRefusals,
    withAuthorization      (deps),
    withFlowControl        (deps),
  ];
  const handle = releasing(runFilters([...outer, ...inner], handler));
  const refuse = (refusal: ApiError): CallHandler =>
    runFilters(outer, () => {
      throw refusal;
    });
  return (received, resolved = resolveRequest(received)) => {
    const redact = redactionOf(received, options.chosenCredentials);
    const request = withSafeTexts(received, redact);
    const call = new RequestState({
      request,
      resolved,
      redact,
      warnings: createWarningRecorder(redact),
      isServed: deps.isServed,
      longWork: deps.longWork,
      auditId: auditIdOf(redact(headerOf(request, "audit-id")), random),
      receivedAt: clock.now(),
      startedAt: clock.elapsed(),
    });
    const refusal = resolved.refusal ?? refusalOfNames(request, redact);
    return refusal === undefined ? handle(call) : refuse(refusal)(call);
  };
}

/** Gives the place in flow control back, also after an error that a filter itself throws. */
const releasing =
  (handle: CallHandler): CallHandler =>
  (call) => {
    const done = (response: ApiResponse): ApiResponse => {
      if (response.body.type !== "stream") release(call);
      return response;
    };
    const fail = (error: unknown): never => {
      release(call);
      throw error;
    };
    try {
      const response = handle(call);
      return response instanceof Promise ? response.then(done, fail) : done(response);
    } catch (error) {
      return fail(error);
    }
  };

/**
 * Redacts the texts that logs, traces, audit events and field managers take from a request, before any of them reads it: the URI as sent, which
 * decides nothing, and the user agent, whose start names a field manager.
 */
function withSafeTexts(request: ApiRequest, redact: Redact): ApiRequest {
  const agent = headerOf(request, "user-agent");
  const safeAgent = redact(agent);
  const requestUri = safeRequestUri(request.requestUri, redact);
  if (safeAgent !== agent)
    return request.with({ requestUri, headers: { ...request.headers, "user-agent": safeAgent } });
  return requestUri === request.requestUri ? request : request.with({ requestUri });
}

/** They would be stored with objects, where every reader sees them. */
function refusalOfNames({ query, headers }: ApiRequest, redact: Redact): ApiError | undefined {
  const isSafe = (text: string): boolean => redact(text) === text;
  if (query.size > 0 && !query.getAll("fieldManager").every(isSafe))
    return badRequestError("the field manager must not be an access key or another credential");
  for (const name in headers) {
    if (!name.startsWith("impersonate-") || [headers[name] ?? []].flat().every(isSafe)) continue;
    return badRequestError("user names must not be an access key or another credential");
  }
  return undefined;
}
