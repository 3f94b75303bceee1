// Forwards requests to one target with the target's credential, impersonating the user.

import { methodNotAllowedError } from "@postern/apimachinery/meta/api-error";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { isLongRunning } from "@postern/apiserver/request/request-info";
import type { Awaitable } from "@postern/apiserver/runtime/awaitable";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import type { UpstreamConnections } from "../../foundation/upstream/upstream-connections.ts";
import { type ForwardedRequest, forwardRequest } from "./forward-request.ts";
import { forwardableUpgrade, forwardUpgrade, type UpgradeDeps } from "./forward-upgrade.ts";
import { createForwardedHeaders } from "./forwarded-headers.ts";
import { forwardedPath } from "./forwarded-path.ts";
import type { StreamTap } from "./stream-tap.ts";

export type ReverseProxy = {
  /**
   * Answers a request whose path is below the root of the target, once it is known to be allowed. Ends it with the signal of the
   * context, also in the middle of a stream. Fails with ApiErrors. `tap`: what it passes through once it has left HTTP; absent: nothing.
   */
  proxy(context: RequestContext, user: UserInfo, tap?: StreamTap): Awaitable<ApiResponse>;
};

export type ReverseProxyDeps = Pick<UpgradeDeps, "scheduler"> & Partial<UpgradeDeps>;

const HALF_OPEN_TIMEOUT_MS = 120_000;

/** Methods of an API. A proxy before a target may answer TRACE with the whole request, which has the credential of the platform. */
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

export function createReverseProxy(connections: UpstreamConnections, deps: ReverseProxyDeps): ReverseProxy {
  const upgrades: UpgradeDeps = {
    halfOpenTimeoutMs: HALF_OPEN_TIMEOUT_MS,
    isAllowedOrigin: () => false,
    ...deps,
  };
  const headersOf = createForwardedHeaders(connections.target.credential);
  return {
    proxy(context, user, tap) {
      const { request, info, audit } = context;
      if (!METHODS.has(request.method)) throw methodNotAllowedError();
      const { path, query } = request;
      // The target may be a tenant's, and as slow as they want: others have the place meanwhile.
      context.leavePlace?.();
      const forwarded: ForwardedRequest = {
        request,
        path: forwardedPath(path, query),
        headers: headersOf(request, user, audit.auditId),
        auditId: audit.auditId,
        context,
        tap,
      };
      const upgrade = forwardableUpgrade(request);
      if (upgrade !== undefined) return forwardUpgrade(forwarded, upgrade, connections, upgrades);
      // A log may be silent for long before it has anything to answer with; a watch answers when it has begun.
      const expected = { lasts: isLongRunning(request, info), answersAtOnce: info.verb === "watch" };
      return forwardRequest(forwarded, expected, connections);
    },
  };
}
