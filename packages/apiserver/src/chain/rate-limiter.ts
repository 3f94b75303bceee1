// Token buckets: how many requests somebody may send over time, and how many at once.

import type { Clock } from "../runtime/clock.ts";

export type RateLimit = {
  /** Requests a second over time. */
  readonly qps: number;
  /** Requests at once after a pause; at least 1. */
  readonly burst: number;
};

export type RateLimiter = {
  /** Undefined when the request may go on; otherwise the whole seconds after which the next one may. */
  delayOf(subject: string): number | undefined;
};

type Bucket = { tokens: number; updatedAt: number };

/** Full buckets are forgotten first, so that strangers cannot push out those who are being slowed down. */
const MAX_SUBJECTS = 100_000;

export function createRateLimiter({ qps, burst }: RateLimit, clock: Pick<Clock, "elapsed">): RateLimiter {
  const buckets = new Map<string, Bucket>();

  const refill = (bucket: Bucket, now: number): void => {
    const elapsedSeconds = (now - bucket.updatedAt) / 1000;
    bucket.tokens = Math.min(burst, bucket.tokens + elapsedSeconds * qps);
    bucket.updatedAt = now;
  };
  const forgetIdle = (now: number): void => {
    for (const [subject, bucket] of buckets) {
      refill(bucket, now);
      if (bucket.tokens >= burst) buckets.delete(subject);
    }
    // All are busy: the one that has waited longest goes.
    const [oldest] = buckets.keys();
    if (buckets.size >= MAX_SUBJECTS && oldest !== undefined) buckets.delete(oldest);
  };

  return {
    delayOf(subject) {
      const now = clock.elapsed();
      let bucket = buckets.get(subject);
      if (bucket === undefined) {
        if (buckets.size >= MAX_SUBJECTS) forgetIdle(now);
        bucket = { tokens: burst, updatedAt: now };
        buckets.set(subject, bucket);
      }
      refill(bucket, now);
      if (bucket.tokens < 1) return Math.max(1, Math.ceil((1 - bucket.tokens) / qps));
      bucket.tokens -= 1;
      return undefined;
    },
  };
}
