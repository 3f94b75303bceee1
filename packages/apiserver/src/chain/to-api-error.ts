// Converts expected errors to ApiErrors; unexpected ones have none, and become a 500.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/{errors,status}.go

import {
  ApiError,
  conflictError,
  expiredError,
  isApiError,
  requestEntityTooLargeError,
  STALE_RESOURCE_VERSION,
  serviceUnavailableError,
} from "@postern/apimachinery/meta/api-error";
import {
  FutureRevisionError,
  KeyExistsError,
  RevisionCompactedError,
  RevisionConflictError,
  StorageUnavailableError,
  ValueTooLargeError,
} from "../storage/storage-errors.ts";

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
