// Converts errors of requests that the platform sends itself: they do not concern the caller.

import { ApiError } from "@postern/apimachinery/meta/api-error";
import { badGatewayError } from "../../../foundation/upstream/upstream-failure.ts";

/**
 * The error to throw for `error`. The cluster's message would be about the platform's credential, and mislead the
 * caller. `what` completes "it does not let the platform …".
 */
export function clusterRefusal(what: string, error: unknown): unknown {
  if (!(error instanceof ApiError) || error.code >= 500) return error;
  const message = `it does not let the platform ${what}${error.reason === "" ? "" : ` (${error.reason})`}`;
  return badGatewayError({ reason: "RequestRefused", message }, error);
}

/** The result of `work`, or its error as above. */
export async function asPlatformRequest<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw clusterRefusal(what, error);
  }
}
