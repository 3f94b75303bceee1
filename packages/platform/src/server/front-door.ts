// Where a request goes: to the management API, at the root or below its base path, through the proxy to a virtual cluster, or to the
// reports of leaked keys.

import { mountRequest } from "@postern/apiserver/transport/mount-request";
import type { ApiHandler } from "@postern/apiserver/transport/serve-exchange";
import { EMBEDDED_CLUSTER } from "../resources/clusters/cluster.ts";

/** The base path of existing clients; the same API answers at the root. */
export const MANAGEMENT_BASE = "/kubernetes/management";

/** Where anybody reports keys that they found. */
export const LEAKS_PATH = "/leaks";

const OWN_CLUSTER_BASE = `/kubernetes/cluster/${EMBEDDED_CLUSTER}`;
const PROXY_BASES = ["/kubernetes/project", "/kubernetes/cluster"];

export function createFrontDoor(handlers: {
  readonly management: ApiHandler;
  readonly proxy: ApiHandler;
  readonly leaks: ApiHandler;
}): ApiHandler {
  return async (request) => {
    const { path } = request;
    if (path === LEAKS_PATH) return await handlers.leaks(request);
    if (!path.startsWith("/kubernetes")) return await handlers.management(request);
    // The cluster that is this server itself: its API is the management API.
    const own = mountRequest(request, OWN_CLUSTER_BASE);
    if (own !== undefined) return await handlers.management(own);
    if (PROXY_BASES.some((base) => path === base || path.startsWith(`${base}/`))) return await handlers.proxy(request);
    return await handlers.management(mountRequest(request, MANAGEMENT_BASE) ?? request);
  };
}
