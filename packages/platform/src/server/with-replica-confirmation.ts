// Delays the response to writes that can revoke something until all servers have seen them, so that none accepts it afterwards.

import type { Filter } from "@postern/apiserver/chain/run-filters";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Replicas } from "@postern/apiserver/storage/replicas";

/** Written often, and they grant no permissions. */
const WITHOUT_RIGHTS: readonly string[] = ["leases", "events", "configmaps"];

/** The outermost filter: the wait costs no other request its place. */
export const withReplicaConfirmation = (replicas: Pick<Replicas, "allKnow"> | undefined): Filter =>
  replicas === undefined
    ? {}
    : {
        leave(response, call) {
          // A collection that is deleted in part is answered by an error as well.
          const hasWritten = response.status < 400 || response.status >= 500;
          // Lasting requests are not done when they are answered: each server decides about them again by itself.
          const isDone = hasWritten && response.body.type !== "upgraded";
          return isDone && canRevoke(call) ? replicas.allKnow().then(() => response) : response;
        },
      };

/** All but reads and what only adds an object. Through the proxy, what is asked for inside counts: roles and tokens are there as well. */
function canRevoke({
  request: { method },
  info,
  innerRequest,
}: Pick<RequestContext, "request" | "info" | "innerRequest">): boolean {
  if (method === "GET" || method === "HEAD" || method === "OPTIONS") return false;
  const { isResourceRequest, verb, resource, subresource } = innerRequest?.info ?? info;
  return !isResourceRequest || (!WITHOUT_RIGHTS.includes(resource) && (verb !== "create" || subresource !== ""));
}
