// Faults of identity providers, and their messages: in the provider's words, and without the secrets in them.

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { redactCredentials } from "@postern/apimachinery/text/redact-credentials";
import { ClientError, ResponseBodyError, WWWAuthenticateChallengeError } from "openid-client";
import { FetchError } from "../../../foundation/issuers/issuer-keys.ts";
import { TokenError } from "../../../foundation/issuers/signed-token.ts";
import { withoutInvisible } from "../../../foundation/kinds/readable-name.ts";
import { faultOf } from "../../../foundation/upstream/upstream-failure.ts";

/** The provider refused the code or the refresh token. */
export class ProviderRefusal extends Error {
  override readonly name = "ProviderRefusal";
}

/** The provider is unreachable, or its response is invalid. */
export class ProviderError extends Error {
  override readonly name: string = "ProviderError";
}

/** The provider says that this server is not the client that it pretends to be: an administrator must correct the client. */
export class ClientRefusedError extends ProviderError {
  override readonly name = "ClientRefusedError";
}

/** The Secret of the provider has no client secret, so that the provider was not asked. */
export class NoClientSecretError extends ProviderError {
  override readonly name = "NoClientSecretError";
}

/** The ID token is not valid at this time: an administrator must set the clocks, and retrying does not help. */
export class ProviderClockError extends ProviderError {
  override readonly name = "ProviderClockError";
}

const MAX_SAID = 200;

/** A text of the provider for display: without invisible characters, and without secrets that it repeats. */
export function said(text: string, secrets: readonly string[] = []): string {
  const known = secrets.filter((secret) => secret !== "");
  const plain = known.reduce((left, secret) => left.replaceAll(secret, "[redacted]"), text);
  const visible = withoutInvisible(redactCredentials(plain)).replaceAll(/\p{Cc}+/gu, " ");
  return visible.length > MAX_SAID ? `${visible.slice(0, MAX_SAID)}...` : visible;
}

/** `error` and `error_description` of a response (RFC 6749 sections 4.1.2.1 and 5.2). */
export const saidByProvider = (
  code: string,
  description: string | undefined,
  secrets: readonly string[] = [],
): string => said(description === undefined || description === "" ? code : `${code} (${description})`, secrets);

export const answeredBy = (
  { error, error_description: description }: ResponseBodyError,
  secrets: readonly string[],
): string => saidByProvider(error, description, secrets);

const CLIENT_FAULTS: readonly string[] = ["invalid_client", "unauthorized_client"];

/** Messages of libraries may quote secrets, so users get our own. */
export function faultFrom(error: unknown, otherwise: string, secrets: readonly string[]): ProviderError {
  if (error instanceof ProviderError) return error;
  if (error instanceof ClientError && error.code === "OAUTH_JWT_TIMESTAMP_CHECK_FAILED")
    return new ProviderClockError("the ID token is not valid at this time", { cause: error });
  if (error instanceof ResponseBodyError) {
    const message = `it answers ${answeredBy(error, secrets)}`;
    return CLIENT_FAULTS.includes(error.error)
      ? new ClientRefusedError(message, { cause: error })
      : new ProviderError(message, { cause: error });
  }
  if (error instanceof WWWAuthenticateChallengeError) {
    const [challenge] = error.cause;
    const { error: code, error_description: description } = challenge?.parameters ?? {};
    const message = `it answers ${code === undefined ? `with code ${error.status}` : saidByProvider(code, description, secrets)}`;
    // Clients authenticate with Basic, users' access tokens are Bearer.
    const isOfClient = challenge?.scheme === "basic" || CLIENT_FAULTS.includes(code ?? "");
    return isOfClient
      ? new ClientRefusedError(message, { cause: error })
      : new ProviderError(message, { cause: error });
  }
  return new ProviderError(causeIn(error) ?? otherwise, { cause: error });
}

const MAX_CAUSES = 5;

/** Cause that this server itself gives, below the error of the library. */
function causeIn(error: unknown): string | undefined {
  let current = error;
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth++) {
    if (isApiError(current)) return `it cannot be reached: ${faultOf(current).message}`;
    if (current instanceof FetchError || current instanceof TokenError || current instanceof ProviderError)
      return current.message;
    const found = issuerFaultIn(current);
    if (found !== undefined) return found;
    current = current.cause;
  }
  return undefined;
}

/** The library says in `cause` which claim of the ID token it did not expect. */
function issuerFaultIn({ cause }: Error): string | undefined {
  const { claim, claims, expected } = isJsonObject(cause) ? (cause as JsonObject) : {};
  if (typeof claim !== "string" || !isJsonObject(claims)) return undefined;
  const found = claims[claim];
  if (claim !== "iss" || typeof found !== "string")
    return `the claim ${said(claim)} of the ID token is not the expected one`;
  return `the ID token is from the issuer ${said(found)}${typeof expected === "string" ? `, not ${expected}` : ""}`;
}
