// Converts an error response of the server into an ApiError.
// Source: k8s.io/apimachinery/pkg/api/errors/errors.go (NewGenericServerResponse)

import { isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { ApiError } from "@postern/apimachinery/meta/api-error";
import type { Status, StatusReason } from "@postern/apimachinery/meta/status";

/** The default reason and message for a code whose body is not a Status, as a proxy in between may send. */
const GENERIC: { readonly [code: number]: { readonly reason: StatusReason; readonly message: string } } = {
  400: { reason: "BadRequest", message: "the server rejected our request for an unknown reason" },
  401: { reason: "Unauthorized", message: "the server has asked for the client to provide credentials" },
  403: { reason: "Forbidden", message: "the server does not allow this request" },
  404: { reason: "NotFound", message: "the server could not find the requested resource" },
  405: { reason: "MethodNotAllowed", message: "the server does not allow this method on the requested resource" },
  406: { reason: "NotAcceptable", message: "the server could not answer in an accepted format" },
  409: { reason: "Conflict", message: "the server reported a conflict" },
  410: { reason: "Expired", message: "the requested version is no longer available" },
  413: { reason: "RequestEntityTooLarge", message: "the request is too large for the server" },
  415: { reason: "UnsupportedMediaType", message: "the server does not know the format of the request" },
  422: { reason: "Invalid", message: "the server rejected our request due to an error in our request" },
  429: { reason: "TooManyRequests", message: "the server has received too many requests: try again later" },
  500: { reason: "InternalError", message: "an error on the server has prevented the request from succeeding" },
  503: { reason: "ServiceUnavailable", message: "the server is currently unable to handle the request" },
  504: { reason: "Timeout", message: "the server did not answer in the time it was given" },
};

/** `body` is the parsed body, or undefined when it was not JSON. */
export function responseError(code: number, body: JsonValue | undefined): ApiError {
  if (isStatus(body)) return statusError(body, code);
  const generic = GENERIC[code] ?? { reason: "" as const, message: `the server answered with code ${code}` };
  return new ApiError({ code, ...generic });
}

/** The ApiError for a Status; `code` if the Status has none. */
export function statusError(status: Status, code = 500): ApiError {
  return new ApiError({
    code: status.code ?? code,
    reason: status.reason ?? "",
    message: status.message ?? "the server gave no reason",
    ...(status.details === undefined ? {} : { details: status.details }),
    metadata: status.metadata ?? {},
  });
}

export const isStatus = (value: unknown): value is Status => isJsonObject(value) && value["kind"] === "Status";
