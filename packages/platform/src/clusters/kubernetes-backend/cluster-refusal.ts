// What becomes of refusals of requests that the platform made on its own account: they are not the caller's.

import { ApiError } from "@postern/apimachinery/meta/api-error";
import { badGatewayError } from "../../proxy/upstream-failure.ts";

/**
 * What to throw for `error`. A refusal in the words of the cluster would speak about the platform's credential, and tell a caller
 * who is well known that it is forbidden something. `what` completes "it does not let the platform …".
 */
export function clusterRefusal(what: string, error: unknown): unknown {
  if (!(error instanceof ApiError) || error.code >= 500) return error;
  const message = `it does not let the platform ${what}${error.reason === "" ? "" : ` (${error.reason})`}`;
  return badGatewayError({ reason: "RequestRefused", message }, error);
}

/** The answer to `work`, or its refusal as above. */
export async function asPlatformRequest<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw clusterRefusal(what, error);
  }
}
