// Takes the bearer token out of a request and asks whose it is.
// Source: k8s.io/apiserver/pkg/authentication/request/bearertoken/bearertoken.go

import { unauthorizedError } from "@postern/apimachinery/meta/api-error";
import type { ApiRequest } from "../transport/api-request.ts";
import type { Authenticator } from "./authenticator.ts";
import type { TokenAuthenticator } from "./token-authenticator.ts";

/**
 * `bearerTokenOf` gives undefined where a request carries no token. A token that nobody knows is a refusal, not an anonymous
 * request, on every path.
 */
export function createBearerTokenAuthenticator(
  tokens: TokenAuthenticator,
  bearerTokenOf: (request: ApiRequest) => string | undefined,
): Authenticator {
  return {
    async authenticate(request) {
      const token = bearerTokenOf(request);
      if (token === undefined) return undefined;
      const authentication = await tokens.authenticateToken(token);
      if (authentication === undefined) throw unauthorizedError();
      return authentication;
    },
  };
}
