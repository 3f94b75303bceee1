// Slows down whoever sends too much: by source address before anybody is asked for a credential, and by credential afterwards.

import { tooManyRequestsError } from "@postern/apimachinery/meta/api-error";
import type { Handler, RequestContext } from "./handler.ts";
import type { RateLimiter } from "./rate-limiter.ts";

/** Either may be absent: then it does not limit. */
export type RateLimits = { readonly perSource?: RateLimiter; readonly perCredential?: RateLimiter };

/** A server under load must not be taken for one that is ill. */
const HEALTH_PATH = /^\/(healthz|livez|readyz)(\/|$)/;

/** Guesses cost their sender, never the owner of what is guessed: the peer's address counts, no header does. */
export function withSourceRateLimit(next: Handler, { rateLimits }: { readonly rateLimits: RateLimits }): Handler {
  const { perSource } = rateLimits;
  return perSource === undefined ? next : limited(next, perSource, ({ request }) => request.remoteAddress);
}

export function withCredentialRateLimit(next: Handler, { rateLimits }: { readonly rateLimits: RateLimits }): Handler {
  const { perCredential } = rateLimits;
  return perCredential === undefined ? next : limited(next, perCredential, ({ credential }) => credential?.id);
}

function limited(
  next: Handler,
  limiter: RateLimiter,
  subjectOf: (context: RequestContext) => string | undefined,
): Handler {
  return async (context) => {
    const subject = HEALTH_PATH.test(context.info.path) ? undefined : subjectOf(context);
    const delay = subject === undefined ? undefined : limiter.delayOf(subject);
    if (delay !== undefined) throw tooManyRequestsError("too many requests, please try again later", delay);
    return await next(context);
  };
}
