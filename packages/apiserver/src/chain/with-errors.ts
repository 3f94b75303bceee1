// Turns the refusals of everything behind it into Status responses, so that the filters before it can add to those.

import { errorResponse } from "../endpoints/negotiation/error-response.ts";
import type { ApiResponse } from "../transport/api-response.ts";
import type { Handler, RequestContext } from "./handler.ts";
import { toApiError } from "./to-api-error.ts";

export function withErrors(next: Handler): Handler {
  return async (context) => {
    try {
      return await next(context);
    } catch (error) {
      return refusal(error, context);
    }
  };
}

/** Throws `error` again when it is not a refusal. */
export function refusal(error: unknown, { audit, request, signal }: RequestContext): ApiResponse {
  const apiError = toApiError(error, signal);
  if (apiError === undefined) throw error;
  audit.setResponseStatus?.(apiError.toStatus());
  return errorResponse(request, apiError);
}
