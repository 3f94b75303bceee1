// Routes a request to the management API, the proxy or the route of a feature, and parses its path once for all of them.

import { EMBEDDED_CLUSTER } from "@postern/api/cluster";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { HandlerChain } from "@postern/apiserver/chain/handler-chain";
import { canonicalPath } from "@postern/apiserver/request/canonical-path";
import { type ResolvedRequest, resolveRequest } from "@postern/apiserver/request/request-info";
import { type Awaitable, whenDone } from "@postern/apiserver/runtime/awaitable";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import type { ApiHandler } from "@postern/apiserver/transport/exchange/serve-exchange";
import { mountRequest } from "@postern/apiserver/transport/mount-request";
import { resolveProxiedRequest } from "../features/authorization/request/proxied-call.ts";
import { isMistyped } from "../features/console/console-route.ts";
import { type BrowserSessionDeps, openedBySessions } from "../features/sign-in/sessions/browser-session.ts";
import { type FeatureRoute, isBelow } from "../foundation/http/feature-route.ts";
import { BACKUP_PATH } from "../operations/backup/backup-route.ts";

/** The base path of existing clients; the same API answers at the root. */
export const MANAGEMENT_BASE = "/kubernetes/management";

const OWN_CLUSTER_BASE = `/kubernetes/cluster/${EMBEDDED_CLUSTER}`;
const PROXY_BASES = ["/kubernetes/project", "/kubernetes/cluster"];

/** A route of a feature behind its handler chain. */
export type RoutedChain = Pick<FeatureRoute, "takes" | "loggedUri"> & { readonly chain: HandlerChain };

export function createApiRouter(surfaces: {
  readonly sessions: BrowserSessionDeps;
  readonly management: HandlerChain;
  readonly proxy: HandlerChain;
  /** The first that takes a request answers it. */
  readonly routes: readonly RoutedChain[];
  /** The page of the console, for browsers. Undefined: this server has none. */
  readonly page: RoutedChain | undefined;
}): ApiHandler {
  const { sessions, page } = surfaces;
  const routes = page === undefined ? surfaces.routes : [...surfaces.routes, page];
  const management = openedBySessions(surfaces.management, resolveManagementRequest, sessions);
  const proxy = openedBySessions(surfaces.proxy, resolveProxiedRequest, sessions);
  const mounted: ApiHandler = (request) => {
    // The cluster that is this server itself: its API is the management API.
    const own = mountRequest(request, OWN_CLUSTER_BASE);
    if (own !== undefined) return management(own);
    const isProxied = PROXY_BASES.some((base) => isBelow(request.path, base));
    return isProxied ? proxy(request) : management(mountRequest(request, MANAGEMENT_BASE) ?? request);
  };
  return (request) => {
    // Nearly all there is: nothing else begins like this.
    if (request.path.startsWith("/apis/") || request.path.startsWith("/api/")) return management(request);
    if (request.path.startsWith("/kubernetes/")) return mounted(request);
    const path = routedPath(request);
    if (path === undefined) return management(request);
    const route = routes.find(({ takes }) => takes(path, request));
    if (route !== undefined) return route.chain(logged(request, route, path));
    if (page !== undefined && isMistyped(path, request)) return pageOr(management(request), request, page.chain);
    return management(request);
  };
}

const logged = (request: ApiRequest, { loggedUri }: RoutedChain, path: string): ApiRequest =>
  loggedUri === undefined ? request : request.with({ requestUri: loggedUri(path) });

/** The page in place of an answer that there is nothing, with its code. Strangers are refused whatever they ask for. */
const pageOr = (answer: Awaitable<ApiResponse>, request: ApiRequest, page: HandlerChain): Awaitable<ApiResponse> =>
  whenDone(answer, (response) => {
    if (response.status !== 404 && response.status !== 403) return response;
    const { "if-none-match": _, ...headers } = request.headers;
    return whenDone(page(request.with({ headers })), (shown) =>
      shown.status === 200 ? { ...shown, status: 404 } : shown,
    );
  });

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
