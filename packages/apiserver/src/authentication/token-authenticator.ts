// The port that identifies the user of a bearer token; TokenReview asks it too.
// Source: k8s.io/apiserver/pkg/authentication/authenticator/interfaces.go (Token)

import type { Authentication } from "./authenticator.ts";

/**
 * Finds the user of a bearer token. Write one for tokens of your own, and join several with `unionTokenAuthenticator`.
 *
 * @example
 * ```ts
 * import type { TokenAuthenticator } from "@postern/kubernetes";
 *
 * export const guests: TokenAuthenticator = {
 *   authenticateToken: (token) => (token.startsWith("guest-") ? { user: { name: token, groups: ["guests"] } } : undefined),
 * };
 * ```
 */
export type TokenAuthenticator = {
  /**
   * Undefined when the token is not one of this authenticator's. Throws an ApiError 401 when it is, but is not (any longer) good.
   * `audiences`: a token with audiences must be valid for at least one of these. Default: the server itself.
   */
  authenticateToken(
    token: string,
    audiences?: readonly string[],
  ): Promise<Authentication | undefined> | Authentication | undefined;
};

/** A list of token authenticators is one: the first that knows the token decides. */
export function unionTokenAuthenticator(authenticators: readonly TokenAuthenticator[]): TokenAuthenticator {
  return {
    async authenticateToken(token, audiences) {
      for (const authenticator of authenticators) {
        const authentication = await authenticator.authenticateToken(token, audiences);
        if (authentication !== undefined) return authentication;
      }
      return undefined;
    },
  };
}
