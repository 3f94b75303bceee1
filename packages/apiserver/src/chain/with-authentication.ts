// Finds out who makes the request.
// Source: k8s.io/apiserver/pkg/endpoints/filters/authentication.go

import { isApiError, unauthorizedError } from "@postern/apimachinery/meta/api-error";
import {
  type Authentication,
  type Authenticator,
  type Credential,
  CredentialRefusedError,
} from "../authentication/authenticator.ts";
import {
  anonymousUser,
  GROUP_AUTHENTICATED,
  GROUP_UNAUTHENTICATED,
  type UserInfo,
} from "../authentication/user-info.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import { bearerTokenOf, EXTRA_SPACE_WARNING, presentedToken, webSocketProtocols } from "../request/bearer-token.ts";
import type { Clock, Scheduler } from "../runtime/clock.ts";
import type { ApiRequest } from "../transport/api-request.ts";
import type { Handler, RequestContext } from "./handler.ts";
import type { RateLimiter } from "./rate-limiter.ts";

export type WithAuthenticationDeps = {
  readonly authenticator: Authenticator;
  readonly metrics: ServerMetrics;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** Wrong credentials that a source address may send; each one more is answered late. Absent: all are answered at once. */
  readonly failedLogins?: RateLimiter | undefined;
};

/** Handles of credentials in audit events. Source: k8s.io/apiserver/pkg/authentication/serviceaccount/util.go */
export const AUDIT_CREDENTIAL = "authentication.kubernetes.io/credential-id";
/** Why nobody was let in. */
export const AUDIT_REFUSAL = "authentication.kubernetes.io/refusal";

/** How long a refusal is held back from who guesses. */
const HOLD_MS = 1_000;

export function withAuthentication(next: Handler, deps: WithAuthenticationDeps): Handler {
  const { metrics, clock } = deps;
  return async (context) => {
    const startedAt = clock.elapsed();
    const seconds = (): number => (clock.elapsed() - startedAt) / 1000;
    if (bearerTokenOf(context.request).type === "extra-space") context.warnings.add(EXTRA_SPACE_WARNING);
    let authentication: Authentication;
    try {
      authentication = await authenticate(context.request, deps);
    } catch (error) {
      metrics.authentication(isApiError(error) ? "failure" : "error", seconds());
      annotateRefusal(context, error);
      await holdBack(context, error, deps);
      throw error;
    }
    metrics.authentication("success", seconds());
    const user = withGroups(authentication.user);
    if (authentication.credential !== undefined) context.request.know?.(user.name);
    context.audit.setUser(user);
    if (authentication.credential !== undefined) annotateCredential(context, authentication.credential);
    const request = withoutTokenProtocol(context.request);
    return next({ ...context, request, user, caller: user, credential: authentication.credential });
  };
}

function annotateCredential({ audit }: Pick<RequestContext, "audit">, { id, annotations = {} }: Credential): void {
  audit.annotate(AUDIT_CREDENTIAL, id);
  for (const [key, value] of Object.entries(annotations)) audit.annotate(key, value);
}

function annotateRefusal({ audit }: RequestContext, error: unknown): void {
  if (!isApiError(error) || !(error.cause instanceof CredentialRefusedError)) return;
  const { message, credentialId, annotations } = error.cause;
  audit.annotate(AUDIT_REFUSAL, message);
  if (credentialId !== undefined) annotateCredential({ audit }, { id: credentialId, annotations });
}

/**
 * Slows down who guesses, and nobody else: whoever has a good credential never waits, also behind the address of one who guesses,
 * and no header tells whose guesses are counted.
 */
async function holdBack(
  { request, signal }: RequestContext,
  error: unknown,
  { failedLogins, scheduler }: WithAuthenticationDeps,
): Promise<void> {
  if (failedLogins === undefined || !isApiError(error) || error.code !== 401 || request.remoteAddress === "") return;
  if (failedLogins.delayOf(request.remoteAddress) === undefined) return;
  await new Promise<void>((resolve) => {
    const timer = scheduler.schedule(HOLD_MS, done);
    signal.addEventListener("abort", done, { once: true });
    function done(): void {
      timer[Symbol.dispose]();
      signal.removeEventListener("abort", done);
      resolve();
    }
  });
}

/** Requests that prove nothing go on as `system:anonymous`, for authorization to decide. Throws ApiError 401. */
async function authenticate(
  request: ApiRequest,
  { authenticator }: Pick<WithAuthenticationDeps, "authenticator">,
): Promise<Authentication> {
  const token = presentedToken(request);
  const authentication = await authenticator.authenticate(request);
  if (authentication !== undefined) return authentication;
  // A token that nobody knows is a mistake worth telling, on every path.
  if (token !== undefined) throw unauthorizedError();
  return { user: anonymousUser };
}

function withGroups(user: UserInfo): UserInfo {
  const { groups } = user;
  if (groups.includes(GROUP_AUTHENTICATED) || groups.includes(GROUP_UNAUTHENTICATED)) return user;
  return { ...user, groups: [...groups, GROUP_AUTHENTICATED] };
}

/** What handlers and proxies get to see of the subprotocols has no secret in it. */
function withoutTokenProtocol(request: ApiRequest): ApiRequest {
  if (request.upgrade === undefined || request.headers["sec-websocket-protocol"] === undefined) return request;
  const { "sec-websocket-protocol": _, ...headers } = request.headers;
  const protocols = webSocketProtocols(request).join(", ");
  return {
    ...request,
    headers: protocols === "" ? headers : { ...headers, "sec-websocket-protocol": protocols },
  };
}
