// Delays the response to writes that can revoke something until all servers have seen them, so that none accepts it afterwards.

import { anonymousUser } from "@postern/apiserver/authentication/user-info";
import type { Filter } from "@postern/apiserver/chain/run-filters";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Replicas } from "@postern/apiserver/storage/replicas";

/** Written often, and they grant no permissions. */
const WITHOUT_RIGHTS: readonly string[] = ["leases", "events", "configmaps"];

/** Refusals for what is stored: a credential or permission that is gone, an object that is not found, a conflict, an invalid change. */
const OF_STATE: readonly number[] = [401, 403, 404, 409, 422];

/** The outermost filter: the wait costs no other request its place. */
export const withReplicaConfirmation = (replicas: Pick<Replicas, "allKnow"> | undefined): Filter =>
  replicas === undefined
    ? {}
    : {
        leave(response, call) {
          const { status } = response;
          // A collection that is deleted in part is answered by an error as well. A revocation that is sent again, since its answer was lost, is refused for
          // what it did the first time: also with the credential that it has revoked.
          const isOfState = status < 400 || status >= 500 || OF_STATE.includes(status);
          // Lasting requests are not done when they are answered: each server decides about them again by itself.
          const isDone = isOfState && !isAnonymous(status, call) && response.body.type !== "upgraded";
          return isDone && canRevoke(call) ? replicas.allKnow().then(() => response) : response;
        },
      };

/** A client without a credential has revoked nothing. One whose credential is refused has no user either. */
const isAnonymous = (status: number, { user }: Pick<RequestContext, "user">): boolean =>
  status === 403 && user === anonymousUser;

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
