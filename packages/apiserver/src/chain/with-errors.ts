// Turns the refusals of everything behind it into Status responses, so that the filters before it can add to those.

import type { ApiResponse } from "../transport/api-response.ts";
import { errorResponse, toApiError } from "./error-response.ts";
import type { Handler, RequestContext } from "./handler.ts";

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
export function refusal(error: unknown, { audit, signal }: RequestContext): ApiResponse {
  const apiError = toApiError(error, signal);
  if (apiError === undefined) throw error;
  audit.setResponseStatus?.(apiError.toStatus());
  return errorResponse(apiError);
}
