// Authenticates the bearer token of a request with a token authenticator.
// Source: k8s.io/apiserver/pkg/authentication/request/bearertoken/bearertoken.go

import { presentedToken } from "../request/credentials.ts";
import type { Authenticator } from "./authenticator.ts";
import type { TokenAuthenticator } from "./token-authenticator.ts";

/**
 * Undefined for a request without a token, and for an unknown token: another authenticator may know it, and the handler chain refuses a token that
 * none knows. Throws an ApiError 401 or 400 for what is not a token, or is given twice.
 */
export function createBearerTokenAuthenticator(tokens: TokenAuthenticator): Authenticator {
  return {
    authenticate(request) {
      const token = presentedToken(request);
      return token === undefined ? undefined : tokens.authenticateToken(token);
    },
  };
}
