// Refuses credentials while they may have been revoked elsewhere: a server without a current state of the store refuses all, and closes open
// connections.

import { isApiError, serviceUnavailableError } from "@postern/apimachinery/meta/api-error";
import { ALWAYS_FRESH, type Freshness } from "../cache/freshness.ts";
import type { Awaitable } from "../runtime/awaitable.ts";
import type { Authentication, Authenticator } from "./authenticator.ts";
import { watchFirst } from "./revocation-watch.ts";

/** Throws ApiError 503 for requests with a credential while credentials cannot be checked. */
export function freshAuthenticator(authenticator: Authenticator, freshness: Freshness): Authenticator {
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
  return {
    authenticate(request, innerRequest) {
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
      let proven: Awaitable<Authentication | undefined>;
      try {
        proven = authenticator.authenticate(request, innerRequest);
      } catch (error) {
        return onRefusal(error);
      }
      return proven instanceof Promise ? proven.catch(onRefusal).then(onProof) : onProof(proven);
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
