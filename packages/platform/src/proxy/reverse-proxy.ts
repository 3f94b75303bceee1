// Passes requests on to one target as the users who made them, with the target's own credential.

import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { isLongRunning } from "@postern/apiserver/request/long-running";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import { type ForwardedRequest, forwardRequest } from "./forward-request.ts";
import { forwardableUpgrade, forwardUpgrade, type UpgradeOptions } from "./forward-upgrade.ts";
import { forwardedHeaders } from "./forwarded-headers.ts";
import { forwardedPath } from "./forwarded-path.ts";
import type { UpstreamConnections } from "./upstream-connections.ts";

export type ReverseProxy = {
  /**
   * Answers a request whose path is below the root of the target, once it is known to be allowed. Ends it with the signal of the
   * context, also in the middle of a stream. Rejects with ApiErrors.
   */
  proxy(context: RequestContext, user: UserInfo): Promise<ApiResponse>;
};

export type ReverseProxyOptions = Pick<UpgradeOptions, "scheduler"> & Partial<UpgradeOptions>;

const HALF_OPEN_TIMEOUT_MS = 120_000;

export function createReverseProxy(connections: UpstreamConnections, options: ReverseProxyOptions): ReverseProxy {
  const upgrades: UpgradeOptions = {
    halfOpenTimeoutMs: HALF_OPEN_TIMEOUT_MS,
    isAllowedOrigin: () => false,
    ...options,
  };
  return {
    async proxy({ request, info, signal, audit }, user) {
      const { path, query } = request;
      const forwarded: ForwardedRequest = {
        request,
        path: forwardedPath(path, query),
        headers: forwardedHeaders(request, user, connections.target.credential, audit.auditId),
        signal,
      };
      const upgrade = forwardableUpgrade(request);
      if (upgrade !== undefined) return await forwardUpgrade(forwarded, upgrade, connections, upgrades);
      // A log may be silent for long before it has anything to answer with; a watch answers when it has begun.
      const expected = { lasts: isLongRunning(request, info), answersAtOnce: info.verb === "watch" };
      return await forwardRequest(forwarded, expected, connections);
    },
  };
}
