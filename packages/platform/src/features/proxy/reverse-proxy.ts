// Forwards requests to one target with the target's credential, impersonating the user.

import { methodNotAllowedError } from "@postern/apimachinery/meta/api-error";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { isLongRunning } from "@postern/apiserver/request/request-info";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import type { UpstreamConnections } from "../../foundation/upstream/upstream-connections.ts";
import { type ForwardedRequest, forwardRequest } from "./forward-request.ts";
import { forwardableUpgrade, forwardUpgrade, type UpgradeDeps } from "./forward-upgrade.ts";
import { forwardedHeaders } from "./forwarded-headers.ts";
import { forwardedPath } from "./forwarded-path.ts";

export type ReverseProxy = {
  /**
   * Answers a request whose path is below the root of the target, once it is known to be allowed. Ends it with the signal of the
   * context, also in the middle of a stream. Rejects with ApiErrors.
   */
  proxy(context: RequestContext, user: UserInfo): Promise<ApiResponse>;
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
  return {
    async proxy({ request, info, signal, audit }, user) {
      if (!METHODS.has(request.method)) throw methodNotAllowedError();
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
