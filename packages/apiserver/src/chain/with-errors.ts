// Converts errors of later filters and handlers into responses, so that earlier filters can add headers.

import { ApiError } from "@postern/apimachinery/meta/api-error";
import { CredentialRefusedError } from "../authentication/authenticator.ts";
import type { RequestContext } from "../context/request-context.ts";
import { errorResponse as statusResponse } from "../endpoints/negotiation/error-response.ts";
import { type Redact, redactedTexts } from "../request/credential-redaction.ts";
import type { ApiRequest } from "../transport/api-request.ts";
import type { ApiResponse } from "../transport/api-response.ts";
import type { Filter } from "./run-filters.ts";
import { toApiError } from "./to-api-error.ts";

/** Why a credential was refused, also one that turned out to be revoked behind authentication. */
const AUDIT_REFUSAL = "authentication.kubernetes.io/refusal";

export type ErrorResponse = (request: ApiRequest, error: ApiError) => ApiResponse;

export type ErrorDeps = {
  /** For clients of another protocol. Default: a Status. */
  readonly errorResponse?: ErrorResponse | undefined;
};

export const withErrors = (deps: ErrorDeps): Filter => ({ fail: (error, call) => refusal(error, call, deps) });

/** Throws `error` again when it is not a refusal. */
export function refusal(
  error: unknown,
  { audit, request, signal, redact }: RequestContext,
  { errorResponse = statusResponse }: ErrorDeps = {},
): ApiResponse {
  const found = toApiError(error, signal);
  if (found === undefined) throw error;
  const apiError = redact === undefined ? found : redactedError(found, redact);
  audit.setResponseStatus?.(apiError.toStatus());
  const { cause } = apiError;
  const response = errorResponse(request, apiError);
  if (!(cause instanceof CredentialRefusedError)) return response;
  audit.annotate(AUDIT_REFUSAL, cause.message);
  return cause.headers === undefined ? response : { ...response, headers: { ...response.headers, ...cause.headers } };
}

/** A refusal repeats what the client sent. */
function redactedError(error: ApiError, redact: Redact): ApiError {
  const { code, reason, details, metadata, cause } = error;
  const said = { message: error.message, details };
  const safe = redactedTexts(said, redact);
  if (safe === said) return error;
  return new ApiError({
    code,
    reason,
    message: safe.message,
    ...(safe.details === undefined ? {} : { details: safe.details }),
    metadata,
    cause,
  });
}
