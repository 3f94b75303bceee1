// Converts errors of later filters and handlers into Status responses, so that earlier filters can add headers.

import {
  ApiError,
  conflictError,
  expiredError,
  isApiError,
  requestEntityTooLargeError,
  STALE_RESOURCE_VERSION,
  serviceUnavailableError,
} from "@postern/apimachinery/meta/api-error";
import type { RequestContext } from "../context/request-context.ts";
import { errorResponse } from "../endpoints/negotiation/error-response.ts";
import type { Logger } from "../logging/logger.ts";
import { type Redact, redactedTexts } from "../request/credentials.ts";
import {
  FutureRevisionError,
  KeyExistsError,
  RevisionCompactedError,
  RevisionConflictError,
  StorageUnavailableError,
  ValueTooLargeError,
} from "../storage/storage-errors.ts";
import { type ApiResponse, textResponse } from "../transport/api-response.ts";
import type { Filter } from "./request-state.ts";

export const withErrors = (): Filter => ({ fail: refusal });

/** Throws `error` again when it is not a refusal. */
export function refusal(error: unknown, { audit, request, signal, redact }: RequestContext): ApiResponse {
  const found = toApiError(error, signal);
  if (found === undefined) throw error;
  const apiError = redact === undefined ? found : redactedError(found, redact);
  audit.setResponseStatus?.(apiError.toStatus());
  return errorResponse(request, apiError);
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

// Responds to requests whose handler failed unexpectedly. The client learns nothing of it but that.
// Source: k8s.io/apiserver/pkg/server/filters/wrap.go

const TEXT = "This request caused apiserver to panic. Look in the logs for details.\n";

export const withPanicRecovery = ({ logger }: { readonly logger: Logger }): Filter => ({
  fail(thrown, call) {
    try {
      return refusal(thrown, call);
    } catch (error) {
      const { audit, request, info } = call;
      audit.setPanicked?.();
      const uri = request.requestUri;
      logger.error({ error, auditId: audit.auditId, method: request.method, uri, verb: info.verb }, "request panicked");
      return textResponse(500, TEXT);
    }
  },
});

// Distinguishes expected errors from unexpected ones.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/{errors,status}.go

/**
 * The API error for an error, or undefined for an unexpected one. `signal` is the request's: what fails because that
 * was aborted fails for its reason.
 */
export function toApiError(error: unknown, signal: AbortSignal): ApiError | undefined {
  if (isApiError(error)) return error;
  if (signal.aborted && isAbort(error, signal)) return isApiError(signal.reason) ? signal.reason : interrupted();
  // The registry knows better words for most of these; what comes through to here has none.
  if (error instanceof StorageUnavailableError) return serviceUnavailableError("the storage is unavailable");
  if (error instanceof RevisionCompactedError) return expiredError("the requested resource version is too old");
  if (error instanceof FutureRevisionError) return tooLargeRevision();
  if (error instanceof ValueTooLargeError) return requestEntityTooLargeError("the object is larger than can be stored");
  if (error instanceof RevisionConflictError || error instanceof KeyExistsError) {
    return conflictError({ group: "", resource: "objects" }, "", STALE_RESOURCE_VERSION);
  }
  return undefined;
}

const isAbort = (error: unknown, signal: AbortSignal): boolean =>
  error === signal.reason || (error instanceof Error && error.name === "AbortError");

const interrupted = (): ApiError => serviceUnavailableError("the request was interrupted");

const tooLargeRevision = (): ApiError =>
  new ApiError({
    code: 504,
    reason: "Timeout",
    message: "Timeout: Too large resource version",
    details: {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    },
  });
