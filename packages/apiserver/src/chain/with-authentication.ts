// Finds out who makes the request.
// Source: k8s.io/apiserver/pkg/endpoints/filters/authentication.go

import { isApiError, unauthorizedError } from "@postern/apimachinery/meta/api-error";
import type { Authentication, Authenticator } from "../authentication/authenticator.ts";
import {
  anonymousUser,
  GROUP_AUTHENTICATED,
  GROUP_UNAUTHENTICATED,
  type UserInfo,
} from "../authentication/user-info.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import { bearerTokenOf, EXTRA_SPACE_WARNING, presentedToken, webSocketProtocols } from "../request/bearer-token.ts";
import type { Clock } from "../runtime/clock.ts";
import type { ApiRequest } from "../transport/api-request.ts";
import type { Handler } from "./handler.ts";

export type WithAuthenticationDeps = {
  readonly authenticator: Authenticator;
  /** Whether requests that prove nothing go on as `system:anonymous`, for authorization to decide. */
  readonly allowAnonymous: boolean;
  readonly metrics: ServerMetrics;
  readonly clock: Clock;
};

export function withAuthentication(next: Handler, deps: WithAuthenticationDeps): Handler {
  const { metrics, clock } = deps;
  return async (context) => {
    const startedAt = clock.now();
    const seconds = (): number => (clock.now() - startedAt) / 1000;
    if (bearerTokenOf(context.request).type === "extra-space") context.warnings.add(EXTRA_SPACE_WARNING);
    let authentication: Authentication;
    try {
      authentication = await authenticate(context.request, deps);
    } catch (error) {
      metrics.authentication(isApiError(error) ? "failure" : "error", seconds());
      throw error;
    }
    metrics.authentication("success", seconds());
    const user = withGroups(authentication.user);
    context.audit.setUser(user);
    const request = withoutTokenProtocol(context.request);
    return next({ ...context, request, user, credential: authentication.credential });
  };
}

/** Throws ApiError 401. */
async function authenticate(
  request: ApiRequest,
  { authenticator, allowAnonymous }: WithAuthenticationDeps,
): Promise<Authentication> {
  const token = presentedToken(request);
  const authentication = await authenticator.authenticate(request);
  if (authentication !== undefined) return authentication;
  // A token that nobody knows is a mistake worth telling, on every path.
  if (token !== undefined || !allowAnonymous) throw unauthorizedError();
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
