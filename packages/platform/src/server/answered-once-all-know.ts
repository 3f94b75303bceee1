// Answers a write that can take something away once every server knows of it, so that none accepts afterwards what was revoked.

import { isApiError } from "@postern/apimachinery/meta/api-error";
import { resolveRequestInfo } from "@postern/apiserver/request/request-info-resolver";
import type { Replicas } from "@postern/apiserver/storage/replicas";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import type { ApiHandler } from "@postern/apiserver/transport/serve-exchange";

/** Written often, and nobody may do anything because of them. */
const WITHOUT_RIGHTS: readonly string[] = ["leases", "events"];

/** Outside of everything that a request holds while it is worked on: the wait costs no other request its place. */
export function answeredOnceAllKnow(handle: ApiHandler, replicas: Pick<Replicas, "allKnow"> | undefined): ApiHandler {
  if (replicas === undefined) return handle;
  return async (request) => {
    const response = await handle(request);
    // A collection that is deleted in part is answered by an error as well.
    if (canRevoke(request) && (response.status < 400 || response.status >= 500)) await replicas.allKnow();
    return response;
  };
}

/** All but reads and what only adds an object. */
function canRevoke({ method, path, query }: ApiRequest): boolean {
  if (method === "GET" || method === "HEAD" || method === "OPTIONS") return false;
  try {
    const { isResourceRequest, verb, resource, subresource } = resolveRequestInfo(method, path, query);
    if (!isResourceRequest) return true;
    return !WITHOUT_RIGHTS.includes(resource) && (verb !== "create" || subresource !== "");
  } catch (error) {
    if (isApiError(error)) return false;
    throw error;
  }
}
