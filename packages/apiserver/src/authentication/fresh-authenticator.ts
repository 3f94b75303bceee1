// Refuses credentials while they may have been revoked elsewhere: a server without a current state of the store refuses all, and closes open
// connections. Requests are decided about once this thread sees what the others have answered.

import { isApiError, serviceUnavailableError } from "@postern/apimachinery/meta/api-error";
import { ALWAYS_FRESH, type Freshness } from "../cache/freshness.ts";
import type { WatchCache } from "../cache/watch-cache.ts";
import { type Awaitable, whenDone } from "../runtime/awaitable.ts";
import type { Authentication, Authenticator } from "./authenticator.ts";
import { watchFirst } from "./revocation-watch.ts";

/**
 * Throws ApiError 503 for requests with a credential while credentials cannot be checked. The first filter of a request that reads what is stored, so
 * that the wait is for all of them: credentials, permissions, and what a write is checked against.
 */
export function freshAuthenticator(
  authenticator: Authenticator,
  freshness: Freshness,
  cache: Pick<WatchCache, "waitForKnown">,
): Authenticator {
  if (freshness === ALWAYS_FRESH) return authenticator;
  // Returns the same object for the same result, so that an authenticator's cache of results stays effective.
  const remembered = new WeakMap<Authentication, Authentication>();
  const endingWithFreshness = (authentication: Authentication): Authentication => {
    const known = remembered.get(authentication);
    if (known !== undefined) return known;
    const ending = endingWith(authentication, freshness);
    remembered.set(authentication, ending);
    return ending;
  };
  const onRefusal = (error: unknown): never => {
    // A credential that was made elsewhere meanwhile is not wrong.
    if (isApiError(error, "Unauthorized") && !freshness.isFresh()) throw cannotConfirm();
    throw error;
  };
  const onProof = (authentication: Authentication | undefined): Authentication | undefined => {
    if (authentication === undefined) return undefined;
    if (!freshness.isFresh()) throw cannotConfirm();
    return endingWithFreshness(authentication);
  };
  const authenticate: Authenticator["authenticate"] = (request, innerRequest) => {
    let proven: Awaitable<Authentication | undefined>;
    try {
      proven = authenticator.authenticate(request, innerRequest);
    } catch (error) {
      return onRefusal(error);
    }
    return proven instanceof Promise ? proven.catch(onRefusal).then(onProof) : onProof(proven);
  };
  return {
    authenticate(request, innerRequest) {
      // One that stays behind decides as it can: how long it may is limited by its freshness.
      const reached = cache.waitForKnown(request)?.catch(() => undefined);
      return whenDone(reached, () => authenticate(request, innerRequest));
    },
  };
}

function endingWith(authentication: Authentication, { onStale }: Freshness): Authentication {
  const { credential } = authentication;
  if (credential === undefined) return authentication;
  const { onRevoked } = credential;
  const watches = onRevoked === undefined ? [onStale] : [(listener: () => void) => onRevoked(listener), onStale];
  return { ...authentication, credential: { ...credential, onRevoked: watchFirst(watches) } };
}

const cannotConfirm = () =>
  serviceUnavailableError("the server cannot reach its store to verify your credential, try again");
