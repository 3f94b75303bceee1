// Delays the response to writes that can revoke something until all servers have seen them, so that none accepts it afterwards.

import type { Filter } from "@postern/apiserver/chain/run-filters";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Replicas } from "@postern/apiserver/storage/replicas";

/** Written often, and they grant no permissions. */
const WITHOUT_RIGHTS: readonly string[] = ["leases", "events", "configmaps"];

/** Refusals for what is stored: not found, a conflict, invalid. */
const OF_STATE: readonly number[] = [404, 409, 422];

/** The outermost filter: the wait costs no other request its place. */
export const withReplicaConfirmation = (replicas: Pick<Replicas, "allKnow"> | undefined): Filter =>
  replicas === undefined
    ? {}
    : {
        leave(response, call) {
          const { status } = response;
          // A collection that is deleted in part is answered by an error as well. A revocation that is sent again, since its answer was lost, is refused for
          // what it did the first time.
          const isOfState = status < 400 || status >= 500 || OF_STATE.includes(status);
          // Lasting requests are not done when they are answered: each server decides about them again by itself.
          const isDone = isOfState && response.body.type !== "upgraded";
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
