// Rate limits: by source address before authentication, and by credential afterwards.

import { tooManyRequestsError } from "@postern/apimachinery/meta/api-error";
import { type RateLimiter, sourceOf } from "../limits/rate-limiter.ts";
import type { RequestState } from "./request-state.ts";
import type { Filter } from "./run-filters.ts";

/** Either may be absent: then it does not limit. */
export type RateLimits = { readonly perSource?: RateLimiter; readonly perCredential?: RateLimiter };

/** A server under load must not be taken for one that is ill. */
const HEALTH_PATH = /^\/(healthz|livez|readyz)(\/|$)/;

/** Failed guesses count for their sender, never for the owner of the guessed key: by peer address, and not by a header. */
export const withSourceRateLimit = ({ rateLimits: { perSource } }: { readonly rateLimits: RateLimits }): Filter =>
  perSource === undefined ? {} : limited(perSource, ({ request }) => sourceOf(request.remoteAddress));

export const withCredentialRateLimit = ({
  rateLimits: { perCredential },
}: {
  readonly rateLimits: RateLimits;
}): Filter => (perCredential === undefined ? {} : limited(perCredential, ({ credential }) => credential?.id));

const limited = (limiter: RateLimiter, subjectOf: (call: RequestState) => string | undefined): Filter => ({
  enter(call) {
    const subject = HEALTH_PATH.test(call.info.path) ? undefined : subjectOf(call);
    const delay = subject === undefined ? undefined : limiter.delayOf(subject);
    if (delay !== undefined) throw tooManyRequestsError("too many requests, please try again later", delay);
    return undefined;
  },
});
