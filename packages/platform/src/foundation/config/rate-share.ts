// The share of one thread that serves requests in a limit of the whole server: each counts by itself.

import type { RateLimit } from "@postern/apiserver/limits/rate-limiter";

/** A rate may be less than 1 a second, a burst may not. */
export const rateShare = ({ qps, burst }: RateLimit, threads: number): RateLimit => ({
  qps: qps / threads,
  burst: Math.max(Math.ceil(burst / threads), 1),
});
