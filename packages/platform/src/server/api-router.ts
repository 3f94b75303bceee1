// Routes a request to the management API, the proxy, leak reports, token exchange, sign-in pages, the documentation or the console, and parses its path once for all of
// them.

import { EMBEDDED_CLUSTER } from "@postern/api/cluster";
import { JOIN_PATH, TUNNEL_PATH } from "@postern/api/cluster-tunnel";
import { UNWRAP_PATH } from "@postern/api/wrapped-value";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { HandlerChain } from "@postern/apiserver/chain/handler-chain";
import { canonicalPath } from "@postern/apiserver/request/canonical-path";
import { type ResolvedRequest, resolveRequest } from "@postern/apiserver/request/request-info";
import { type Awaitable, whenDone } from "@postern/apiserver/runtime/awaitable";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import { mountRequest } from "@postern/apiserver/transport/mount-request";
import type { ApiHandler } from "@postern/apiserver/transport/serve-exchange";
import { resolveProxiedRequest } from "../features/authorization/proxied-call.ts";
import { isConsoleRequest, isMistyped } from "../features/console/console-route.ts";
import { isDocumentationPath } from "../features/documentation/documentation-route.ts";
import { SCIM_PATH } from "../features/scim/scim-routes.ts";
import { type BrowserSessionDeps, openedBySessions } from "../features/sign-in/browser-session.ts";
import { isSignInPath } from "../features/sign-in/sign-in-routes.ts";
import { TOKEN_ENDPOINT_PATH } from "../foundation/issuers/token-endpoint.ts";
import { BACKUP_PATH } from "../operations/backup-route.ts";

/** The base path of existing clients; the same API answers at the root. */
export const MANAGEMENT_BASE = "/kubernetes/management";

/** Where anybody reports keys that they found. */
export const LEAKS_PATH = "/leaks";

const OWN_CLUSTER_BASE = `/kubernetes/cluster/${EMBEDDED_CLUSTER}`;
const PROXY_BASES = ["/kubernetes/project", "/kubernetes/cluster"];

export function createApiRouter(surfaces: {
  readonly sessions: BrowserSessionDeps;
  readonly management: HandlerChain;
  readonly proxy: HandlerChain;
  readonly leaks: HandlerChain;
  readonly exchange: HandlerChain;
  readonly signIn: HandlerChain;
  readonly scim: HandlerChain;
  readonly unwrap: HandlerChain;
  readonly join: HandlerChain;
  readonly tunnel: HandlerChain;
  /** Undefined: this server has none. */
  readonly console: HandlerChain | undefined;
  readonly documentation: HandlerChain | undefined;
}): ApiHandler {
  const { sessions, leaks, exchange, signIn, scim, unwrap, join, tunnel, console, documentation } = surfaces;
  const management = openedBySessions(surfaces.management, resolveManagementRequest, sessions);
  const proxy = openedBySessions(surfaces.proxy, resolveProxiedRequest, sessions);
  const mounted: ApiHandler = (request) => {
    const { path } = request;
    // The cluster that is this server itself: its API is the management API.
    const own = mountRequest(request, OWN_CLUSTER_BASE);
    if (own !== undefined) return management(own);
    const isProxied = PROXY_BASES.some((base) => path === base || path.startsWith(`${base}/`));
    return isProxied ? proxy(request) : management(mountRequest(request, MANAGEMENT_BASE) ?? request);
  };
  return (request) => {
    // Nearly all there is: nothing else begins like this.
    if (request.path.startsWith("/apis/") || request.path.startsWith("/api/")) return management(request);
    if (request.path.startsWith("/kubernetes/")) return mounted(request);
    const path = routedPath(request);
    if (path === undefined) return management(request);
    if (path === LEAKS_PATH) return leaks(request);
    if (path === UNWRAP_PATH) return unwrap(request);
    if (path === TOKEN_ENDPOINT_PATH) return exchange(request);
    // Codes stand in the query, which is not for logs.
    if (isSignInPath(path)) return signIn(request.with({ requestUri: path }));
    if (isBelow(path, SCIM_PATH)) return scim(request);
    if (isBelow(path, TUNNEL_PATH)) return tunnel(request);
    // The value stands in the path, which is not for logs.
    if (isBelow(path, JOIN_PATH)) return join(request.with({ requestUri: JOIN_PATH }));
    if (documentation !== undefined && isDocumentationPath(path)) return documentation(request);
    if (console !== undefined && isConsoleRequest(request, path)) return console(request);
    if (console !== undefined && isMistyped(request, path)) return pageOr(management(request), request, console);
    return management(request);
  };
}

/** The console in place of an answer that there is nothing, with its code. Strangers are refused whatever they ask for. */
const pageOr = (answer: Awaitable<ApiResponse>, request: ApiRequest, console: HandlerChain): Awaitable<ApiResponse> =>
  whenDone(answer, (response) => {
    if (response.status !== 404 && response.status !== 403) return response;
    const { "if-none-match": _, ...headers } = request.headers;
    return whenDone(console(request.with({ headers })), (page) =>
      page.status === 200 ? { ...page, status: 404 } : page,
    );
  });

const isBelow = (path: string, root: string): boolean => path === root || path.startsWith(`${root}/`);

/** The path as every handler behind this one sees it, in `info`. Undefined for one that can be read in two ways: it is refused further on. */
function routedPath({ path }: ApiRequest): string | undefined {
  try {
    return canonicalPath(path);
  } catch (error) {
    if (isApiError(error)) return undefined;
    throw error;
  }
}

function resolveManagementRequest(request: ApiRequest): ResolvedRequest {
  const resolved = resolveRequest(request);
  // A backup lasts as long as the client reads, and ends with the credential.
  return resolved.info.path === BACKUP_PATH ? { ...resolved, isLongRunning: true } : resolved;
}
